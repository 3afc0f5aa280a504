import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { FILE_PATH_NOTE } from '#core/account/path-view.ts'
import { NullableShownCover } from '#core/covers/current-cover.ts'
import { BOOK_ERROR_TYPES } from '#core/fields/analysis.ts'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { INT32_MAX, Int32, Natural } from '#core/fields/field.ts'
import { READING_DIRECTIONS } from '#core/fields/series-metadata.ts'
import { described, Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'

const Count = Type.Integer({ minimum: 0 })

/** The current user's read progress in a book. */
export const ReadProgress = Noun('ReadProgress')({
  id: Uuid,
  userId: Uuid,
  bookId: Uuid,
  currentPage: Type.Integer({ minimum: 1 }),
  progressPercentage: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  completed: Type.Boolean(),
  startedAt: Timestamp,
  updatedAt: Timestamp,
  completedAt: Type.Optional(Nullable(Timestamp)),
  app: Type.Optional(Nullable(Type.String({ description: 'Name of the device or API key that recorded it; null when unknown.' }))),
})

/** A book in lists and records. */
export const Book = Noun('Book')({
  id: Uuid,
  libraryId: Uuid,
  libraryName: Type.String(),
  seriesId: Uuid,
  seriesName: Type.String(),
  title: Type.String(),
  titleSort: Nullable(Type.String()),
  filePath: Type.String({ description: FILE_PATH_NOTE }),
  fileFormat: OneOf(BOOK_FORMATS),
  fileSize: Count,
  fileHash: Type.String({
    minLength: 1,
    description: 'SHA-256 of the file, lower-case hex; `unhashed:<id>` until the file has been hashed.',
  }),
  readerHash: Nullable(Type.String({ description: 'Partial MD5 by which e-readers identify the file.' })),
  koreaderHash: Type.Optional(Nullable(Type.String({ description: 'Same as readerHash; only with compatibility.legacyNames.' }))),
  pageCount: Natural,
  number: Nullable(
    described(Int32, 'Without its fraction: 10 for 10.5, whose exact value is in numberLabel. Null when the book has no number.'),
  ),
  numberLabel: Nullable(Type.String({ description: 'The number as text, such as `1.5`; null when the book has none.' })),
  volume: Nullable(Int32),
  chapter: Nullable(Type.Number()),
  analyzed: Type.Boolean(),
  analysisError: Nullable(Type.String()),
  deleted: Type.Boolean(),
  missing: Nullable(
    Type.Object(
      {
        since: Timestamp,
        why: Type.Enum(['file', 'folder', 'withheld'], {
          description:
            '`file`: the file is gone; `folder`: its whole folder is gone or empty; `withheld`: the scan did not mark the book as deleted, because its disk is probably missing.',
        }),
      },
      { title: 'BookMissing', description: 'Since when a scan does not find the file, and why; null for a book that is there.' },
    ),
  ),
  readProgress: Nullable(ReadProgress),
  readCount: described(Count, 'How often you have finished it.'),
  lastReadAt: Nullable(described(Timestamp, 'When you have read in it last, also if it was marked as unread since.')),
  readingDirection: Nullable(OneOf(READING_DIRECTIONS)),
  language: Nullable(
    Type.String({ description: 'BCP 47 tag of its language, otherwise of that of its series; null when both are unknown.' }),
  ),
  cover: NullableShownCover,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Book = Static<typeof Book>

/** One page of a book in lists of pages. */
export const BookPage = Noun('BookPage')({
  id: Uuid,
  bookId: Uuid,
  pageNumber: Type.Integer({ minimum: 1 }),
  fileName: Type.String(),
  fileFormat: Type.String({ description: 'Subtype of the media type, such as jpeg or png.' }),
  fileSize: Count,
  width: Nullable(Int32),
  height: Nullable(Int32),
})
export type BookPage = Static<typeof BookPage>

/** Neighbors of a book in its series; null at the ends. */
export const AdjacentBooks = Noun('AdjacentBooks')({ prev: Nullable(Book), next: Nullable(Book) })
export type AdjacentBooks = Static<typeof AdjacentBooks>

export const BookErrorTypeName = Type.Enum([...BOOK_ERROR_TYPES], { type: 'string', title: 'BookErrorType' })

export const BookError = Noun('BookError')({
  errorType: BookErrorTypeName,
  message: Type.String(),
  details: Type.Optional(Type.Unknown()),
  occurredAt: Timestamp,
})
export type BookError = Static<typeof BookError>

/** Books with errors, in one group per error type. */
export const BooksWithErrors = Noun('BooksWithErrors')({
  errorCounts: Type.Record(Type.String(), Count),
  groups: Type.Array(
    Type.Object({
      errorType: BookErrorTypeName,
      label: Type.String(),
      count: Count,
      books: Type.Array(Type.Object({ book: Book, errors: Type.Array(BookError) })),
    }),
  ),
  page: Count,
  pageSize: Count,
  totalBooksWithErrors: Count,
  totalPages: Count,
})
export type BooksWithErrors = Static<typeof BooksWithErrors>

/**
 * The number for members that are integers: programs that expect one fail at 10.5, and show nothing for null. Its exact value shows in `numberLabel`,
 * in records, and in the order of the series.
 */
export function wholeNumber(number: number | null): number | null {
  const whole = number === null ? null : Math.trunc(number)
  return whole !== null && Math.abs(whole) <= INT32_MAX ? whole : null
}

/** Since when a book is missing, and why; null if it is there. @param stored.why null for a book that no scan has marked */
export function missingOf(stored: { since: Date | null; why: 'file' | 'folder' | 'withheld' | null }): Book['missing'] {
  return stored.since && { since: stored.since.toISOString(), why: stored.why ?? 'file' }
}

/** `fileHash` is never empty, so a file that has not been hashed yet is named by its book's id: no two such books look like duplicates. */
export function fileHashOf(book: { id: string; fileHash: string | null }): string {
  return book.fileHash ?? `unhashed:${book.id}`
}

/**
 * The ids of the pages of a book, by number from 1: name-based UUIDs (RFC 9562, version 5) of book and number, so that they need no row and
 * never change. A list may have 100,000 of them, so each costs one hash over one buffer and no object of its own.
 */
export function pageIdsOf(bookId: string): (pageNumber: number) => string {
  const name = Buffer.alloc(BOOK_ID_BYTES + PAGE_NUMBER_BYTES_MAX)
  name.write(bookId.replaceAll('-', ''), 'hex')
  return (pageNumber) => {
    const end = BOOK_ID_BYTES + name.write(String(pageNumber), BOOK_ID_BYTES, 'latin1')
    const hex = hash('sha1', name.subarray(0, end), 'hex')
    const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3]
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  }
}

const BOOK_ID_BYTES = 16
/** Digits of the largest integer that a number holds exactly. */
const PAGE_NUMBER_BYTES_MAX = 16

/** `image/svg+xml` is `svg`, `image/x-ms-bmp` is `ms-bmp`, `image/jpeg` is `jpeg`. */
export function formatOfMediaType(mediaType: string): string {
  const subtype = mediaType.slice(mediaType.indexOf('/') + 1)
  return subtype.split(/[+;]/)[0]?.replace(/^x-/, '') ?? subtype
}
