import type { DataServices } from '#api/areas/data.ts'
import type { FeedPublication } from '#api/opds/feed-model.ts'
import { FEED_PICTURES } from '#api/opds/pictures.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Book } from '#core/catalog/book.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { MEDIA_TYPE_OF_FORMAT } from '#core/fields/book-format.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { issuedOf } from '#core/fields/release-date.ts'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'
import { IN_LIST, listPublicationMetadata, type PublicationMetadata, WHOLE } from '#core/reading/publication-query.ts'

/** Books of a list as publications, with one more statement than the list. The caller has checked that they are visible. */
export async function publicationsOf({ database }: Pick<DataServices, 'database'>, books: readonly Book[]): Promise<FeedPublication[]> {
  const known = await listPublicationMetadata(
    database,
    books.map(({ id }) => id),
    IN_LIST,
  )
  return books.map((book) => publicationOf(book, known.get(book.id) ?? null))
}

/** The full publication of a book. @throws not_found */
export async function getPublication(
  { database }: Pick<DataServices, 'database'>,
  caller: Caller,
  bookId: string,
): Promise<FeedPublication> {
  const book = await getBook(database, caller, bookId)
  const names = (taxonomy: 'genre' | 'tag') => listNamesOf(database, caller, { taxonomy, kind: 'book', ids: [book.id] })
  const [known, genres, tags] = await Promise.all([listPublicationMetadata(database, [book.id], WHOLE), names('genre'), names('tag')])
  const subjects = new Set([...(genres.get(book.id) ?? []), ...(tags.get(book.id) ?? [])].map(({ name }) => name))
  return { ...publicationOf(book, known.get(book.id) ?? null), subjects: [...subjects], isComplete: true }
}

/** @param known null for a book that was deleted meanwhile */
function publicationOf(book: Book, known: PublicationMetadata | null): FeedPublication {
  const { id, title, updatedAt, seriesId, seriesName, readProgress, pageCount } = book
  return {
    id,
    title,
    subtitle: known?.subtitle ?? null,
    updated: updatedAt,
    issued: known && issuedOf(known),
    summary: known?.summary || null,
    contributors: (known?.authors ?? []).map(({ name, role, sortName = null }) => ({ name, role, sortName })),
    publisher: known?.publisher || null,
    language: known?.language || null,
    isbns: readIsbns(known?.isbns ?? '').valid,
    subjects: [],
    series: { id: seriesId, name: seriesName, position: known?.number ?? null },
    readingDirection: book.readingDirection,
    mediaType: MEDIA_TYPE_OF_FORMAT[book.fileFormat],
    fileBytes: book.fileSize,
    pageCount,
    hasManifest: book.analyzed && !book.deleted,
    isStreamed: book.analyzed && !book.deleted && pageCount > 0 && known !== null && known.pageSource !== 'none',
    pageType: FEED_PICTURES.find((type) => type === known?.pageType) ?? 'image/jpeg',
    // A new analysis may have found fewer pages than the user has read.
    lastRead: readProgress && { page: Math.min(readProgress.currentPage, Math.max(pageCount, 1)), at: readProgress.updatedAt },
    isComplete: false,
  }
}
