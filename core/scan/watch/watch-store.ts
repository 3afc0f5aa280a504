import type { Knex } from 'knex'
import { LIVE_NODES } from '#core/cluster/presence-store.ts'

/** A library that wants to be watched. */
export interface WatchableLibrary {
  id: string
  name: string
  path: string
  excludedPatterns: string | null
  allowedFormats: string[] | null
  /** Also on drives that do not report every change. */
  isForced: boolean
  /** Scans may follow its links. */
  hasLinks: boolean
}

export interface WatchState {
  /** Watched folders; null until the watch has begun, and if there is none. */
  folders: number | null
  /** Folders on drives that report no changes. */
  silent: number
  /** Why the library cannot be watched. */
  problem: string | null
}

const MODE = `coalesce(l.scanning_config ->> 'watch', 'auto')`
const IS_WANTED = `l.is_active AND coalesce(l.scanning_config ->> 'enabled', 'true') = 'true' AND ${MODE} IN ('auto', 'on')`

/**
 * Claims the libraries that no living node watches; returns all of this node, by name. `isTakenOver` if a node has died that watched it: it may have lost
 * changes. A node that is not connected has no claims, because others may watch its libraries.
 */
export async function claimWatches(database: Knex, nodeLock: number): Promise<(WatchableLibrary & { isTakenOver: boolean })[]> {
  const { rows } = await database.raw(
    `WITH claimed AS (
       INSERT INTO library_watches AS w (library_id, node_lock) SELECT l.id, CAST(:nodeLock AS bigint) FROM libraries l
       WHERE ${IS_WANTED} AND :nodeLock IN (${LIVE_NODES}) AND NOT EXISTS (SELECT 1 FROM library_watches o WHERE o.library_id = l.id AND o.node_lock IN (${LIVE_NODES}))
       ORDER BY l.id
       ON CONFLICT (library_id) DO UPDATE SET node_lock = excluded.node_lock, folders = NULL, silent = 0, problem = NULL, since = now()
         WHERE w.node_lock NOT IN (${LIVE_NODES})
       RETURNING library_id, node_lock
     )
     SELECT l.id, l.name, l.path, l.excluded_patterns AS "excludedPatterns", l.allowed_formats AS "allowedFormats", ${MODE} = 'on' AS "isForced", cardinality(l.link_targets) > 0 AS "hasLinks",
       w.library_id IS NOT NULL AND c.library_id IS NOT NULL AS "isTakenOver"
     FROM libraries l LEFT JOIN library_watches w ON w.library_id = l.id LEFT JOIN claimed c ON c.library_id = l.id
     WHERE ${IS_WANTED} AND coalesce(c.node_lock, w.node_lock) = :nodeLock ORDER BY l.name, l.id`,
    { nodeLock },
  )
  return rows
}

/** Records how this node watches a library. */
export async function recordWatch(
  database: Knex,
  nodeLock: number,
  { libraryId, ...state }: WatchState & { libraryId: string },
): Promise<void> {
  await database('library_watches')
    .where({ library_id: libraryId, node_lock: nodeLock })
    .update({ ...state, since: database.fn.now() })
}

/** Ends the claims of this node to these libraries. */
export async function releaseWatches(database: Knex, nodeLock: number, libraryIds: readonly string[]): Promise<void> {
  await database('library_watches')
    .where({ node_lock: nodeLock })
    .whereRaw('library_id = ANY(CAST(? AS uuid[]))', [[...libraryIds]])
    .delete()
}

/** How libraries are watched now; without those that no living node watches. @param libraryIds all by default */
export async function listWatches(
  database: Knex,
  libraryIds?: readonly string[],
): Promise<(WatchState & { libraryId: string; name: string; path: string; seconds: number })[]> {
  const { rows } = await database.raw(
    `SELECT w.library_id AS "libraryId", l.name, l.path, w.folders, w.silent, w.problem, extract(epoch FROM now() - w.since)::float8 AS seconds
     FROM library_watches w JOIN libraries l ON l.id = w.library_id
     WHERE w.node_lock IN (${LIVE_NODES}) AND (CAST(:ids AS uuid[]) IS NULL OR l.id = ANY(CAST(:ids AS uuid[]))) ORDER BY l.name`,
    { ids: libraryIds ? [...libraryIds] : null },
  )
  return rows
}

/** Deletes old scans of parts, of which a watched library has thousands. No book refers to them. */
export async function deleteOldPartScans(database: Knex, libraryId: string, days: number): Promise<void> {
  await database('scans')
    .where('library_id', libraryId)
    .whereNotNull('path')
    .whereRaw('completed_at < now() - make_interval(days => ?)', [days])
    .delete()
}
