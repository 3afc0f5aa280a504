import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { READING_ORDER } from '#core/metadata/reading-order.ts'

/** Books of a series whose files exist, after the id `after`, by id. */
export async function listFileNames(
  database: Knex,
  seriesId: string,
  window: { after: string; limit: number },
): Promise<{ id: string; fileName: string }[]> {
  return await database('books')
    .where('series_id', seriesId)
    .whereNull('deleted_at')
    .where('id', '>', window.after)
    .orderBy('id')
    .limit(window.limit)
    .select('id', 'file_name AS fileName')
}

/** A file of a series. */
export interface SeriesFile {
  id: string
  fileName: string
  /** Absolute. */
  path: string
  /** The folder that must contain it. */
  libraryPath: string
  bytes: number
  /** Nanoseconds since the epoch, decimal. */
  mtimeNs: string
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
  const files = await database('books')
    .join('libraries', 'libraries.id', 'books.library_id')
    .where('books.series_id', seriesId)
    .whereNull('books.deleted_at')
    .orderByRaw(READING_ORDER)
    .limit(limit)
    .select('books.id', 'books.file_name AS fileName', 'books.path', 'libraries.path AS libraryPath', 'books.file_size AS bytes')
    .select(database.raw('books.file_mtime_ns::text AS "mtimeNs"'))
  return {
    title: series.title,
    files: files.map((file) => ({ ...file, bytes: Number(file.bytes) })),
  }
}
