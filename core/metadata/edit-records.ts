import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { announceRecords } from '#core/events/event-store.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { applySets, changedSets, isSameLocks, type MetadataState, type SetChanges, type SetState } from '#core/metadata/apply-change.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import { checkExpectedVersion } from '#core/metadata/expected-version-query.ts'
import { lockRecords, readLocks, storeLocks, touchRecords } from '#core/metadata/metadata-record-store.ts'
import type { SetName } from '#core/metadata/metadata-set.ts'
import { readSets, storeSets } from '#core/metadata/metadata-set-store.ts'
import { readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { listVisibleIds } from '#core/metadata/visible-records-query.ts'

/** The result of a call for one record. */
export interface RecordOutcome {
  id: string
  outcomes: Outcome[]
}

/** Records per step: each may have a quarter of a megabyte, so five hundred at once would need a hundred megabytes. */
const EDITED_AT_ONCE = 20

export const isChanged = ({ result }: Outcome): boolean => result === 'set' || result === 'cleared'

/** The records of a change; only those that the caller may see count. */
interface Edit {
  caller: Caller
  kind: Kind
  ids: readonly string[]
}

/**
 * Changes the metadata of many records in one transaction: of all of them or, if one is unknown or hidden, of none.
 * @param edit.sets the sets to read for the change
 * @throws not_found with the first missing id
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
      // A single record may have five hundred people to compare.
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

const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))]

/**
 * Locks all records, changes a few at a time, and returns the results. In the order of ids: each statement locks the search documents of its records, and a
 * change of a series those of all its books in this order.
 */
async function inSlices(
  database: Knex,
  edit: Edit,
  change: (trx: Knex.Transaction, ids: readonly string[]) => Promise<Done<SetState>[]>,
): Promise<RecordOutcome[]> {
  const given = distinct(edit.ids)
  const ids = given.toSorted()
  return await database.transaction(async (trx) => {
    await lockVisible(trx, edit, given)
    const outcomes = new Map<string, RecordOutcome>()
    const changedNames = new Map<string, string[]>()
    for (let start = 0; start < ids.length; start += EDITED_AT_ONCE) {
      for (const { before, next, outcomes: members } of await change(trx, ids.slice(start, start + EDITED_AT_ONCE))) {
        outcomes.set(next.id, { id: next.id, outcomes: members })
        const isNewlyLocked = Object.keys(next.sets).length > 0 && !isSameLocks(before, next)
        const names = [...members.filter(isChanged).map(({ field }) => field), ...(isNewlyLocked ? ['locks'] : [])]
        if (names.length > 0) changedNames.set(next.id, names)
      }
    }
    await announceRecords(trx, edit.kind, [...changedNames.keys()], changedNames)
    return given.map((id) => outcomes.get(id) ?? refuseMissing(edit.kind, id))
  })
}

/** Locks the records for the transaction, all before the first change and always in the same order. @throws not_found */
async function lockVisible(trx: Knex, { caller, kind }: Edit, ids: readonly string[]): Promise<void> {
  const visible = await listVisibleIds(trx, caller, kind, ids)
  for (const id of ids) if (!visible.has(id)) refuseMissing(kind, id)
  await lockRecords(trx, kind, ids)
  await checkExpectedVersion(trx, kind, ids)
}

/**
 * Changes the locks of many records, like {@link editRecords}; does not read the locked values.
 * @param edit.change returns the new locks of a record
 */
export async function editLocks(
  database: Knex,
  edit: Edit & { change: (locks: ReadonlySet<string>) => Set<string> },
): Promise<RecordOutcome[]> {
  const given = distinct(edit.ids)
  const ids = given.toSorted()
  return await database.transaction(async (trx) => {
    await lockVisible(trx, edit, given)
    const locked = await readLocks(trx, edit.kind, ids)
    const done = ids.map((id) => {
      const before = locked.get(id) ?? refuseMissing(edit.kind, id)
      return { id, before, locks: edit.change(before) }
    })
    const changed = done.filter(({ before, locks }) => !isSameLocks({ locks: before }, { locks }))
    await storeLocks(trx, edit.kind, new Map(changed.map(({ id, locks }) => [id, { locks }])))
    await announceRecords(
      trx,
      edit.kind,
      changed.map(({ id }) => id),
      ['locks'],
    )
    return given.map((id) => ({ id, outcomes: [] }))
  })
}

const refuseMissing = (kind: Kind, id: string): never =>
  refuse('not_found', `There is no ${kind} ${id}, or you may not see it. Nothing was changed.`)
