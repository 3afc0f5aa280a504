import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { type CoverFile, coverFileOf, dropCover, keepCover } from '#core/catalog/edit-covers.ts'
import { type CoverRow, listCoverRows, nounOf, selectCover } from '#core/covers/chosen-cover-store.ts'
import type { CoverOwner, DrawCover } from '#core/covers/cover.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { ShelfKind } from '#core/shelves/shelf.ts'
import { findShelf } from '#core/shelves/shelf-query.ts'
import { announceShelf } from '#core/shelves/shelf-store.ts'

interface Dependencies {
  database: Knex
  drawCover: DrawCover
  settings: { dataFolder: string }
}
type ReadDependencies = Omit<Dependencies, 'drawCover'>

/** A collection or a read list. */
export type ShelfOwner = CoverOwner & { kind: ShelfKind }
interface OneCover {
  owner: ShelfOwner
  coverId: string
}

/** @throws not_found if the shelf does not exist, or the caller may not see it */
async function checkShelf(database: Knex, caller: Caller, { kind, id }: ShelfOwner): Promise<void> {
  const found = await findShelf(database, caller, kind, id)
  if (found === null) refuse('not_found', `There is no ${nounOf({ kind, id })} ${id}, or you may not see it.`)
}

/** After the change: a picture is written between two transactions. An event that a stopped server does not send is missed, as after any restart. */
const announceChange = (database: Knex, { kind, id }: ShelfOwner): Promise<void> =>
  database.transaction((trx) => announceShelf(trx, kind, 'updated', { id }))

/** @throws not_found */
export async function listShelfCovers({ database }: ReadDependencies, caller: Caller, owner: ShelfOwner): Promise<CoverRow[]> {
  await checkShelf(database, caller, owner)
  return await listCoverRows(database, owner)
}

/** Stores a picture that a user uploaded and selects it. @throws as the upload of a cover of a book */
export async function uploadShelfCover(
  dependencies: Dependencies,
  caller: Caller,
  cover: { owner: ShelfOwner; bytes: Uint8Array },
): Promise<CoverRow> {
  await checkShelf(dependencies.database, caller, cover.owner)
  const row = await keepCover(dependencies, { ...cover, source: 'custom', giver: 'user' })
  await announceChange(dependencies.database, cover.owner)
  return row
}

/** Selects a cover, or with null that of the first member again. @throws not_found */
export async function chooseShelfCover(
  { database }: ReadDependencies,
  caller: Caller,
  { owner, coverId }: { owner: ShelfOwner; coverId: string | null },
): Promise<void> {
  await checkShelf(database, caller, owner)
  await selectCover(database, owner, coverId)
  await announceChange(database, owner)
}

/** @throws not_found */
export async function deleteShelfCover(dependencies: ReadDependencies, caller: Caller, cover: OneCover): Promise<void> {
  await checkShelf(dependencies.database, caller, cover.owner)
  await dropCover(dependencies, { ...cover, by: 'user' })
  await announceChange(dependencies.database, cover.owner)
}

/** One cover in full size. @throws not_found */
export async function getShelfCoverFile(dependencies: ReadDependencies, caller: Caller, cover: OneCover): Promise<CoverFile> {
  await checkShelf(dependencies.database, caller, cover.owner)
  return await coverFileOf(dependencies, cover)
}
