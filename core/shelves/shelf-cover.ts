import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { coversBy } from '#core/catalog/edit-covers.ts'
import { nounOf } from '#core/covers/chosen-cover-store.ts'
import type { CoverOwner } from '#core/covers/cover.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { ShelfKind } from '#core/shelves/shelf.ts'
import { findShelf } from '#core/shelves/shelf-query.ts'
import { announceShelf } from '#core/shelves/shelf-store.ts'

/** A collection or a read list. */
export type ShelfOwner = CoverOwner & { kind: ShelfKind }

/** @throws not_found if the shelf does not exist, or the caller may not see it */
async function checkShelf(database: Knex, caller: Caller, { kind, id }: ShelfOwner): Promise<void> {
  const found = await findShelf(database, caller, kind, id)
  if (found === null) refuse('not_found', `There is no ${nounOf({ kind, id })} ${id}, or you may not see it.`)
}

/** After the change: a picture is written between two transactions. An event that a stopped server does not send is missed, as after any restart. */
const announceChange = (database: Knex, { kind, id }: ShelfOwner): Promise<void> =>
  database.transaction((trx) => announceShelf(trx, kind, 'updated', { id }))

/** The covers of collections and read lists. */
export const shelfCovers = coversBy<ShelfOwner>({ check: checkShelf, announce: announceChange })
