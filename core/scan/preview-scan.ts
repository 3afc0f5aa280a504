import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { DEFAULT_SERIES_STRATEGY, SERIES_STRATEGIES, type SeriesStrategy } from '#core/catalog/library.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'
import { Register } from '#core/foundation/register.ts'
import type { FolderSettings } from '#core/scan/browse-folders.ts'
import { checkFolder, type Editor, filterOf, refuseOverlap, refuseRestricted } from '#core/scan/edit-library.ts'
import { checkLayout } from '#core/scan/layouts/check-layout.ts'
import { matchPatterns } from '#core/scan/layouts/match-patterns.ts'
import { type ComparedSeries, LayoutPreview } from '#core/scan/layouts/preview-layouts.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { LEFT_OUT_REASONS, type LeftOutReason } from '#core/scan/left-out.ts'
import { checkLinkTargets } from '#core/scan/links/link-targets.ts'
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

/** What a new library takes. */
interface PreviewRequest {
  /** Null for the operator at the command line. */
  caller: Editor | null
  folder: string
  seriesStrategy?: SeriesStrategy | null | undefined
  seriesConfig?: unknown
  excludedPatterns?: string | null | undefined
  allowedFormats?: string[] | null | undefined
  linkTargets?: string[] | null | undefined
}

/** Files and folders that are left out, for one reason. */
interface LeftOut {
  reason: LeftOutReason
  count: number
  /** The first ones, below the folder. */
  examples: string[]
}

/** What a scan would find. */
export interface ScanPreview extends ComparedSeries {
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
  await checkLayout(rules, strategy, request.seriesConfig)
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
    leftOut: LEFT_OUT_REASONS.flatMap((reason) => leftOut.get(reason) ?? []),
    totalFiles,
    isTruncated: isTruncated || found.isTruncated,
  }
}

function noteLeftOut(leftOut: Map<LeftOutReason, LeftOut>, { path, reason }: { path: string; reason: LeftOutReason }): void {
  const noted = leftOut.get(reason) ?? { reason, count: 0, examples: [] }
  noted.count++
  if (noted.examples.length < PREVIEW_LIMITS.samples) noted.examples.push(path)
  leftOut.set(reason, noted)
}
