import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { ReadableBook } from '#core/catalog/readable-book-query.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'

/** A file of a series. */
export interface SeriesFile {
  id: string
  fileName: string
  /** Absolute. */
  path: string
  /** The folder that must contain it. */
  libraryPath: string
  /** Or one of these, through a link. */
  linkTargets: string[]
  bytes: number
  /** Nanoseconds since the epoch, decimal. */
  mtimeNs: string
  state: ReadableBook['state']
}

/** The files of a series in reading order, without missing ones, at most `limit`; null for a hidden or unknown series. */
export async function listSeriesFiles(
  database: Knex,
  caller: Caller,
  seriesId: string,
  limit: number,
): Promise<{ title: string; files: SeriesFile[] } | null> {
  const series = await database('series').where('series.id', seriesId).modify(visibleTo(caller, 'series.id')).first('title')
  if (!series) return null
  const files: FileRow[] = await selectFiles(database).where('books.series_id', seriesId).orderByRaw(READING_ORDER).limit(limit)
  return { title: series.title, files: files.map(fileOf) }
}

/** The files of those books that the caller may see and that exist, in the order of the ids. */
export async function listBookFiles(database: Knex, caller: Caller, bookIds: readonly string[]): Promise<SeriesFile[]> {
  const rows: FileRow[] = await selectFiles(database)
    .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .modify(visibleTo(caller, 'books.series_id'))
  const files = new Map(rows.map((row) => [row.id, fileOf(row)]))
  return bookIds.flatMap((id) => files.get(id) ?? [])
}

type FileRow = Omit<SeriesFile, 'bytes'> & { bytes: string | number }

const fileOf = (row: FileRow): SeriesFile => ({ ...row, bytes: Number(row.bytes) })

const selectFiles = (database: Knex): Knex.QueryBuilder =>
  database('books')
    .join('libraries', 'libraries.id', 'books.library_id')
    .whereNull('books.deleted_at')
    .select('books.id', 'books.file_name AS fileName', 'books.path', 'libraries.path AS libraryPath', 'books.file_size AS bytes')
    .select('libraries.link_targets AS linkTargets', 'books.state')
    .select(database.raw('books.file_mtime_ns::text AS "mtimeNs"'))
