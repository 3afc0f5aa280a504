import Type from 'typebox'
import { listInParts } from '#api/http/json-chunks.ts'
import type { Needs } from '#api/http/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { Book } from '#core/catalog/book.ts'
import { fullBooks } from '#core/catalog/book-query.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { SORT_LENGTH_MAX } from '#core/foundation/sort.ts'
import { BookDetailMetadata, FullBookMetadata } from '#core/metadata/book-metadata-record.ts'
import { FULL_AT_ONCE } from '#core/metadata/limits.ts'

type Services = Needs<'database' | 'settings'>

/** A genre or a tag. */
export const NamedShape = Noun('GenreOrTag')({
  id: Uuid,
  name: Type.String(),
  createdAt: Timestamp,
  seriesCount: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
})

/** A book with everything that is known of it. */
export const FullBook = Noun('FullBook')({
  ...Book.properties,
  genres: Type.Array(NamedShape),
  tags: Type.Array(NamedShape),
  metadata: FullBookMetadata,
})

/** A book as a list shows it: short, or with `full=true` full. */
export const ShownBook = Type.Union([Book, FullBook], { title: 'ListedBook' })

/** A book beside its metadata, with the people of each role as a string and as a list. */
export const BookDetail = Noun('BookDetail')({ book: Book, metadata: BookDetailMetadata })

/** Whether books shall come with all that is known of them. */
export const FULL = Type.Optional(Type.Boolean({ description: 'Each with its metadata, genres and tags.' }))

/** The order of any list of books. */
export const BOOK_SORT = Type.Optional(
  Type.String({
    maxLength: SORT_LENGTH_MAX,
    description:
      '`<field>,<asc|desc>`; fields: title, series, created_at (date_added), release_date, chapter_number (number), file_size, filename, page_count, last_read (read_date). Unless said: of a search the best match first, of a list with an order its own, else by title.',
  }),
)

/** The book as this deployment shows it: with the names that older clients know, where that is switched on. */
export function shownBook<B extends Book>(services: Services, book: B): B {
  return services.settings.compatibility.legacyNames ? { ...book, koreaderHash: book.readerHash } : book
}

/** Books as a list answers them: full ones are read while the answer is written, and nothing but an answer can be made of them. */
export function shownBooks(
  { services, caller }: { services: Services; caller: Caller },
  books: readonly Book[],
  { full }: { full?: boolean | undefined },
): Book[] {
  if (!full) return books.map((book) => shownBook(services, book))
  return listInParts(books, FULL_AT_ONCE, async (part) => {
    const known = await fullBooks(services.database, caller, part)
    return known.map((book) => shownBook(services, book))
  })
}
