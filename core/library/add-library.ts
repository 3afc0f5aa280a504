import { realpath } from 'node:fs/promises'
import path from 'node:path'
import type { Knex } from 'knex'

/**
 * Makes a folder a library unless it is one. The folder need not be there: its disk may not be mounted yet.
 * @param wanted.name the folder's own name when not given
 */
export async function addLibrary(
  database: Knex,
  wanted: { folder: string; name?: string },
): Promise<{ library: { id: string; name: string; path: string }; created: boolean }> {
  const folder = await realpath(wanted.folder).catch(() => path.resolve(wanted.folder))
  const name = wanted.name ?? (path.basename(folder) || folder)
  const [made] = await database('libraries').insert({ name, path: folder }).onConflict('path').ignore().returning(['id', 'name', 'path'])
  if (made) return { library: made, created: true }
  return { library: await database('libraries').where('path', folder).first('id', 'name', 'path'), created: false }
}
