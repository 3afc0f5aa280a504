import type { Knex } from 'knex'
import { type Viewer, visibilityOf, visibleSql } from '#core/account/visibility.ts'
import { prepared } from '#core/database/prepared.ts'
import { select } from '#core/database/select.ts'
import type { BookFile, FileFilter, Page, PageSource } from '#core/fields/analysis.ts'
import type { BookFormat } from '#core/fields/book-format.ts'

/** What reading a page needs of its book. */
export interface ReadableBook {
  id: string
  path: string
  /** The library's folder, which must contain the file. */
  libraryPath: string
  /** Folders that links in it may lead to, as paths without links. */
  linkTargets: string[]
  /** Null if the cover does not depend on files beside the book. */
  filter: FileFilter | null
  fileName: string
  format: BookFormat
  fileBytes: number
  /** Nanoseconds since the epoch, decimal. */
  mtimeNs: string
  /** The later of the times of its file and of its analysis: a file that replaces another one may be older. */
  modifiedAt: Date
  fileHash: string | null
  state: 'pending' | 'analyzed' | 'failed'
  pageSource: PageSource
  /** Pages, or positions of a text. */
  pageCount: number
  coverHash: string | null
  /** Of the extracted cover in pixels; null if unknown. */
  coverWidth: number | null
  /** The page that the extracted cover shows, from 1; null if it shows none. */
  coverPage: number | null
  /** The cover that a person or plugin selected; null for the extracted one. */
  chosenCover: { id: string; hash: string } | null
  /** Changes whenever the page list may have: it names one analysis of one content. */
  version: string
}

/** The file of a book, for all code that opens it. */
export const libraryFileOf = ({
  libraryPath,
  path,
  linkTargets,
  filter,
}: Pick<ReadableBook, 'libraryPath' | 'path' | 'linkTargets'> & Partial<Pick<ReadableBook, 'filter'>>): BookFile => ({
  root: libraryPath,
  path,
  linkTargets,
  filter,
})

/** The {@link FileFilter} of the library `l`. */
export const BOOK_FILTER = `jsonb_build_object('allowedFormats', l.allowed_formats, 'excludedPatterns', l.excluded_patterns)`

const NS_PER_MS = 1e6

type ReadableRow = Omit<ReadableBook, 'modifiedAt' | 'version'> & { analyzed: string | null }

/** The selected cover, joined as `covers`. */
export const CHOSEN_COVER = `CASE WHEN covers.id IS NOT NULL THEN json_build_object('id', covers.id, 'hash', covers.hash) END`

const READABLE = `
  SELECT books.id, books.path, l.path AS "libraryPath", l.link_targets AS "linkTargets", CASE WHEN cover_page IS NULL THEN ${BOOK_FILTER} END AS filter,
    file_name AS "fileName", file_format AS format, file_size::float8 AS "fileBytes", file_mtime_ns::text AS "mtimeNs", file_hash AS "fileHash", state,
    page_source AS "pageSource", page_count AS "pageCount", cover_hash AS "coverHash", cover_width AS "coverWidth", cover_page AS "coverPage",
    ${CHOSEN_COVER} AS "chosenCover", extract(epoch FROM analyzed_at)::text AS analyzed
  FROM books JOIN libraries l ON l.id = books.library_id LEFT JOIN covers ON covers.book_id = books.id AND covers.is_selected
  WHERE books.id = ? AND ${visibleSql('books.series_id')}`

/** The book if the caller may see it, else null. Used for nearly every page and cover. */
export async function findReadableBook(database: Knex, caller: Viewer, bookId: string): Promise<ReadableBook | null> {
  const [row] = await select<ReadableRow>(prepared(database.raw(READABLE, [bookId, ...visibilityOf(caller)])))
  if (!row) return null
  const { analyzed, ...book } = row
  const modifiedAt = new Date(Math.max(Number(book.mtimeNs) / NS_PER_MS, Number(analyzed) * 1000))
  return { ...book, modifiedAt, version: `${book.fileHash} ${analyzed}` }
}

/** The pages of a book with their version, read together so that they match; null when there are none. */
export async function findPages(database: Knex, bookId: string): Promise<{ version: string; pages: Page[] } | null> {
  const row = await database('book_pages')
    .join('books', 'books.id', 'book_pages.book_id')
    .where('book_pages.book_id', bookId)
    .first('book_pages.pages', 'books.file_hash', database.raw('extract(epoch FROM books.analyzed_at)::text AS analyzed'))
  return row ? { version: `${row.file_hash} ${row.analyzed}`, pages: row.pages as Page[] } : null
}

/** The message of the fatal error of a book's analysis; null when none is recorded. */
export async function findFatalMessage(database: Knex, bookId: string): Promise<string | null> {
  const row = await database('book_errors').where({ book_id: bookId, fatal: true }).orderBy(['occurred_at', 'error_type']).first('message')
  return row?.message ?? null
}
