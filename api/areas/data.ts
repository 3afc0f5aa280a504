import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import type { Settings } from '#core/settings/settings.ts'

/** The database, the settings and the log. */
export interface DataServices {
  settings: Settings
  log: Log
  database: Knex
}
