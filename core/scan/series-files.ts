import type { Knex } from 'knex'
import { fitSeries } from '#core/analysis/fit-analysis.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { ReadSeriesFile } from '#core/fields/series-file.ts'
import { SERIES_FILE } from '#core/fields/sidecar.ts'
import { storableMember } from '#core/foundation/storable-text.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { listChangedSeriesFiles, storeSeriesFiles } from '#core/scan/series-file-store.ts'

/** Series of one transaction: their aggregation reads the metadata of all of their books. */
const AT_ONCE = 10

interface Request {
  library: Pick<LibraryRow, 'id' | 'path' | 'link_targets'>
  /** Reads files that have not changed, too. */
  isForced: boolean
  /** The folder of the library itself holds no series. */
  folders: readonly { path: string; seriesFile: string | null }[]
  signal: AbortSignal
}

/**
 * Reads the files that describe series and have changed, and aggregates those series: no book is opened.
 * @returns what is wrong with files, by path relative to the library
 */
export async function readSeriesFiles(
  { database, readSeriesFile }: { database: Knex; readSeriesFile?: ReadSeriesFile },
  { library, isForced, folders, signal }: Request,
): Promise<{ path: string; message: string }[]> {
  if (folders.length === 0 || !readSeriesFile) return []
  const changed = await listChangedSeriesFiles(database, { libraryId: library.id, isForced }, folders)
  const problems: { path: string; message: string }[] = []
  for (let at = 0; at < changed.length; at += AT_ONCE) {
    const read = await Promise.all(
      changed.slice(at, at + AT_ONCE).map(async (file) => {
        const path = `${file.path}/${SERIES_FILE}`
        if (file.version === null) return { ...file, series: null }
        const { series, problem } = await readSeriesFile(
          { root: library.path, linkTargets: library.link_targets, path: `${library.path}/${path}` },
          { signal },
        )
        if (problem) problems.push({ path, message: problem.message })
        return { ...file, series: JSON.parse(JSON.stringify(series && fitSeries(series), storableMember)) }
      }),
    )
    await database.transaction(async (trx) => await aggregateSeries(trx, await storeSeriesFiles(trx, read)))
  }
  return problems
}
