import type { DayReading } from '#api/readings.ts'
import { historyTexts } from '#texts/history.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent' })
/** Below a minute nothing is said: it was a look. */
const MINUTE = 60

/** "12 min", "1 h 5 min", or '' for less than a minute. */
export function durationWords(seconds: number): string {
  const minutes = Math.round(seconds / MINUTE)
  if (seconds < MINUTE) return ''
  if (minutes < 60) return historyTexts.minutes({ minutes })
  return historyTexts.hours({ hours: Math.floor(minutes / 60), minutes: minutes % 60 })
}

/** How far a book was read on a day. Text has no pages that a person knows, so the share is said. */
export function placeReadWords({ firstPage, lastPage, pageCount }: DayReading, isText: boolean): string {
  if (isText) return pageCount > 0 ? historyTexts.percent({ percent: percents.format(Math.min(1, lastPage / pageCount)) }) : ''
  const total = Math.max(pageCount, lastPage)
  return firstPage === lastPage
    ? historyTexts.page({ page: firstPage, total })
    : historyTexts.pageRange({ first: firstPage, last: lastPage, total })
}
