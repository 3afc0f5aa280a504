import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Book } from '#core/book/book.ts'
import { type FullBookMetadata, fullBookMetadataOf } from '#core/book/metadata-shape.ts'
import { refuse } from '#core/errors.ts'
import { type Held, readHoldings } from '#core/metadata/holding-store.ts'

/** Those of the ids that are books the caller may see. */
export async function listVisibleBookIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('books')
    .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleTo(caller, 'books.series_id'))
    .pluck('books.id')
  return new Set(rows)
}

/** What is held of one book. @throws not_found */
export async function getHeldBook(database: Knex, caller: Caller, id: string): Promise<Held> {
  const bookId = id.toLowerCase()
  const visible = await listVisibleBookIds(database, caller, [bookId])
  const held = visible.has(bookId) ? (await readHoldings(database, 'book', [bookId])).get(bookId) : undefined
  return held ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

interface Named {
  id: string
  name: string
  createdAt: string
  seriesCount: number
}

export type FullBook = Book & { genres: Named[]; tags: Named[]; metadata: FullBookMetadata }

/** Books with all that is known of them: three statements, however many books. The caller of this has already decided that they are visible. */
export async function fullBooks(database: Knex, books: readonly Book[]): Promise<FullBook[]> {
  const ids = books.map(({ id }) => id)
  const [held, genres, tags] = await Promise.all([
    readHoldings(database, 'book', ids),
    listNamed(database, 'genre', ids),
    listNamed(database, 'tag', ids),
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

/** Genres or tags of books, by name, each with the number of series that have it. */
async function listNamed(database: Knex, kind: 'genre' | 'tag', bookIds: readonly string[]): Promise<Map<string, Named[]>> {
  const { rows } = await database.raw(
    `SELECT j.book_id, n.id, n.name, n.created_at, (SELECT count(*) FROM series_${kind}s s WHERE s.${kind}_id = n.id) AS series_count
     FROM book_${kind}s j JOIN ${kind}s n ON n.id = j.${kind}_id WHERE j.book_id = ANY(CAST(? AS uuid[]))
     ORDER BY n.name COLLATE carrel_natural, n.id`,
    [[...bookIds]],
  )
  const found = new Map<string, Named[]>()
  for (const row of rows as { book_id: string; id: string; name: string; created_at: Date; series_count: string }[]) {
    const named = { id: row.id, name: row.name, createdAt: row.created_at.toISOString(), seriesCount: Number(row.series_count) }
    found.set(row.book_id, [...(found.get(row.book_id) ?? []), named])
  }
  return found
}
