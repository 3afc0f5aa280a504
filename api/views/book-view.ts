import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import type { Caller } from '#core/account/caller.ts'
import { Book } from '#core/catalog/book.ts'
import { fullBooks } from '#core/catalog/book-query.ts'
import { BOOK_SORT_FIELDS } from '#core/catalog/book-sort-query.ts'
import { FULL_AT_ONCE } from '#core/fields/limits.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { sortParameter } from '#core/foundation/sort.ts'
import { BookDetailMetadata, FullBookMetadata } from '#core/metadata/book-metadata-schema.ts'

type Services = Pick<DataServices, 'database' | 'settings'>

/** A genre or a tag. */
export const NamedShape = Noun('GenreOrTag')({
  id: Uuid,
  name: Type.String(),
  createdAt: Timestamp,
  seriesCount: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
})

/** A book with its metadata, genres and tags. */
export const FullBookView = Noun('FullBook')({
  ...Book.properties,
  genres: Type.Array(NamedShape),
  tags: Type.Array(NamedShape),
  metadata: FullBookMetadata,
})

/** A book in a list: short, or full with `full=true`. */
export const ListedBook = Type.Union([FullBookView, Book], { title: 'ListedBook' })

/** A book beside its metadata, with the people of each role as a text and as a list. */
export const BookDetailView = Noun('BookDetail')({ book: Book, metadata: BookDetailMetadata })

/** Whether books include their metadata. */
export const FULL = Type.Optional(Type.Boolean({ description: 'Include metadata, genres and tags.' }))

/** The sort parameter of every list of books. */
export const BOOK_SORT = sortParameter(BOOK_SORT_FIELDS, {
  title: 'BookSort',
  description: '`<field>,<asc|desc>`. Default: a search by relevance, an ordered list in its order, all others by title.',
})

/** Adds the names that older clients know, if the settings enable them. */
export function bookView<B extends Book>(services: Services, book: B): B {
  return services.settings.compatibility.legacyNames ? { ...book, koreaderHash: book.readerHash } : book
}

/** Books in the shape of a list. Full ones are read while the response is written, so the result works only in a response. */
export function listedBooks(
  { services, caller }: { services: Services; caller: Caller },
  books: readonly Book[],
  { full }: { full?: boolean | undefined },
): Book[] {
  if (!full) return books.map((book) => bookView(services, book))
  return streamedList(books, FULL_AT_ONCE, async (part) => {
    const known = await fullBooks(services.database, caller, part)
    return known.map((book) => bookView(services, book))
  })
}
