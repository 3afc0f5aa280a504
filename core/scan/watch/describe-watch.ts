import type { Knex } from 'knex'
import { listWatches, type WatchState } from '#core/scan/watch/watch-store.ts'

/** Twenty thousand folders take a second; a sleeping disk some more. */
const STARTING_SECONDS_MAX = 60

/** What people should know about the watch of a library; null if nothing. */
export function describeWatchProblem({ folders, silent, problem, seconds }: WatchState & { seconds: number }): string | null {
  const instead = 'New files there are found by scans and their schedule only.'
  if (problem !== null) return `The library is not watched. ${problem} ${instead}`
  if (silent > 0)
    return `${silent === 1 ? '1 folder is' : `${silent} folders are`} not watched, because their drives do not report changes. ${instead}`
  if (folders === null && seconds > STARTING_SECONDS_MAX)
    return `The library is not watched yet, because its disk does not answer. ${instead}`
  return null
}

/** Whether the changes of a library are noticed, and what people should know about that; null if no server watches it. */
export async function findWatch(database: Knex, libraryId: string): Promise<{ isWatching: boolean; problem: string | null } | null> {
  const [found] = await listWatches(database, [libraryId])
  return found ? { isWatching: found.folders !== null, problem: describeWatchProblem(found) } : null
}
