import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { type CreateLibraryRequest, DEFAULT_SERIES_STRATEGY, SERIES_STRATEGIES } from '#core/catalog/library.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { firstPosition, type NumberConfig, namedFields } from '#core/fields/number-strategy.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'
import { Register } from '#core/foundation/register.ts'
import type { FolderSettings } from '#core/scan/browse-folders.ts'
import { changeOf, checkFolder, checkRules, type Editor, filterOf, refuseOverlap, refuseRestricted } from '#core/scan/edit-library.ts'
import { checkLayout } from '#core/scan/layouts/check-layout.ts'
import { matchPatterns } from '#core/scan/layouts/match-patterns.ts'
import { type ComparedSeries, type FoundSeries, LayoutPreview } from '#core/scan/layouts/preview-layouts.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { LEFT_OUT_REASONS, type LeftOutReason } from '#core/scan/left-out.ts'
import { checkLinkTargets } from '#core/scan/links/link-targets.ts'
import { checkNaming, NEW_NAMING, namingOf } from '#core/scan/naming-config.ts'
import { strategyTitles } from '#core/scan/strategy-titles.ts'
import { countHangingThreads, walk } from '#core/scan/walk.ts'

const PREVIEW_LIMITS = {
  filesMax: 200_000,
  /** A user waits at a form; reading all of a network drive may take minutes. */
  ms: 10_000,
  samples: 5,
  /** A user fills in one form, perhaps two. */
  ofOneMax: 2,
  /** Each has threads of its own, and disk requests that occupy the server's thread pool for files: scans and pages need some of it. */
  inAllMax: 4,
  /** The threads of one or two walks that wait for a drive: a further walk would most likely leave more threads there. */
  hangingMax: 4,
}
/** A preview ends after ten seconds at most, unless a disk hangs. */
const RETRY_SECONDS = 10
/** Running previews by user. */
const running = new Register<number>()

interface PreviewDependencies {
  /** Null before a server has run: then there is no library. */
  database: Knex | null
  rules: Rules
  settings: FolderSettings
}

/** What of a new library decides about its series and books. */
type Previewed =
  | 'seriesStrategy'
  | 'seriesConfig'
  | 'bookStrategy'
  | 'bookConfig'
  | 'numberStrategy'
  | 'numberConfig'
  | 'allowedFormats'
  | 'excludedPatterns'
  | 'linkTargets'
  | 'titlePreprocessingRules'

interface PreviewRequest extends Pick<CreateLibraryRequest, Previewed> {
  /** Null for the operator at the command line. */
  caller: Editor | null
  folder: string
}

/** Files and folders that are left out, for one reason. */
interface LeftOut {
  reason: LeftOutReason
  count: number
  /** The first ones, below the folder. */
  examples: string[]
}

/** What a scan would find, as the library would call it. */
export interface ScanPreview extends Omit<ComparedSeries, 'series'> {
  series: (Omit<FoundSeries, 'books'> & { books: Omit<FoundSeries['books'][number], 'position'>[] })[]
  leftOut: LeftOut[]
  totalFiles: number
}

/**
 * What a scan of a folder would find, without storing anything.
 * @throws invalid_value when the folder cannot be a library; conflict when it overlaps one; forbidden for a caller with rules; rate_limit_exceeded and unavailable when too many run
 */
export async function previewScan(dependencies: PreviewDependencies, request: PreviewRequest, signal: AbortSignal): Promise<ScanPreview> {
  const userId = request.caller?.userId ?? ''
  const mine = running.get(userId) ?? 0
  const all = [...running.values()].reduce((sum, count) => sum + count, 0)
  if (mine >= PREVIEW_LIMITS.ofOneMax)
    refuse('rate_limit_exceeded', `${mine} of your previews are running; wait for one of them.`, { retryAfterSeconds: RETRY_SECONDS })
  if (all >= PREVIEW_LIMITS.inAllMax)
    refuse('unavailable', `${all} previews are running; try again in some seconds.`, { retryAfterSeconds: RETRY_SECONDS })
  if (countHangingThreads() > PREVIEW_LIMITS.hangingMax)
    refuse('unavailable', 'A disk of the server does not answer; previews are refused until it does. Check the network drives.')
  running.set(userId, mine + 1)
  try {
    return await previewFolder(dependencies, request, signal)
  } finally {
    const left = (running.get(userId) ?? 1) - 1
    if (left > 0) running.set(userId, left)
    else running.delete(userId)
  }
}

