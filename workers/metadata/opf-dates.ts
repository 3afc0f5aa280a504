import { lineOf, monthAndDay, type Remarks } from './metadata-values.ts'
import { readDate } from './written-date.ts'
import type { XmlElement } from './xml.ts'

/**
 * The publication date of a package document: the date marked as such, else the first date that is not marked as something else.
 * `originalYear` is the year of the first edition, where the file separates the two.
 */
export function datesOf(
  entries: readonly { element: XmlElement; text: string }[],
  issued: string | undefined,
  remarks: Remarks,
): { year?: number; month?: number; day?: number; originalYear?: number } {
  const dates = entries.map(({ element, text }) => ({ event: element.attributes.get('event')?.trim().toLowerCase(), text }))
  const published =
    dates.find(({ event }) => event !== undefined && /^((ops|epub)-)?publication$/.test(event)) ??
    dates.find(({ event }) => event === undefined || event === 'issued') ??
    dates.find(({ event }) => event === 'creation') ??
    (issued === undefined ? undefined : { text: issued })
  const original = dates.find(({ event }) => event === 'original-publication')
  const originalYear = original && readDate(original.text)?.year
  const date = published && readDate(published.text)
  if (published && date === undefined) remarks.add('dc:date', lineOf(published.text) ?? '', 'is not a date')
  if (!date?.year) return originalYear ? { originalYear } : {}
  return {
    year: date.year,
    ...monthAndDay({ year: date.year, month: date.month, day: date.day }, remarks),
    ...(originalYear ? { originalYear } : {}),
  }
}
