/** RFC 3339, and ISO 8601 for clients that use it: an offset without its colon. */
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?(?:[Zz]|([+-])(\d\d):?(\d\d))$/

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Years that every date library can write and PostgreSQL can store: from 1 to 9999, in UTC. */
const MIN = Date.parse('0001-01-01T00:00:00Z')
const MAX = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * A point in time as a client wrote it, in milliseconds; null when it is not valid. PostgreSQL never gets the text: it accepts fewer offsets than the
 * standards allow, and other years. A leap second becomes the first second of the next day, as on computer clocks.
 */
export function readInstant(text: string): Date | null {
  const match = INSTANT.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, number, number, number, number, number]
  const [fraction = '', sign = '+', offsetHour = '00', offsetMinute = '00'] = match.slice(7)
  const date = new Date(0)
  // Date.UTC takes years below 100 as years of the twentieth century.
  date.setUTCFullYear(year, month - 1, day)
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!isDay || hour > 23 || minute > 59 || second > 60 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute)) * MINUTE_MS
  const wholeMs = date.getTime() + (hour * 60 + minute) * MINUTE_MS + second * 1000 - offsetMs
  // Leap seconds are inserted at the end of a day, in UTC.
  if (second === 60 && wholeMs % DAY_MS !== 0) return null
  const at = wholeMs + Math.floor(Number(`0${fraction}`) * 1000)
  return at >= MIN && at <= MAX ? new Date(at) : null
}

/** A time that PostgreSQL has cast to text, in ISO 8601 with milliseconds. A list has hundreds of them, and a Date takes thirty times as long. */
export function isoInstant(text: string): string {
  // Sessions have UTC unless the server of the database sets another zone; years have more digits after 9999.
  if (!text.endsWith('+00') || text[10] !== ' ') return new Date(text).toISOString()
  const milliseconds = text.slice(20, -3).padEnd(3, '0').slice(0, 3)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`
}

/** A record whose times are still those of the database driver. */
export type Dated<Whole, Times extends keyof Whole> = Omit<Whole, Times> & { [Name in Times]: Date | Extract<Whole[Name], null> }

type Iso<Row> = { [Name in keyof Row]: Exclude<Row[Name], Date> | (Extract<Row[Name], Date> extends never ? never : string) }

/** A row with its times in ISO 8601, its members in the same order. */
export const withIsoTimes = <Row extends object>(row: Row): Iso<Row> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value])) as Iso<Row>
