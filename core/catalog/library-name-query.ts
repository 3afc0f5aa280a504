import type { Knex } from 'knex'
import { type Viewer, visibleLibrary } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'

export interface LibraryName {
  id: string
  name: string
}

/** Only names of those that the caller may see, in order: counting what is in the libraries costs as much as a list of books. */
export async function listLibraryNames(database: Knex, caller: Viewer, limit: number): Promise<LibraryName[]> {
  return await database('libraries')
    .modify(visibleLibrary(caller, 'libraries.id'))
    .orderByRaw('name COLLATE carrel_natural, id')
    .limit(limit)
    .select('id', 'name')
}

/** @throws not_found for an unknown library, or one that the caller may not see: an empty list would hide the error */
export async function getLibraryName(database: Knex, caller: Viewer, libraryId: string): Promise<LibraryName> {
  const row = await database('libraries').where({ id: libraryId }).modify(visibleLibrary(caller, 'libraries.id')).first('id', 'name')
  return row ?? refuse('not_found', `There is no library ${libraryId}.`)
}

/** Those of the ids that belong to libraries which the caller may see, in the spelling of the database. */
export async function listVisibleLibraryIds(database: Knex, caller: Viewer, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('libraries')
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleLibrary(caller, 'libraries.id'))
    .pluck('id')
  return new Set(rows)
}
