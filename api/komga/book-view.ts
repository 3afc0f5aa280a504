import { basename } from 'node:path'
import type { Static } from 'typebox'
import Type from 'typebox'
import { KOMGA_MEDIA } from '#api/komga/media-profile.ts'
import { personsOf, secondsOf, sizeText } from '#api/komga/values.ts'
import type { Book } from '#core/catalog/book.ts'
import type { BookDetail } from '#core/catalog/book-detail-query.ts'
import { stemOf } from '#core/fields/book-format.ts'
import { dayOf, issuedOf } from '#core/fields/release-date.ts'
import { Nullable } from '#core/foundation/schema.ts'

export const KomgaAuthor = Type.Object({ name: Type.String(), role: Type.String() }, { title: 'KomgaAuthor' })
export const KomgaLink = Type.Object({ label: Type.String(), url: Type.String() }, { title: 'KomgaLink' })

/** A book as Komga shows it. Missing values are null, never absent. */
export const KomgaBook = Type.Object(
  {
    id: Type.String(),
    seriesId: Type.String(),
    seriesTitle: Type.String(),
    libraryId: Type.String(),
    name: Type.String(),
    url: Type.String(),
    number: Type.Integer(),
    created: Type.String(),
    lastModified: Type.String(),
    fileLastModified: Type.String(),
    sizeBytes: Type.Integer(),
    size: Type.String(),
    media: Type.Object({
      status: Type.String(),
      mediaType: Type.String(),
      pagesCount: Type.Integer(),
      comment: Type.String(),
      mediaProfile: Type.String(),
      epubDivinaCompatible: Type.Boolean(),
      epubIsKepub: Type.Boolean(),
    }),
    metadata: Type.Object({
      title: Type.String(),
      titleLock: Type.Boolean(),
      summary: Type.String(),
      summaryLock: Type.Boolean(),
      number: Type.String(),
      numberLock: Type.Boolean(),
      numberSort: Type.Number(),
      numberSortLock: Type.Boolean(),
      releaseDate: Nullable(Type.String()),
      releaseDateLock: Type.Boolean(),
      authors: Type.Array(KomgaAuthor),
      authorsLock: Type.Boolean(),
      tags: Type.Array(Type.String()),
      tagsLock: Type.Boolean(),
      isbn: Type.String(),
      isbnLock: Type.Boolean(),
      links: Type.Array(KomgaLink),
      linksLock: Type.Boolean(),
      created: Type.String(),
      lastModified: Type.String(),
    }),
    readProgress: Nullable(
      Type.Object({
        page: Type.Integer(),
        completed: Type.Boolean(),
        readDate: Nullable(Type.String()),
        created: Type.String(),
        lastModified: Type.String(),
        deviceId: Type.String(),
        deviceName: Type.String(),
      }),
    ),
    deleted: Type.Boolean(),
    fileHash: Type.String(),
    oneshot: Type.Boolean(),
  },
  { title: 'KomgaBook' },
)
export type KomgaBook = Static<typeof KomgaBook>

const STATUSES: Record<BookDetail['state'], string> = { analyzed: 'READY', failed: 'ERROR', pending: 'UNKNOWN' }

/** The sort number of a book in its series: its number, or its position if it has none. */
export const sortNumberOf = ({ number, position }: Pick<BookDetail, 'number' | 'position'>): number => number ?? position ?? 0

export function komgaBook(book: Book, detail: BookDetail): KomgaBook {
  const number = sortNumberOf(detail)
  const file = basename(book.filePath)
  return {
    id: book.id,
    seriesId: book.seriesId,
    seriesTitle: book.seriesName,
    libraryId: book.libraryId,
    name: stemOf(file),
    url: book.filePath,
    number: Math.trunc(number),
    created: secondsOf(book.createdAt),
    lastModified: secondsOf(book.updatedAt),
    fileLastModified: secondsOf(detail.fileModifiedAt),
    sizeBytes: book.fileSize,
    size: sizeText(book.fileSize),
    media: {
      status: STATUSES[detail.state],
      mediaType: KOMGA_MEDIA[book.fileFormat].mediaType,
      pagesCount: book.pageCount,
      comment: book.analysisError ?? '',
      mediaProfile: KOMGA_MEDIA[book.fileFormat].profile,
      epubDivinaCompatible: book.fileFormat === 'epub' && detail.pageSource !== 'none',
      epubIsKepub: false,
    },
    metadata: komgaMetadata(book, detail, number),
    readProgress: book.readProgress && komgaProgress(book.readProgress),
    deleted: book.deleted,
    // "unhashed:" and the id of the book stand in until its file has been read.
    fileHash: book.fileHash.startsWith('unhashed:') ? '' : book.fileHash,
    oneshot: detail.isOneshot,
  }
}

function komgaMetadata(book: Book, detail: BookDetail, number: number): KomgaBook['metadata'] {
  const locked = (name: string) => detail.locks.has(name)
  const issued = issuedOf(detail)
  return {
    title: book.title,
    titleLock: locked('title'),
    summary: detail.summary ?? '',
    summaryLock: locked('summary'),
    number: String(number),
    numberLock: locked('number'),
    numberSort: number,
    numberSortLock: locked('number'),
    releaseDate: issued === null ? null : dayOf(issued),
    releaseDateLock: locked('year'),
    authors: personsOf(detail.authors),
    authorsLock: locked('authors'),
    tags: detail.tags,
    tagsLock: false,
    isbn: detail.isbns?.split(',')[0]?.trim() ?? '',
    isbnLock: locked('isbns'),
    links: detail.links.map(({ source, url }) => ({ label: source, url })),
    linksLock: false,
    created: secondsOf(detail.metadataCreatedAt),
    lastModified: secondsOf(detail.metadataUpdatedAt),
  }
}

function komgaProgress(progress: NonNullable<Book['readProgress']>): NonNullable<KomgaBook['readProgress']> {
  return {
    page: progress.currentPage,
    completed: progress.completed,
    readDate: secondsOf(progress.updatedAt),
    created: secondsOf(progress.startedAt),
    lastModified: secondsOf(progress.updatedAt),
    deviceId: '',
    deviceName: '',
  }
}
