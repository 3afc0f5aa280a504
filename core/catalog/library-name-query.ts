import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { asUser } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'

export interface LibraryName {
  id: string
  name: string
}

/** Only names, in order: counting what is in the libraries costs as much as a list of books. */
export async function listLibraryNames(database: Knex, caller: Caller, limit: number): Promise<LibraryName[]> {
  return await database('libraries').modify(asUser(caller)).orderByRaw('name COLLATE carrel_natural, id').limit(limit).select('id', 'name')
}

/** @throws not_found */
export async function getLibraryName(database: Knex, caller: Caller, libraryId: string): Promise<LibraryName> {
  const row = await database('libraries').where({ id: libraryId }).modify(asUser(caller)).first('id', 'name')
  return row ?? refuse('not_found', `There is no library ${libraryId}.`)
}
