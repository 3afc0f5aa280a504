/** When a library is scanned by itself: usual schedules by name, and any other as cron says it. */
export const SCHEDULES = {
  never: null,
  hourly: '0 * * * *',
  daily: '0 4 * * *',
  weekly: '0 4 * * 0',
} as const

export interface Schedule {
  /** Five fields: minute, hour, day, month, weekday; null for none. */
  cron: string | null
  /** Of the IANA database, such as Europe/Berlin; null for that of the server. */
  timeZone: string | null
}

export type ScheduleChoice = keyof typeof SCHEDULES | 'own'

/** Which choice a stored schedule is. */
export function choiceOf(cron: string | null): ScheduleChoice {
  const said = cron?.trim().replaceAll(/\s+/g, ' ') || null
  const known = Object.entries(SCHEDULES).find(([, each]) => each === said)
  return (known?.[0] as ScheduleChoice | undefined) ?? 'own'
}
