import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readRecords, type StoredRecord } from '#core/metadata/metadata-record-store.ts'

/** Those of the ids that belong to books which the caller may see. */
export async function listVisibleBookIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('books')
    .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleTo(caller, 'books.series_id'))
    .pluck('books.id')
  return new Set(rows)
}

/** The id in the spelling of the database. @throws not_found for a hidden or unknown book */
export async function checkBook(database: Knex, caller: Caller, bookId: string): Promise<string> {
  const [id] = await listVisibleBookIds(database, caller, [bookId])
  return id ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

/** The metadata of one book. @throws not_found */
export async function getBookRecord(database: Knex, caller: Caller, id: string): Promise<StoredRecord<ValuesOf['book']>> {
  const bookId = id.toLowerCase()
  const visible = await listVisibleBookIds(database, caller, [bookId])
  const stored = visible.has(bookId) ? (await readRecords(database, 'book', [bookId])).get(bookId) : undefined
  return stored ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}
