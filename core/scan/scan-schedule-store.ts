import type { Knex } from 'knex'
import type { ScanningConfig } from '#core/catalog/library.ts'
import type { ScanMode } from '#core/scan/scan-store.ts'

interface DueLibrary {
  id: string
  name: string
  config: ScanningConfig
  /** As text, which keeps the microseconds. */
  dueAt: string
  /** A scan that does the same, or more, has begun since then: on another node, at the start of the server, or by a user. */
  isDone: boolean
}

/** Libraries whose scan is due by their schedule. */
export async function listDueScans(database: Knex): Promise<DueLibrary[]> {
  const { rows } = await database.raw(
    `SELECT l.id, l.name, l.scanning_config AS config, l.next_scan_at::text AS "dueAt", EXISTS (
       SELECT 1 FROM scans s WHERE s.library_id = l.id AND s.started_at >= l.next_scan_at AND s.path IS NULL AND s.status IN ('pending', 'processing', 'completed')
         AND s.mode IN ('deep', l.scanning_config ->> 'scanMode')) AS "isDone"
     FROM libraries l WHERE l.is_active AND l.next_scan_at <= now() ORDER BY l.next_scan_at`,
  )
  return rows
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
