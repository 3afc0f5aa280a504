import { historyTexts } from '#texts/history.ts'

const LANGUAGE = 'en'
const thisYear = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long', day: 'numeric', month: 'long' })
const otherYear = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

interface Day<T> {
  /** Such as 2026-01-31. */
  day: string
  readings: T[]
}

/** What was read, in its order, below its days. */
export function daysOf<T extends { day: string }>(readings: readonly T[]): Day<T>[] {
  const days: Day<T>[] = []
  for (const reading of readings) {
    const last = days.at(-1)
    if (last?.day === reading.day) last.readings.push(reading)
    else days.push({ day: reading.day, readings: [reading] })
  }
  return days
}

/** "Today", "Yesterday", "Saturday, November 28", with the year when it is another one. */
export function calendarDayWords(day: string, now: Date): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  const at = new Date(year, month - 1, date)
  // Days of a change of the clock have 23 or 25 hours.
  const ago = Math.round((new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime() - at.getTime()) / 86_400_000)
  if (ago === 0) return historyTexts.today()
  if (ago === 1) return historyTexts.yesterday()
  return (year === now.getFullYear() ? thisYear : otherYear).format(at)
}
