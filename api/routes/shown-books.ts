import Type from 'typebox'
import { writeAhead } from '#api/http/json-chunks.ts'
import type { Services } from '#api/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { Book } from '#core/book/book.ts'
import { fullBooks } from '#core/book/metadata-query.ts'
import { FullBookMetadata } from '#core/book/metadata-shape.ts'
import { refuse } from '#core/errors.ts'
import { inSlices } from '#core/foundation/slices.ts'
import { Nullable, Timestamp, Uuid } from '#core/schema.ts'

/** A genre or a tag. */
export const NamedShape = Type.Object({
  id: Uuid,
  name: Type.String(),
  createdAt: Timestamp,
  seriesCount: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
})

/** A book with everything that is known of it (spec 2.2). */
export const FullBook = Type.Object({
  ...Book.properties,
  genres: Type.Array(NamedShape),
  tags: Type.Array(NamedShape),
  metadata: FullBookMetadata,
})

/** A book as a list shows it: short, or with `full=true` full. */
export const ShownBook = Type.Union([Book, FullBook])

/** A book beside its metadata, with the people of each role as a string and as a list. The metadata has no id but the book's. */
export const BookDetail = Type.Object({ book: Book, metadata: Type.Object({ id: Uuid, bookId: Uuid, ...FullBookMetadata.properties }) })

/** Whether books shall come with all that is known of them. */
export const FULL = Type.Optional(Type.Boolean({ description: 'Each with its metadata, genres and tags.' }))

/** The book as this deployment shows it: with the names that older clients know, where that is switched on. */
export function shownBook<B extends Book>(services: Services, book: B): B {
  return services.settings.compatibility.legacyNames ? { ...book, koreaderHash: book.readerHash } : book
}

/** As many of the largest are read and written within a few turns, and held in memory at once. */
const WRITTEN_AT_ONCE = 10

/** Books as a list answers them: full ones are JSON already, and nothing but an answer can be made of them. */
export async function shownBooks(
  { services, caller }: { services: Services; caller: Caller | null },
  books: readonly Book[],
  { full }: { full?: boolean | undefined },
): Promise<Book[]> {
  if (!full) return books.map((book) => shownBook(services, book))
  return await inSlices(books, WRITTEN_AT_ONCE, async (slice) => {
    const written: Book[] = []
    for (const book of await fullBooks(services.database, caller ?? refuse('unauthorized'), slice))
      written.push(await writeAhead(shownBook(services, book)))
    return written
  })
}
