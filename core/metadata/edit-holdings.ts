import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import type { Holding } from '#core/metadata/field.ts'
import { type Kind, loadHoldings, storeHoldings, storeLocks } from '#core/metadata/holding-store.ts'

/** What a call did to one record. */
export interface RecordOutcome {
  id: string
  outcomes: Outcome[]
}

/**
 * Changes the metadata of many records in one transaction: all of them or, when one is unknown or hidden, none.
 * @param edit.listVisible those of the ids that the caller may see
 * @throws not_found with the first that is missing
 */
export async function editHoldings(
  database: Knex,
  edit: {
    kind: Kind
    ids: readonly string[]
    listVisible: (trx: Knex, ids: readonly string[]) => Promise<Set<string>>
    change: (holding: Holding) => { next: Holding; outcomes: Outcome[] }
  },
): Promise<RecordOutcome[]> {
  const ids = [...new Set(edit.ids.map((id) => id.toLowerCase()))]
  return await database.transaction(async (trx) => {
    const visible = await edit.listVisible(trx, ids)
    const seen = ids.filter((id) => visible.has(id))
    const holdings = await loadHoldings(trx, edit.kind, seen)
    const done = ids.map((id) => {
      const holding = holdings.get(id) ?? refuse('not_found', `There is no ${edit.kind} ${id}, or you may not see it. Nothing was changed.`)
      return { id, ...edit.change(holding) }
    })
    // What is as it was keeps its time of change.
    const changed = done.filter(({ id, next }) => !isSameHolding(holdings.get(id) as Holding, next))
    const { locks = [], all = [] } = Object.groupBy(changed, ({ id, next }) => {
      const { values, sources } = holdings.get(id) as Holding
      return isDeepStrictEqual([values, sources], [next.values, next.sources]) ? 'locks' : 'all'
    })
    await storeLocks(trx, edit.kind, new Map(locks.map(({ id, next }) => [id, next])))
    await storeHoldings(trx, edit.kind, new Map(all.map(({ id, next }) => [id, next])))
    return done.map(({ id, outcomes }) => ({ id, outcomes }))
  })
}

export function isSameHolding(one: Holding, other: Holding): boolean {
  return isDeepStrictEqual([one.values, one.sources, one.locks], [other.values, other.sources, other.locks])
}

/** Sets and unsets locks. @param locks by the names that `lockName` gives; what is absent or null stays */
export function applyLocks(
  holding: Holding,
  names: readonly string[],
  lockName: (name: string) => string,
  locks: Readonly<Record<string, boolean | null | undefined>>,
): { next: Holding; outcomes: Outcome[] } {
  const kept = new Set(holding.locks)
  for (const name of names) {
    const locked = locks[lockName(name)]
    if (locked === true) kept.add(name)
    else if (locked === false) kept.delete(name)
  }
  return { next: { ...holding, locks: kept }, outcomes: [] }
}
