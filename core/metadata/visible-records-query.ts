import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import type { Kind, ValuesOf } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readRecords, type StoredRecord, TABLES } from '#core/metadata/metadata-record-store.ts'

/** Those of the ids that belong to records of a kind which the caller may see: a book if its series is visible. */
export async function listVisibleIds(database: Knex, caller: Viewer, kind: Kind, ids: readonly string[]): Promise<Set<string>> {
  const { record } = TABLES[kind]
  const rows = await database(record)
    .whereRaw(`${record}.id = ANY(CAST(? AS uuid[]))`, [[...ids]])
    .modify(visibleTo(caller, kind === 'book' ? 'books.series_id' : 'series.id'))
    .pluck(`${record}.id`)
  return new Set(rows)
}

/** The id in the spelling of the database. @throws not_found for a hidden or unknown record */
export async function checkVisible(database: Knex, caller: Viewer, kind: Kind, given: string): Promise<string> {
  const [id] = await listVisibleIds(database, caller, kind, [given])
  return id ?? refuse('not_found', `There is no ${kind} ${given}, or you may not see it.`)
}

/** The metadata of one book or series. @throws not_found */
export async function getRecord<Of extends Kind>(
  database: Knex,
  caller: Viewer,
  kind: Of,
  given: string,
): Promise<StoredRecord<ValuesOf[Of]>> {
  const id = await checkVisible(database, caller, kind, given)
  return (await readRecords(database, kind, [id])).get(id) ?? refuse('not_found', `There is no ${kind} ${given}.`)
}
