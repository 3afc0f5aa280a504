import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { applySets, changedSets, isSameLocks, type MetadataState, type SetChanges, type SetState } from '#core/metadata/apply-change.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import { lockRecords, readLocks, storeLocks, touchRecords } from '#core/metadata/metadata-record-store.ts'
import type { SetName } from '#core/metadata/metadata-set.ts'
import { readSets, storeSets } from '#core/metadata/metadata-set-store.ts'
import { readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import type { Kind } from '#core/metadata/record-kind.ts'

/** The result of a call for one record. */
export interface RecordOutcome {
  id: string
  outcomes: Outcome[]
}

/** Records changed at a time: each may have a quarter of a megabyte, so five hundred would need a hundred megabytes. */
const EDITED_AT_ONCE = 20

/** For comparing values that may differ in the order of their members only. */
export const isChanged = ({ result }: Outcome): boolean => result === 'set' || result === 'cleared'

interface Edit {
  kind: Kind
  ids: readonly string[]
  listVisible: (trx: Knex, ids: readonly string[]) => Promise<Set<string>>
}

/**
 * Changes the metadata of many records in one transaction: all of them or, when one is unknown or hidden, none.
 * @param edit.listVisible those of the ids that the caller may see
 * @param edit.sets those that the change is about
 * @throws not_found with the first that is missing
 */
export async function editRecords(
  database: Knex,
  edit: Edit & { sets?: readonly SetName[]; change: (state: MetadataState) => { next: MetadataState; outcomes: Outcome[] } },
): Promise<RecordOutcome[]> {
  const { kind, sets = [], change } = edit
  return await inSlices(database, edit, async (trx, ids) => {
    const states = await readStates(trx, kind, ids, sets)
    const done: Done<MetadataState>[] = []
    for (const id of ids) {
      const before = states.get(id) ?? refuseMissing(kind, id)
      done.push({ before, ...change(before) })
      // The people of one alone may be five hundred names to compare.
      await nextTurn()
    }
    await storeStates(trx, kind, done)
    return done
  })
}

/** Changes a set of many records, as {@link editRecords}; other sets are not read. */
export async function editSets(database: Knex, edit: Edit & { changes: SetChanges }): Promise<RecordOutcome[]> {
  const { kind, changes } = edit
  return await inSlices(database, edit, async (trx, ids) => {
    const locked = await readLocks(trx, kind, ids)
    const sets = await readSets(trx, kind, ids, Object.keys(changes) as SetName[])
    const done: Done<SetState>[] = []
    for (const id of ids) {
      const before = { id, locks: locked.get(id) ?? refuseMissing(kind, id), sets: sets.get(id) ?? {} }
      done.push({ before, ...applySets(kind, before, changes, 'user') })
      await nextTurn()
    }
    const isLocked = done.filter(({ before, next }) => !isSameLocks(before, next))
    await storeLocks(trx, kind, new Map(isLocked.map(({ next }) => [next.id, next])))
    await storeSets(trx, kind, done)
    const touched = done.filter(({ before, next }) => changedSets(before, next).length > 0)
    await touchRecords(
      trx,
      kind,
      touched.map(({ next }) => next.id),
    )
    return done
  })
}

interface Done<State extends SetState> {
  before: State
  next: State
  outcomes: Outcome[]
}

/** Locks all records, changes a few at a time, and returns the results. */
async function inSlices(
  database: Knex,
  edit: Edit,
  change: (trx: Knex.Transaction, ids: readonly string[]) => Promise<Done<SetState>[]>,
): Promise<RecordOutcome[]> {
  const ids = [...new Set(edit.ids.map((id) => id.toLowerCase()))]
  return await database.transaction(async (trx) => {
    await lockVisible(trx, edit, ids)
    const outcomes: RecordOutcome[] = []
    const told = new Map<string, string[]>()
    for (let start = 0; start < ids.length; start += EDITED_AT_ONCE) {
      for (const { before, next, outcomes: members } of await change(trx, ids.slice(start, start + EDITED_AT_ONCE))) {
        outcomes.push({ id: next.id, outcomes: members })
        const isNewlyLocked = Object.keys(next.sets).length > 0 && !isSameLocks(before, next)
        const names = [...members.filter(isChanged).map(({ field }) => field), ...(isNewlyLocked ? ['locks'] : [])]
        if (names.length > 0) told.set(next.id, names)
      }
    }
    await announceRecords(trx, edit.kind, [...told.keys()], told)
    return outcomes
  })
}

/** Locks the records for the transaction, in one order and all before the first change. @throws not_found */
async function lockVisible(trx: Knex, { kind, listVisible }: Pick<Edit, 'kind' | 'listVisible'>, ids: readonly string[]): Promise<void> {
  const visible = await listVisible(trx, ids)
  for (const id of ids) if (!visible.has(id)) refuseMissing(kind, id)
  await lockRecords(trx, kind, ids)
}

/**
 * Changes the locks of many records, as {@link editRecords}; what is locked is not read.
 * @param edit.change answers the locks that a record has from now on
 */
export async function editLocks(
  database: Knex,
  edit: Edit & { change: (locks: ReadonlySet<string>) => Set<string> },
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
