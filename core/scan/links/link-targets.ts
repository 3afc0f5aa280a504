import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import type { Knex } from 'knex'
import { isAdministrator } from '#core/account/caller.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { findFolderProblem, realLibraryPath } from '#core/catalog/library-folder.ts'
import { type LibraryRow, listLibraryPaths } from '#core/catalog/library-store.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'
import { askDiskOf, isSilence } from '#core/foundation/mounts.ts'
import { isInTargets } from '#core/foundation/open-inside.ts'
import { type FolderSettings, mayBrowse } from '#core/scan/browse-folders.ts'
import type { FollowedLink } from '#core/scan/links/link-follower.ts'
import { listFollowedLinks } from '#core/scan/links/link-store.ts'
import { FinalFailure } from '#core/tasks/task.ts'

interface Wanted {
  given: readonly string[]
  /** The folder of the library. */
  libraryPath: string
  /** Null for a new library. */
  libraryId: string | null
  /** Null for the operator at the command line. */
  by: (Viewer & { permissions: ReadonlySet<string> }) | null
}

/**
 * Checks the folders that links of a library may lead to; returns them as paths without links.
 * @throws forbidden for callers who are not administrators; invalid_value, with the path of the value, for a folder that is not inside `filesystem.roots`,
 *   or is, contains or is inside the library, the data folder or a system folder; conflict for one that shares files with another library
 */
export async function checkLinkTargets(
  dependencies: { database: Knex; settings: FolderSettings },
  { given, libraryPath, libraryId, by }: Wanted,
): Promise<string[]> {
  const { database, settings } = dependencies
  if (by !== null && !isAdministrator(by))
    refuse('forbidden', 'Only administrators choose where links may lead: everyone who reads the library reads the files there.')
  const root = await realLibraryPath(libraryPath)
  const others = (await listLibraryPaths(database)).filter(({ id }) => id !== libraryId?.toLowerCase())
  const targets: string[] = []
  for (const [index, folder] of given.entries()) {
    const place = `/linkTargets/${index}`
    const target = await readTarget(folder, place)
    if (!(await mayBrowse(dependencies, by, target)))
      refuseValue(place, `"${folder}" is outside of the folders that may be browsed (the setting filesystem.roots).`)
    if (overlap(target, root)) refuseValue(place, `"${folder}" is, contains or is inside the folder of the library itself.`)
    const problem = await askDiskOf(target, () => findFolderProblem(target, settings.dataFolder))
    if (problem) refuseValue(place, problem)
    for (const other of others) {
      if (overlap(target, await realLibraryPath(other.path)))
        refuse('conflict', `Links cannot lead to "${folder}", because it shares files with the library "${other.name}".`)
    }
    targets.push(target)
  }
  return [...new Set(targets)]
}

const overlap = (one: string, other: string) => isInTargets(one, [other]) || isInTargets(other, [one])

async function readTarget(folder: string, place: string): Promise<string> {
  if (!isAbsolute(folder)) refuseValue(place, `"${folder}" is not an absolute path: it must begin with "/".`)
  const looking = askDiskOf(resolve(folder), async () => {
    const target = await realpath(folder)
    return { target, isFolder: (await stat(target)).isDirectory() }
  })
  const { target, isFolder } = await looking.catch((cause) =>
    isSilence(cause)
      ? refuse('unavailable', cause.message, { cause })
      : refuseValue(place, `"${folder}" does not exist, or the server may not enter it.`),
  )
  return isFolder ? target : refuseValue(place, `"${folder}" is not a folder.`)
}

/**
 * What a walk needs to follow the links of a library; undefined when it follows none.
 * @throws FinalFailure when one of the targets must no longer be one; a target that does not exist now may be on a missing disk
 */
export async function linksOf(
  { database, dataFolder }: { database: Knex; dataFolder: string },
  { id, link_targets: targets }: LibraryRow,
): Promise<{ targets: string[]; known: FollowedLink[] } | undefined> {
  if (targets.length === 0) return undefined
  for (const target of targets) {
    const problem = await askDiskOf(target, () => findFolderProblem(target, dataFolder)).catch(() => null)
    if (problem) throw new FinalFailure(`Links of the library may lead to "${target}". ${problem} Nothing was changed.`)
  }
  return { targets, known: await listFollowedLinks(database, id) }
}
