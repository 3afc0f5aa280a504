import type { Caller } from '#core/account/caller.ts'
import { visibleFilePath } from '#core/account/path-view.ts'
import { type Book, fileHashOf, missingOf, wholeNumber } from '#core/catalog/book.ts'
import { type ProgressRow, progressOf } from '#core/catalog/progress.ts'
import { shownCoverOf } from '#core/covers/current-cover.ts'
import { BOOK_COVER_JOIN, SHOWN_BOOK_COVER } from '#core/covers/current-cover-query.ts'
import type { BookFormat } from '#core/fields/book-format.ts'
import { languageTag } from '#core/fields/language-tag.ts'
import { isoInstant } from '#core/foundation/instant.ts'

/** The caller's progress; without any, all of it is null. */
type OwnProgress = { progress_id: string | null } & {
  [Column in Exclude<keyof ProgressRow, 'id'> as `progress_${Column}`]: ProgressRow[Column]
}

const PROGRESS: readonly (keyof ProgressRow)[] = ['id', 'user_id', 'book_id', 'current_page', 'percentage', 'completed', 'app']
const PROGRESS_TIMES: readonly (keyof ProgressRow)[] = ['started_at', 'updated_at', 'completed_at']

/** A book with columns of its series and library, as {@link BOOK_COLUMNS} reads it. Numbers beyond a double's integers are text. */
export interface BookRow extends OwnProgress {
  id: string
  library_id: string
  library_name: string
  library_path: string
  series_id: string
  series_name: string
  title: string
  title_sort: string | null
  path: string
  file_format: BookFormat
  file_size: string | number
  file_hash: string | null
  reader_hash: string | null
  state: 'pending' | 'analyzed' | 'failed'
  page_count: number
  number: string | number | null
  volume: number | null
  chapter: string | number | null
  analysis_error: string | null
  deleted_at: Date | null
  missing_since: Date | null
  missing_why: 'file' | 'folder' | 'withheld' | null
  read_count: number
  last_read_at: string | null
  reading_direction: Book['readingDirection']
  language: string | null
  cover: string | null
  created_at: string
  updated_at: string
}

const own = (columns: string): string => columns.replaceAll(/\w+/g, 'books.$&')

/** The columns of {@link BookRow}. Progress as JSON would take a fifth of the time of a list. {@link isoInstant} reads the times. */
export const BOOK_COLUMNS = `${own('id, library_id, series_id, title, title_sort, path, file_format, file_size, file_hash, reader_hash')},
  ${own('state, page_count, number, volume, chapter, deleted_at, missing_since, missing_why')},
  CAST(books.created_at AS text) AS created_at, CAST(books.updated_at AS text) AS updated_at,
  libraries.name AS library_name, libraries.path AS library_path, series.title AS series_name,
  ${PROGRESS.map((column) => `read_progress.${column} AS progress_${column}`).join(', ')},
  ${PROGRESS_TIMES.map((column) => `CAST(read_progress.${column} AS text) AS progress_${column}`).join(', ')},
  past.count AS read_count, CAST(past.last_at AS text) AS last_read_at,
  coalesce(series.reading_direction, libraries.default_reading_direction) AS reading_direction,
  coalesce((SELECT b.language_iso FROM book_metadata b WHERE b.book_id = books.id),
    (SELECT s.language FROM series_metadata s WHERE s.series_id = books.series_id)) AS language, ${SHOWN_BOOK_COVER} AS cover,
  CASE WHEN books.state = 'failed' THEN (SELECT e.message FROM book_errors e
    WHERE e.book_id = books.id AND e.fatal ORDER BY e.occurred_at, e.error_type LIMIT 1) END AS analysis_error`
/** The tables that the columns need beside books. Its binding is the user whose progress is read. */
export const BOOK_JOINS = `JOIN series ON series.id = books.series_id JOIN libraries ON libraries.id = books.library_id
  CROSS JOIN (SELECT CAST(? AS uuid) AS id) AS reader
  LEFT JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = reader.id
  CROSS JOIN LATERAL (SELECT count(r.finished_at)::int AS count, max(r.last_at) AS last_at
    FROM readings r WHERE r.user_id = reader.id AND r.book_id = books.id) AS past
  ${BOOK_COVER_JOIN}`
export const BOOK_TABLES = `books ${BOOK_JOINS}`

export function bookOf(row: BookRow, caller: Caller): Book {
  return {
    id: row.id,
    libraryId: row.library_id,
    libraryName: row.library_name,
    seriesId: row.series_id,
    seriesName: row.series_name,
    title: row.title,
    titleSort: row.title_sort,
    filePath: visibleFilePath(caller, { libraryPath: row.library_path, path: row.path }),
    fileFormat: row.file_format,
    fileSize: Number(row.file_size),
    fileHash: fileHashOf({ id: row.id, fileHash: row.file_hash }),
    readerHash: row.reader_hash,
    pageCount: row.page_count,
    number: wholeNumber(row.number === null ? null : Number(row.number)),
    numberLabel: row.number === null ? null : String(Number(row.number)),
    volume: row.volume,
    chapter: row.chapter === null ? null : Number(row.chapter),
    analyzed: row.state === 'analyzed',
    analysisError: row.analysis_error,
    deleted: row.deleted_at !== null,
    missing: missingOf({ since: row.missing_since ?? row.deleted_at, why: row.missing_why }),
    readProgress: ownProgressOf(row),
    readCount: row.read_count,
    lastReadAt: row.last_read_at && isoInstant(row.last_read_at),
    readingDirection: row.reading_direction,
    language: languageTag(row.language),
    cover: shownCoverOf(row.cover),
    createdAt: isoInstant(row.created_at),
    updatedAt: isoInstant(row.updated_at),
  }
}

const ownProgressOf = (row: BookRow): Book['readProgress'] =>
  row.progress_id === null
    ? null
    : progressOf({
        id: row.progress_id,
        user_id: row.progress_user_id,
        book_id: row.progress_book_id,
        current_page: row.progress_current_page,
        percentage: row.progress_percentage,
        completed: row.progress_completed,
        started_at: row.progress_started_at,
        updated_at: row.progress_updated_at,
        completed_at: row.progress_completed_at,
        app: row.progress_app,
      })
