import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { TABLES } from '#core/metadata/metadata-record-store.ts'

const storage = new AsyncLocalStorage<{ version: string; isChecked: boolean }>()

/** Runs an edit of one record that must still have this version, the `updatedAt` of its client's copy. */
export const runExpecting = <T>(version: string, work: () => Promise<T>): Promise<T> => storage.run({ version, isChecked: false }, work)

/**
 * Compares the version of a record that is locked for the first change of an edit, within its transaction: nobody changes it in between.
 * @throws precondition_failed
 */
export async function checkExpectedVersion(trx: Knex, kind: Kind, ids: readonly string[]): Promise<void> {
  const expected = storage.getStore()
  if (expected === undefined || expected.isChecked || ids.length !== 1) return
  const { record, metadata, key } = TABLES[kind]
  const row = await trx(`${record} AS r`)
    .leftJoin(`${metadata} AS m`, `m.${key}`, 'r.id')
    .where('r.id', ids[0])
    .first('r.updated_at', trx.raw('greatest(r.updated_at, m.updated_at) AS latest'))
  const versions = [row?.updated_at, row?.latest].map((time: Date | undefined) => time?.toISOString())
  if (row && !versions.includes(expected.version)) refuse('precondition_failed')
  expected.isChecked = true
}
