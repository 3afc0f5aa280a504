import type { Knex } from 'knex'
import type { Viewer } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Register } from '#core/foundation/register.ts'
import { checkFolder, refuseOverlap } from '#core/scan/edit-library.ts'
import { seriesOf } from '#core/scan/group-series.ts'
import { countHangingThreads, walk } from '#core/scan/walk.ts'
import type { Settings } from '#core/settings/settings.ts'

const PREVIEW_LIMITS = {
  /** Enough to see whether the folder has the expected layout. */
  seriesMax: 1_000,
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
  database: Knex
  settings: Pick<Settings, 'dataFolder'>
}

interface PreviewRequest {
  caller: Viewer
  folder: string
}

interface Preview {
  series: DetectedSeries[]
  totalFiles: number
  isTruncated: boolean
}

interface DetectedSeries {
  name: string
  /** Below the folder. */
  path: string
  bookCount: number
  /** Names of the first files. */
  sampleBooks: string[]
}

/**
 * What a scan of a folder would find, without storing anything.
 * @throws invalid_value when the folder cannot be a library; conflict when it overlaps one; rate_limit_exceeded and unavailable when too many run
 */
export async function previewScan(dependencies: PreviewDependencies, request: PreviewRequest, signal: AbortSignal): Promise<Preview> {
  const { userId } = request.caller
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
    return await preview(dependencies, request, signal)
  } finally {
    const left = (running.get(userId) ?? 1) - 1
    if (left > 0) running.set(userId, left)
    else running.delete(userId)
  }
}

async function preview(
  { database, settings }: PreviewDependencies,
  { caller, folder }: PreviewRequest,
  signal: AbortSignal,
): Promise<Preview> {
  const root = await checkFolder(folder, settings)
  await refuseOverlap(database, root, { by: caller })
  const found = new Map<string, DetectedSeries>()
  const deadline = AbortSignal.timeout(PREVIEW_LIMITS.ms)
  let totalFiles = 0
  let isTruncated = false
  try {
    const options = { root, excludedPatterns: null, allowedFormats: null, known: new Map<string, string>() }
    for await (const { changed } of walk(options, AbortSignal.any([signal, deadline]))) {
      for (const part of changed) {
        totalFiles += part.names.length
        for (const name of part.names)
          isTruncated = !addTo(found, part.folder === '' ? name : `${part.folder}/${name}`, name) || isTruncated
      }
      if (totalFiles >= PREVIEW_LIMITS.filesMax) {
        isTruncated = true
        break
      }
    }
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error
    isTruncated = true
  }
  const series = [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  return { series, totalFiles, isTruncated }
}

/** False when the limit of series is reached. */
function addTo(found: Map<string, DetectedSeries>, relativePath: string, name: string): boolean {
  const { path, title } = seriesOf(relativePath)
  const known = found.get(path)
  if (!known && found.size >= PREVIEW_LIMITS.seriesMax) return false
  const series = known ?? { name: title, path, bookCount: 0, sampleBooks: [] }
  series.bookCount++
  if (series.sampleBooks.length < PREVIEW_LIMITS.samples) series.sampleBooks.push(name)
  found.set(path, series)
  return true
}
