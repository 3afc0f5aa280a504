import { normalizeText } from '#core/foundation/text.ts'

/** A date as far as a text gives it; the month and the day as written, which may not exist. */
interface WrittenDate {
  year?: number
  month?: string
  day?: string
}

/** Up to it, years stand for "no date": 0, 1 of .NET and Go, and 101 of calibre, each a year earlier when written east of Greenwich. */
const UNDEFINED_YEAR_MAX = 101
/** Longer than any date with its time and the words around it. */
const DATE_LENGTH_MAX = 100

/** 2023, 2023-04 and 2023-04-15, in ISO 8601 with hyphens. */
const SEPARATED = /^(-?\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?(?![\d/])/
/** 20230415 and 202304, with or without a time: the basic form of ISO 8601. */
const BASIC = /^(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?(?=$|[TZ\s+-]|(?<=\d{8})(?:\d{4}|\d{6})(?:$|\D))/i
const DAY_FIRST = /^(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(1[5-9]\d\d|20\d\d)$/
/** Anywhere, perhaps with digits behind it that are no date. */
const ANY_YEAR = /(?<!\d)(1\d{3}|20\d\d)(?!\d)|(?<!\d)(1[5-9]\d\d|20\d\d)\d{2,4}(?!\d)/
/** As in 1/1/0001 12:00:00 AM; behind a plus it is a time zone. */
const ANY_UNDEFINED_YEAR = /(?<![\d+])0(?:0\d\d|10[01])(?!\d)/

/** Whether a program writes the year for "no date". Years before Christ are those of people. */
export const isUndefinedYear = (year: number): boolean => year >= 0 && year <= UNDEFINED_YEAR_MAX

/** Reads ISO 8601, and the dates of PDF (`D:` and the basic form); of any other text only its year. Undefined without one; empty when the text says that there is none. */
export function readDate(text: string): WrittenDate | undefined {
  const written = normalizeText(text.slice(0, DATE_LENGTH_MAX), DATE_LENGTH_MAX, 'NFKC').trim().replace(/^D:/, '')
  const separated = SEPARATED.exec(written)
  const [year, month, day] = separated ? [separated[1], separated[3], separated[4]] : (BASIC.exec(written)?.slice(1) ?? [])
  if (year !== undefined) return isUndefinedYear(Number(year)) ? {} : { year: Number(year), ...(month && { month }), ...(day && { day }) }
  const found = DAY_FIRST.exec(written) ?? ANY_YEAR.exec(written)
  if (found) return { year: Number(found[1] ?? found[2]) }
  return ANY_UNDEFINED_YEAR.test(written) ? {} : undefined
}
