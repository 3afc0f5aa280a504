import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Book } from '#core/catalog/book.ts'
import { type FullBookMetadata, fullBookMetadataOf } from '#core/metadata/book-metadata-record.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'

export type FullBook = Book & { genres: Named[]; tags: Named[]; metadata: FullBookMetadata }

/** Books with all of their data, in three statements. The caller must have checked that they are visible. @param books at most {@link FULL_AT_ONCE} */
export async function fullBooks(database: Knex, caller: Caller, books: readonly Book[]): Promise<FullBook[]> {
  const ids = books.map(({ id }) => id)
  const [stored, genres, tags] = await Promise.all([
    readRecords(database, 'book', ids),
    listNamesOf(database, caller, { taxonomy: 'genre', bearer: 'book', bearerIds: ids }),
    listNamesOf(database, caller, { taxonomy: 'tag', bearer: 'book', bearerIds: ids }),
  ])
  return books.map((book) => {
    const record = stored.get(book.id) ?? {
      values: {},
      sources: {},
      locks: new Set<string>(),
      createdAt: book.createdAt,
      updatedAt: book.updatedAt,
    }
    return { ...book, genres: genres.get(book.id) ?? [], tags: tags.get(book.id) ?? [], metadata: fullBookMetadataOf(record) }
  })
}
