import { CronExpressionParser } from 'cron-parser'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { instantOf, isTimezone, wallClockOf } from '#core/foundation/time-zone.ts'

/** A schedule as somebody entered it, and how its errors name its two members. */
interface Schedule {
  /** Five fields; null for no schedule. */
  cron: string | null
  timezone: string
  /** JSON pointers. */
  paths: { cron: string; timezone: string }
  /** The shortest interval, and what must keep it, such as "a job". */
  minutesApartMin: number
  of: string
}

/**
 * The next time of a schedule.
 * @returns null without a schedule; a time that a clock change skips is later, and one that occurs twice comes once
 * @throws invalid_value for an invalid schedule
 */
export function nextTime({ cron, timezone, paths, minutesApartMin, of }: Schedule, after: Date): Date | null {
  if (cron === null) return null
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `${path.slice(1)}: ${message}`, { details: [{ path, message }] })
  if (!isTimezone(timezone)) wrong(paths.timezone, `"${timezone.slice(0, 60)}" is not a time zone such as Europe/Berlin.`)
  if (cron.trim().split(/\s+/).length !== 5) wrong(paths.cron, 'a schedule has five fields: minute, hour, day, month and weekday.')
  // The parser would choose another value each time, and come too often.
  if (/\bH\b/i.test(cron)) wrong(paths.cron, 'it is not a schedule: write a number in place of H.')
  try {
    // By the clock on the wall, which UTC never changes: with clocks that change by half an hour, the parser finds no time at all.
    const times = CronExpressionParser.parse(cron, { currentDate: wallClockOf(after, timezone), tz: 'UTC' })
    const { minute, hour } = times.fields
    const isNumber = (value: unknown): value is number => typeof value === 'number'
    if (minutesApart(minute.values.filter(isNumber), hour.values.filter(isNumber)) < minutesApartMin)
      wrong(paths.cron, `${of} may run at most every ${minutesApartMin} minutes.`)
    for (;;) {
      const next = instantOf(times.next().toDate(), timezone)
      // Else it is the second time that the clock shows this.
      if (next > after) return next
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    return wrong(paths.cron, `it is not a schedule: ${(error as Error).message}.`)
  }
}

/** Minutes between neighboring times of a day, independent of the current time, so that a schedule stays valid. */
function minutesApart(minutes: readonly number[], hours: readonly number[]): number {
  const within = minutes.slice(1).map((minute, index) => minute - (minutes[index] as number))
  const isNextToOther = hours.some((hour) => hours.includes((hour + 1) % 24))
  const [first = 0] = minutes
  return Math.min(60, ...within, ...(isNextToOther ? [60 - (minutes.at(-1) ?? 0) + first] : []))
}

/** What a schedule starts. */
interface Starter<T> {
  /** @throws AppError for a schedule that has become invalid since it was entered */
  next(item: T): Date | null
  /** Called first: after a crash in between, the item is due again, so a second start must be harmless. False: it stays due. */
  start(item: T): Promise<boolean>
  /** Replaces the due time; false if another node has done so. */
  advance(item: T, next: Date | null): Promise<boolean>
  fail(item: T, message: string): Promise<void>
}

/** Starts what is due, once each, however many times of it have passed. */
export async function startDue<T>(due: readonly T[], starter: Starter<T>): Promise<void> {
  for (const item of due) {
    let next: Date | null
    try {
      next = starter.next(item)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // Otherwise it would stay due forever and block all items after it.
      if (await starter.advance(item, null)) await starter.fail(item, error.message)
      continue
    }
    if (await starter.start(item)) await starter.advance(item, next)
  }
}
