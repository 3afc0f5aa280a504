import type { Knex } from 'knex'
import { checkFolder, refuseOverlap } from '#core/library/edit-library.ts'
import { seriesOf } from '#core/library/group-series.ts'
import { streamWalk } from '#core/library/walk-stream.ts'
import type { Settings } from '#core/setting/settings.ts'

const PREVIEW_LIMITS = {
  /** Enough to see whether the folder is laid out as one thinks. */
  seriesMax: 1_000,
  filesMax: 200_000,
  /** Somebody waits before a form; a network drive may take minutes for all of it. */
  ms: 10_000,
  samples: 5,
}

export interface DetectedSeries {
  name: string
  /** Below the folder. */
  path: string
  bookCount: number
  /** Names of the first files. */
  sampleBooks: string[]
}

/**
 * What a scan of a folder would find, without keeping any of it.
 * @throws invalid_value when the folder cannot be a library; conflict when it overlaps one
 */
export async function previewScan(
  { database, settings }: { database: Knex; settings: Pick<Settings, 'dataFolder'> },
  folder: string,
  signal: AbortSignal,
): Promise<{ series: DetectedSeries[]; totalFiles: number; isTruncated: boolean }> {
  const root = await checkFolder(folder, settings)
  await refuseOverlap(database, root, null)
  const found = new Map<string, DetectedSeries>()
  const deadline = AbortSignal.timeout(PREVIEW_LIMITS.ms)
  let totalFiles = 0
  let isTruncated = false
  try {
    const options = { root, excludedPatterns: null, allowedFormats: null, known: new Map<string, string>() }
    for await (const { changed } of streamWalk(options, AbortSignal.any([signal, deadline]))) {
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

/** False when there are as many series as are told. */
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
