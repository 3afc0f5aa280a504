import type { Knex } from 'knex'

/** Schedules of scans, and why books are missing. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The next scan by the schedule. Schedules that were stored before this version are due at once; then their next time is computed.
    ALTER TABLE libraries ADD COLUMN next_scan_at timestamptz;
    UPDATE libraries SET next_scan_at = now() WHERE scanning_config ->> 'enabled' = 'true' AND scanning_config ->> 'cronSchedule' IS NOT NULL;
    CREATE INDEX libraries_next_scan ON libraries (next_scan_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE libraries DROP COLUMN next_scan_at')
}
