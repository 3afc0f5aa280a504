import type { Knex } from 'knex'
import { NO_FILE, readVersion } from '#core/analysis/file-version.ts'
import { type Duplicate, joinSeries, listBooksWithContent, lockSeriesPair, type NewBook, relinkBook } from '#core/analysis/relink-store.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { storeFolderTitles } from '#core/metadata/series-aggregate-store.ts'

/** Books with the same content as new ones whose own files are missing: each new one was moved here from one of its list. A book without any is missing. */
export async function listGoneDuplicates(
  database: Knex,
  found: readonly (NewBook & { sha256: string })[],
): Promise<Map<string, Duplicate[]>> {
  if (found.length === 0) return new Map()
  const duplicates = await listBooksWithContent(database, found)
  const roots = new Map(found.map(({ id, library_path }) => [id, library_path]))
  const isMissing = await Promise.all(duplicates.map(({ foundId, path }) => isGone(roots.get(foundId) as string, path)))
  return Map.groupBy(
    duplicates.filter((_, index) => isMissing[index]),
    ({ foundId }) => foundId,
  )
}

/**
 * A new file with the content of a book whose own file is missing is that book, moved: the old row gets the new path and keeps its id,
 * progress, locks and metadata; the new row is deleted. Null when another copy of the file was faster; else the series that the book has left,
 * if any.
 */
export async function relinkMoved(
  trx: Knex.Transaction,
  found: NewBook,
  duplicate: Duplicate,
): Promise<{ leftSeriesId: string | null } | null> {
  const series = await relinkBook(trx, found, duplicate)
  if (!series) return null
  if (series.oldId === series.newId) return { leftSeriesId: null }
  // When a folder was renamed, its series is the old one, with all its books.
  const pair = await lockSeriesPair(trx, found.library_id, series)
  if (!pair || !(await isGone(found.library_path, `${found.library_path}/${pair.old.path}`))) return { leftSeriesId: series.oldId }
  await joinSeries(trx, pair)
  await renameSeries(trx, pair.old.id, pair.fresh.folder_title ?? pair.fresh.title)
  return { leftSeriesId: null }
}

/** The new folder name becomes its title, unless a file or a user has given a better one. */
async function renameSeries(trx: Knex, seriesId: string, title: string): Promise<void> {
  const before = (await loadStates(trx, 'series', [seriesId], [])).get(seriesId)
  if (!before) return
  const { next } = applyChange('series', before, { values: { title } }, 'file_name')
  await storeStates(trx, 'series', [{ before, next: withSortTitle(next) }])
  await storeFolderTitles(trx, new Map([[seriesId, title]]))
}

const isGone = async (root: string, path: string): Promise<boolean> => (await readVersion({ root, path }, NO_FILE)) === null
