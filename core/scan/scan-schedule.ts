import type { Knex } from 'knex'
import { POLL_MINUTES, type ScanningConfig } from '#core/catalog/library.ts'
import { AppError, refuseValue } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { nextTime, startDue } from '#core/foundation/schedule.ts'
import { advanceScan, listDueScans, listStartScans } from '#core/scan/scan-schedule-store.ts'
import type { ScanMode } from '#core/scan/scan-store.ts'

/** A rescan of a large library on a slow disk takes minutes; more frequent ones would never let the disk rest. */
const MINUTES_APART_MIN = 5
const PATHS = { cron: '/scanningConfig/cronSchedule', timezone: '/scanningConfig/cronTimezone' }

/**
 * The next scan by the schedule of a library, or by the interval if it is polled; null without a schedule, or if automatic scans are off.
 * @throws invalid_value for an invalid schedule, also while automatic scans are off
 */
export function nextScan(config: ScanningConfig | null | undefined, after: Date = new Date()): Date | null {
  const { cronSchedule: cron = null, cronTimezone, watch, pollMinutes } = config ?? {}
  const next = nextTime({ cron, timezone: cronTimezone ?? 'UTC', paths: PATHS, minutesApartMin: MINUTES_APART_MIN, of: 'a scan' }, after)
  if (pollMinutes && watch !== 'poll') refuseValue('/scanningConfig/pollMinutes', 'pollMinutes is for "watch": "poll" only.')
  if (!config?.enabled) return null
  const poll = watch === 'poll' ? new Date(after.getTime() + (pollMinutes ?? POLL_MINUTES) * 60_000) : null
  return next && poll ? new Date(Math.min(next.getTime(), poll.getTime())) : (next ?? poll)
}

/** Why the stored schedule of a library never runs; null if it does, or there is none. */
export function describeScheduleProblem(config: object | null): string | null {
  try {
    nextScan(config as ScanningConfig | null)
    return null
  } catch (error) {
    if (error instanceof AppError) return `The schedule of scans is ignored. ${error.message}`
    throw error
  }
}

interface Dependencies {
  database: Knex
  log: Log
  /** Starts a scan; false while another one of the library waits or runs. */
  start: (libraryId: string, mode: ScanMode) => Promise<boolean>
}

/** Starts the scans that are due. Several nodes may do so at the same time. */
export async function startDueScans({ database, log, start }: Dependencies): Promise<void> {
  await startDue(await listDueScans(database), {
    next: ({ config }) => nextScan(config),
    start: async ({ id, name, config, isDone }) => {
      if (isDone) return true
      const started = await start(id, config?.scanMode ?? 'normal')
      if (started) log.info({ libraryId: id }, `The scan of "${name}" was due, and was started`)
      return started
    },
    advance: (library, next) => advanceScan(database, library, next),
    fail: async ({ id, name }, message) => log.warn({ libraryId: id }, `The schedule of "${name}" is ignored. ${message}`),
  })
}

/** Starts the scans that libraries want at each start of the server. */
export async function startScansOnStart({ database, start }: Dependencies): Promise<void> {
  for (const { id, mode } of await listStartScans(database)) await start(id, mode)
}
