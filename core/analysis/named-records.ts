import type { Knex } from 'knex'
import type { Viewer } from '#core/account/visibility.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { findLibraryRow } from '#core/catalog/library-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { listVisibleIds } from '#core/metadata/visible-records-query.ts'

/** Checks the ids in a request for tasks: if one is unknown or hidden, no task is added. */

/** The ids in the spelling of the database, sorted and without duplicates. @throws not_found if one is unknown or hidden */
export async function getVisible(
  database: Knex,
  caller: Viewer,
  { kind, ids }: { kind: 'book' | 'series'; ids: readonly string[] },
): Promise<string[]> {
  const given = [...new Set(ids.map((id) => id.toLowerCase()))].sort()
  const visible = await listVisibleIds(database, caller, kind, given)
  const missing = given.find((id) => !visible.has(id))
  if (missing) refuse('not_found', `There is no ${kind} ${missing}, or you may not see it. Nothing was queued.`)
  return given
}

/** @param by the caller; null for the server itself @throws not_found also for a library that the caller may not see */
export async function getLibraryRow(database: Knex, by: Viewer | null, libraryId: string) {
  if (by !== null) await getLibraryName(database, by, libraryId)
  return (await findLibraryRow(database, libraryId)) ?? refuse('not_found', `There is no library ${libraryId}.`)
}