async function previewFolder(dependencies: PreviewDependencies, request: PreviewRequest, signal: AbortSignal): Promise<ScanPreview> {
  const { database, rules, settings } = dependencies
  const { caller, excludedPatterns = null } = request
  const strategy = request.seriesStrategy ?? DEFAULT_SERIES_STRATEGY
  if (database) await refuseRestricted(database, caller, 'look for what a folder contains')
  await checkRules(rules, request)
  await checkLayout(rules, strategy, request.seriesConfig)
  const naming = namingOf(NEW_NAMING, changeOf(request))
  await checkNaming(rules, naming)
  const allowedFormats = filterOf(request)
  const root = await checkFolder(request.folder, settings)
  const given = request.linkTargets ?? []
  let targets: string[] = []
  if (database) {
    await refuseOverlap(database, root)
    if (given.length > 0)
      targets = await checkLinkTargets({ database, settings }, { given, libraryPath: root, libraryId: null, by: caller })
  } else if (given.length > 0)
    refuseValue('/linkTargets', 'Where links may lead is known after the first start of the server; preview without it.')
  const links = targets.length > 0 ? { targets, known: [] } : undefined
  const layout = layoutOf(strategy, request.seriesConfig)
  // A pattern that nobody has written cannot be tried.
  const compared = SERIES_STRATEGIES.filter((one) => one !== 'custom' || one === strategy)
  const layouts = compared.map((one) => (one === strategy ? layout : layoutOf(one, null)))
  const preview = new LayoutPreview({ layouts, chosen: compared.indexOf(strategy) })
  const walked = { root, excludedPatterns, allowedFormats, strategy, known: new Map<string, string>(), links, explains: true }
  const leftOut = new Map<LeftOutReason, LeftOut>()
  const deadline = AbortSignal.timeout(PREVIEW_LIMITS.ms)
  let totalFiles = 0
  let isTruncated = false
  try {
    for await (const batch of walk(walked, AbortSignal.any([signal, deadline]))) {
      for (const { folder, names, decision, shared } of batch.changed) {
        totalFiles += names.length
        const paths = names.map((name) => (folder === '' ? name : `${folder}/${name}`))
        preview.add({ folder, names, decision, shared, groups: await matchPatterns(rules, layout, paths) })
      }
      for (const file of batch.leftOut) noteLeftOut(leftOut, file)
      // Placing the files of a batch takes 10 ms: other requests are served between two of them.
      await nextTurn()
      if (totalFiles < PREVIEW_LIMITS.filesMax) continue
      isTruncated = true
      break
    }
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error
    isTruncated = true
  }
  const found = await preview.compare()
  return {
    ...found,
    series: await nameSeries(rules, found.series, { ...naming, title_preprocessing_rules: request.titlePreprocessingRules ?? null }),
    leftOut: LEFT_OUT_REASONS.flatMap((reason) => leftOut.get(reason) ?? []),
    totalFiles,
    isTruncated: isTruncated || found.isTruncated,
  }
}

/** Gives series and books the titles and numbers that they would have in the library before their analysis. */
async function nameSeries(
  rules: Rules,
  series: readonly FoundSeries[],
  library: typeof NEW_NAMING & Pick<LibraryRow, 'title_preprocessing_rules'>,
): Promise<ScanPreview['series']> {
  const names = await rules.rewriteTitles(
    library.title_preprocessing_rules,
    series.map(({ name }) => name),
  )
  const books = series.flatMap((one, index) =>
    one.books.map((book) => ({ fileName: book.fileName, seriesTitle: names[index] as string, fields: book })),
  )
  const titles = (await strategyTitles(rules, library, books)).values()
  const start = firstPosition(library.number_strategy, library.number_config as NumberConfig | null)
  return series.map((one, index) => ({
    ...one,
    name: names[index] as string,
    books: one.books.map(({ position, ...book }) => {
      const byPosition = start === null || position === null ? null : position + start
      const { number = byPosition } = namedFields(library.number_strategy, book)
      return { ...book, title: titles.next().value ?? book.title, number }
    }),
  }))
}

function noteLeftOut(leftOut: Map<LeftOutReason, LeftOut>, { path, reason }: { path: string; reason: LeftOutReason }): void {
  const noted = leftOut.get(reason) ?? { reason, count: 0, examples: [] }
  noted.count++
  if (noted.examples.length < PREVIEW_LIMITS.samples) noted.examples.push(path)
  leftOut.set(reason, noted)
}
