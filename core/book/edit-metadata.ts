import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/book/metadata.ts'
import { listVisibleBookIds } from '#core/book/metadata-query.ts'
import { refuse } from '#core/errors.ts'
import { applyPatch, type Outcome } from '#core/metadata/apply-patch.ts'
import type { Field, Holding } from '#core/metadata/field.ts'
import { loadHoldings, storeHoldings } from '#core/metadata/holding-store.ts'
import { checkPatchRules } from '#core/metadata/patch-rules.ts'

const fields: readonly Field[] = BOOK_FIELDS

/** What a bulk call did to one book. */
export interface BookOutcome {
  id: string
  outcomes: Outcome[]
}

/**
 * A person's change of one or many books: all of them or, when one is unknown or hidden, none.
 * @throws not_found, invalid_value
 */
export async function patchBooks(
  database: Knex,
  caller: Caller,
  change: { bookIds: readonly string[]; patch: Readonly<Record<string, unknown>> },
): Promise<BookOutcome[]> {
  const patch = checkPatchRules(change.patch)
  return await changeBooks(database, caller, change.bookIds, (holding) => applyPatch(fields, holding, patch, 'user'))
}

/** As a patch in which every member that is absent is null; a list of people stands for the strings beside it. */
export async function replaceBook(
  database: Knex,
  caller: Caller,
  change: { bookId: string; metadata: Readonly<Record<string, unknown>> },
): Promise<void> {
  const { metadata } = change
  const named = fields.filter(({ ofRecordPatch, role }) => !ofRecordPatch && !(role && metadata.authors))
  const patch = { ...Object.fromEntries(named.map(({ name }) => [name, null])), ...metadata }
  await patchBooks(database, caller, { bookIds: [change.bookId], patch })
}

/** @param locks by wire name; what is absent or null stays */
export async function lockBooks(
  database: Knex,
  caller: Caller,
  change: { bookIds: readonly string[]; locks: Readonly<Record<string, boolean | null | undefined>> },
): Promise<BookOutcome[]> {
  return await changeBooks(database, caller, change.bookIds, (holding) => {
    const locks = new Set(holding.locks)
    for (const name of BOOK_LOCKS) {
      const locked = change.locks[bookLockName(name)]
      if (locked === true) locks.add(name)
      else if (locked === false) locks.delete(name)
    }
    return { next: { ...holding, locks }, outcomes: [] }
  })
}

async function changeBooks(
  database: Knex,
  caller: Caller,
  bookIds: readonly string[],
  change: (holding: Holding) => { next: Holding; outcomes: Outcome[] },
): Promise<BookOutcome[]> {
  const ids = [...new Set(bookIds.map((id) => id.toLowerCase()))]
  return await database.transaction(async (trx) => {
    const visible = await listVisibleBookIds(trx, caller, ids)
    const holdings = await loadHoldings(
      trx,
      'book',
      ids.filter((id) => visible.has(id)),
    )
    const missing = ids.find((id) => !holdings.has(id))
    if (missing) refuse('not_found', `There is no book ${missing}, or you may not see it. Nothing was changed.`)
    const done = ids.map((id) => ({ id, ...change(holdings.get(id) as Holding) }))
    await storeHoldings(trx, 'book', new Map(done.map(({ id, next }) => [id, next])))
    return done.map(({ id, outcomes }) => ({ id, outcomes }))
  })
}
