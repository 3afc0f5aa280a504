import path from 'node:path'
import type { Knex } from 'knex'
import type { UpdateLibraryRequest } from '#core/catalog/library.ts'
import { realLibraryPath } from '#core/catalog/library-folder.ts'
import { listLibraryPaths } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { FolderSettings } from '#core/scan/browse-folders.ts'
import { createLibrary } from '#core/scan/edit-library.ts'
import type { Scans } from '#core/scan/scans.ts'

/** Longest name that a library may have. */
const NAME_LENGTH_MAX = 200

/**
 * Adds a folder as a library unless it is one already, also under another path to the same folder; the disk of an existing library may be missing.
 * @param wanted.name the folder's own name by default
 * @param wanted.layout settings besides the name and the folder
 * @throws invalid_value, conflict like createLibrary
 */
export async function addLibrary(
  dependencies: { database: Knex; scans: Scans; rules: Rules; settings: FolderSettings },
  wanted: { folder: string; name?: string; layout?: UpdateLibraryRequest },
): Promise<{ library: { id: string; name: string; path: string }; created: boolean }> {
  const folder = path.resolve(wanted.folder)
  const real = await realLibraryPath(folder)
  for (const library of await listLibraryPaths(dependencies.database)) {
    const there = library.path === folder ? real : await realLibraryPath(library.path)
    if (there === real) return { library, created: false }
  }
  const name = wanted.name ?? path.basename(folder).slice(0, NAME_LENGTH_MAX)
  const id = await createLibrary(dependencies, { ...wanted.layout, name, path: folder })
  return { library: { id, name: name.trim(), path: folder }, created: true }
}
