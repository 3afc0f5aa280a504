import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import type { MetadataRecord } from '#core/metadata/field.ts'
import { type Kind, lockRecords, readLocks, readRecords, storeLocks, storeRecords } from '#core/metadata/metadata-record-store.ts'

/** What a call did to one record. */
export interface RecordOutcome {
  id: string
  outcomes: Outcome[]
}

/** Records may have a quarter of a megabyte each: five hundred of them at once are a hundred megabytes that others need. */
const EDITED_AT_ONCE = 20

/** Where values are compared that may differ in the order of their members alone. */
const isChanged = ({ result }: Outcome) => result === 'set' || result === 'cleared'

interface Edit {
  kind: Kind
  ids: readonly string[]
  listVisible: (trx: Knex, ids: readonly string[]) => Promise<Set<string>>
  change: (record: MetadataRecord, id: string) => { next: MetadataRecord; outcomes: Outcome[] }
}

/**
 * Changes the metadata of many records in one transaction: all of them or, when one is unknown or hidden, none.
 * @param edit.listVisible those of the ids that the caller may see
 * @throws not_found with the first that is missing
 */
export async function editRecords(database: Knex, edit: Edit): Promise<RecordOutcome[]> {
  const ids = [...new Set(edit.ids.map((id) => id.toLowerCase()))]
  return await database.transaction(async (trx) => {
    await lockVisible(trx, edit, ids)
    const outcomes: RecordOutcome[] = []
    for (let start = 0; start < ids.length; start += EDITED_AT_ONCE)
      outcomes.push(...(await editSlice(trx, edit, ids.slice(start, start + EDITED_AT_ONCE))))
    const changed = outcomes.map(({ id, outcomes }) => [id, outcomes.filter(isChanged).map(({ field }) => field)] as const)
    const fields = new Map(changed.filter(([, names]) => names.length > 0))
    await announceRecords(trx, edit.kind, [...fields.keys()], fields)
    return outcomes
  })
}

/** Changes a few records that are locked already. */
async function editSlice(trx: Knex, { kind, change }: Edit, ids: readonly string[]): Promise<RecordOutcome[]> {
  const records = await readRecords(trx, kind, ids)
  const outcomes: RecordOutcome[] = []
  const locks = new Map<string, MetadataRecord>()
  const all = new Map<string, MetadataRecord>()
  for (const id of ids) {
    const before = records.get(id) ?? refuseMissing(kind, id)
    const { next, outcomes: members } = change(before, id)
    outcomes.push({ id, outcomes: members })
    // What is as it was keeps its time of change.
    const isSame = isDeepStrictEqual([before.values, before.sources], [next.values, next.sources]) && !members.some(isChanged)
    if (!isSame) all.set(id, next)
    else if (!isDeepStrictEqual(before.locks, next.locks)) locks.set(id, next)
    // The people of one alone may be five hundred names to compare.
    await nextTurn()
  }
  await storeLocks(trx, kind, locks)
  await storeRecords(trx, kind, all)
  return outcomes
}

/** Locks the records for the transaction, in one order and all before the first is changed. @throws not_found */
async function lockVisible(trx: Knex, { kind, listVisible }: Pick<Edit, 'kind' | 'listVisible'>, ids: readonly string[]): Promise<void> {
  const visible = await listVisible(trx, ids)
  for (const id of ids) if (!visible.has(id)) refuseMissing(kind, id)
  await lockRecords(trx, kind, ids)
}

export function isSameRecord(one: MetadataRecord, other: MetadataRecord): boolean {
  return isDeepStrictEqual([one.values, one.sources, one.locks], [other.values, other.sources, other.locks])
}

/**
 * Changes the locks of many records, as {@link editRecords}; what is locked is not read.
 * @param edit.change answers the locks that a record has from now on
 */
export async function editLocks(
  database: Knex,
  edit: Pick<Edit, 'kind' | 'ids' | 'listVisible'> & { change: (locks: ReadonlySet<string>) => Set<string> },
): Promise<RecordOutcome[]> {
  const ids = [...new Set(edit.ids.map((id) => id.toLowerCase()))]
  return await database.transaction(async (trx) => {
    await lockVisible(trx, edit, ids)
    const locked = await readLocks(trx, edit.kind, ids)
    const done = ids.map((id) => {
      const before = locked.get(id) ?? refuseMissing(edit.kind, id)
      return { id, before, locks: edit.change(before) }
    })
    const changed = done.filter(({ before, locks }) => before.size !== locks.size || [...locks].some((name) => !before.has(name)))
    await storeLocks(trx, edit.kind, new Map(changed.map(({ id, locks }) => [id, { locks }])))
    await announceRecords(
      trx,
      edit.kind,
      changed.map(({ id }) => id),
      ['locks'],
    )
    return ids.map((id) => ({ id, outcomes: [] }))
  })
}

/** Every name by which clients call a lock: of `summary` that and `summaryLock`, of a list of records (`authors`) `authorsJson` and `authorsJsonLock` too. */
const lockSpellings = (name: string): string[] => [`${name}Lock`, name, `${name}JsonLock`, `${name}Json`]

/**
 * Locks after some were set and unset.
 * @param changes by the names that `lockName` gives, or other spellings of them, which count where those are absent; what is absent or null stays, and
 * so does what is no lock
 */
export function changedLocks(
  locks: ReadonlySet<string>,
  names: readonly string[],
  lockName: (name: string) => string,
  changes: Readonly<Record<string, unknown>>,
): Set<string> {
  const kept = new Set(locks)
  for (const name of names) {
    const spellings = [lockName(name), ...lockSpellings(name)]
    const locked = spellings.map((spelling) => changes[spelling]).find((change) => typeof change === 'boolean')
    if (locked === true) kept.add(name)
    else if (locked === false) kept.delete(name)
  }
  return kept
}

const refuseMissing = (kind: Kind, id: string): never =>
  refuse('not_found', `There is no ${kind} ${id}, or you may not see it. Nothing was changed.`)
