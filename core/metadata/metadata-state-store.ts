import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import type { Author, MetadataRecord } from '#core/fields/field.ts'
import type { Kind, ValuesOf } from '#core/fields/record-kind.ts'
import { changedSets, isSameContent, isSameLocks, type MetadataState, type SetState } from '#core/metadata/apply-change.ts'
import {
  lockRecords,
  readRecords,
  type StoredRecord,
  storeLocks,
  storeRecords,
  touchRecords,
} from '#core/metadata/metadata-record-store.ts'
import type { SetName } from '#core/metadata/metadata-set.ts'
import { readSets, storeSets } from '#core/metadata/metadata-set-store.ts'
import { storePeople } from '#core/metadata/people-store.ts'

export type StoredState<One extends Kind = Kind> = SetState & StoredRecord<ValuesOf[One]>

/**
 * Reads books or series with some of their sets for a change, after {@link lockRecords} has locked them until the transaction ends. The result omits ids that
 * do not exist.
 */
export async function loadStates<One extends Kind>(
  trx: Knex,
  kind: One,
  ids: readonly string[],
  sets: readonly SetName[],
): Promise<Map<string, StoredState<One>>> {
  if (ids.length > 0) await lockRecords(trx, kind, ids)
  return await readStates(trx, kind, ids, sets)
}

/** Like {@link loadStates}, but without locks. */
export async function readStates<One extends Kind>(
  database: Knex,
  kind: One,
  ids: readonly string[],
  sets: readonly SetName[],
): Promise<Map<string, StoredState<One>>> {
  const records = await readRecords(database, kind, ids)
  const found = await readSets(database, kind, [...records.keys()], sets)
  return new Map([...records].map(([id, record]) => [id, { ...record, id, sets: found.get(id) ?? {} }]))
}

/** Writes the differences in few statements. Unchanged records keep their time of change. */
export async function storeStates(
  trx: Knex,
  kind: Kind,
  changes: readonly { before: MetadataState; next: MetadataState }[],
): Promise<void> {
  const records = new Map<string, MetadataRecord>()
  const locks = new Map<string, MetadataRecord>()
  const touched: string[] = []
  const people: { id: string; authors: readonly Author[] }[] = []
  for (const { before, next } of changes) {
    if (!isSameContent(kind, before, next)) records.set(next.id, next)
    else if (!isSameLocks(before, next)) locks.set(next.id, next)
    else if (changedSets(before, next).length > 0) touched.push(next.id)
    const authors = authorsOf(next)
    if (!isDeepStrictEqual(authorsOf(before), authors)) people.push({ id: next.id, authors })
  }
  await storeLocks(trx, kind, locks)
  await storeRecords(trx, kind, records)
  await storePeople(trx, kind, people)
  await storeSets(trx, kind, changes)
  await touchRecords(trx, kind, touched)
}

const authorsOf = ({ values }: MetadataState) => (values['authors'] as Author[] | undefined) ?? []
