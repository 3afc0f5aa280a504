import type { Knex } from 'knex'
import type { ScanningConfig } from '#core/catalog/library.ts'
import type { ScanMode } from '#core/scan/scan-store.ts'

interface DueLibrary {
  id: string
  name: string
  config: ScanningConfig | null
  /** As text, which keeps the microseconds. */
  dueAt: string
  /** A scan that does the same, or more, has begun since then: on another node, at the start of the server, or by a user. */
  isDone: boolean
}

/** A scan waits no longer for the analyses of new files: a copy that never ends must not stop the schedule of a library. */
const WAIT_HOURS_MAX = 1

/**
 * Libraries whose scan is due, by their schedule or after one that could not decide yet. While new files may be missing books, a further scan would see no
 * more: it waits for their analyses.
 */
export async function listDueScans(database: Knex): Promise<DueLibrary[]> {
  const { rows } = await database.raw(
    `SELECT l.id, l.name, l.scanning_config AS config, l.next_scan_at::text AS "dueAt", EXISTS (
       SELECT 1 FROM scans s WHERE s.library_id = l.id AND s.started_at >= l.next_scan_at AND s.path IS NULL AND s.status IN ('pending', 'processing', 'completed')
         AND s.mode IN ('deep', coalesce(l.scanning_config ->> 'scanMode', 'normal'))) AS "isDone"
     FROM libraries l WHERE l.is_active AND l.next_scan_at <= now() AND (l.next_scan_at <= now() - interval '${WAIT_HOURS_MAX} hour' OR NOT EXISTS (
       SELECT 1 FROM books b WHERE b.library_id = l.id AND b.provisional AND b.state = 'pending' AND b.file_hash IS NULL AND b.deleted_at IS NULL))
     ORDER BY l.next_scan_at`,
  )
  return rows
}

/** Makes a scan of the library due, unless automatic scans are off. */
export async function makeScanDue(database: Knex, libraryId: string): Promise<void> {
  await database('libraries')
    .where('id', libraryId)
    .whereRaw(`coalesce(scanning_config ->> 'enabled', 'true') = 'true'`)
    .update({ next_scan_at: database.raw('least(next_scan_at, now())') })
}

/** Replaces the due time by the next one; false if another node, or a change of the schedule, has done so. */
export async function advanceScan(database: Knex, { id, dueAt }: Pick<DueLibrary, 'id' | 'dueAt'>, next: Date | null): Promise<boolean> {
  return (
    (await database('libraries').where({ id }).whereRaw('next_scan_at = CAST(? AS timestamptz)', [dueAt]).update({ next_scan_at: next })) >
    0
  )
}

/** Libraries that are scanned at each start of the server: those that want it, and those for which nobody has decided anything. */
export async function listStartScans(database: Knex): Promise<{ id: string; mode: ScanMode }[]> {
  const { rows } = await database.raw(
    `SELECT id, coalesce(scanning_config ->> 'scanMode', 'normal') AS mode FROM libraries
     WHERE is_active AND (scanning_config IS NULL OR scanning_config @> '{"enabled": true, "scanOnStart": true}') ORDER BY name, id`,
  )
  return rows
}
