import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Book } from '#core/book/book.ts'
import { type FullBookMetadata, fullBookMetadataOf } from '#core/book/metadata-shape.ts'
import { refuse } from '#core/errors.ts'
import { type Held, readHoldings } from '#core/metadata/holding-store.ts'
import { listNamesOf, type Named } from '#core/taxonomy/taxonomy-query.ts'

/** Those of the ids that are books the caller may see. */
export async function listVisibleBookIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('books')
    .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleTo(caller, 'books.series_id'))
    .pluck('books.id')
  return new Set(rows)
}

/** The id as the database writes it. @throws not_found for a hidden or unknown book */
export async function checkBook(database: Knex, caller: Caller, bookId: string): Promise<string> {
  const [id] = await listVisibleBookIds(database, caller, [bookId])
  return id ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

/** What is held of one book. @throws not_found */
export async function getHeldBook(database: Knex, caller: Caller, id: string): Promise<Held> {
  const bookId = id.toLowerCase()
  const visible = await listVisibleBookIds(database, caller, [bookId])
  const held = visible.has(bookId) ? (await readHoldings(database, 'book', [bookId])).get(bookId) : undefined
  return held ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

export type FullBook = Book & { genres: Named[]; tags: Named[]; metadata: FullBookMetadata }

/** Books with all that is known of them, by three statements. The caller of this has already decided that they are visible. @param books at most {@link FULL_AT_ONCE} */
export async function fullBooks(database: Knex, caller: Caller, books: readonly Book[]): Promise<FullBook[]> {
  const ids = books.map(({ id }) => id)
  const [held, genres, tags] = await Promise.all([
    readHoldings(database, 'book', ids),
    listNamesOf(database, caller, { taxonomy: 'genre', bearer: 'book', bearerIds: ids }),
    listNamesOf(database, caller, { taxonomy: 'tag', bearer: 'book', bearerIds: ids }),
  ])
  return books.map((book) => {
    const holding = held.get(book.id) ?? {
      values: {},
      sources: {},
      locks: new Set<string>(),
      createdAt: book.createdAt,
      updatedAt: book.updatedAt,
    }
    return { ...book, genres: genres.get(book.id) ?? [], tags: tags.get(book.id) ?? [], metadata: fullBookMetadataOf(holding) }
  })
}
