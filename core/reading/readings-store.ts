import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type Dated, withIsoTimes } from '#core/foundation/instant.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'
import type { DayOfReading } from '#core/reading/readings.ts'

type DayRow = Dated<DayOfReading, 'lastAt' | 'begunAt' | 'finishedAt'>

/** What readings to list or delete. Days are those of `timeZone`. */
interface ReadingFilter {
  timeZone: string
  from?: string | undefined
  to?: string | undefined
  bookId?: string | undefined
}

/** One page of what the caller has read by day, the latest day first; without books that the caller may not see. @throws invalid_value for a day that does not exist */
export async function listDaysOfReading(
  database: Knex,
  caller: Caller,
  { offset, limit, ...list }: ReadingFilter & { offset: number; limit: number },
): Promise<{ items: DayOfReading[]; total: number }> {
  const filter = { ...list, timeZone: zoneOf(list.timeZone) }
  const days = database('reading_sittings AS s')
    .join('readings AS r', 'r.id', 's.reading_id')
    .join('books', 'books.id', 'r.book_id')
    .where('s.user_id', caller.userId)
    .modify(within(database, 's.begun_at', filter))
    .modify(visibleTo(caller, 'books.series_id'))
    .groupByRaw('1, r.id, books.id')
    .select(
      database.raw(
        `to_char(s.begun_at AT TIME ZONE ?, 'YYYY-MM-DD') AS day, r.id AS "readingId", r.book_id AS "bookId", min(s.first_page) AS "firstPage",
         max(s.last_page) AS "lastPage", books.page_count AS "pageCount", sum(extract(epoch FROM s.ended_at - s.begun_at))::int AS seconds,
         max(s.ended_at) AS "lastAt", (array_agg(s.app ORDER BY s.ended_at DESC))[1] AS app, r.begun_at AS "begunAt", r.finished_at AS "finishedAt"`,
        [filter.timeZone],
      ),
    )
  const [rows, counted] = await Promise.all([
    database.from(days.clone().as('d')).orderByRaw('day DESC, "lastAt" DESC, "readingId"').offset(offset).limit(limit) as Promise<DayRow[]>,
    database.from(days.clone().as('d')).count({ total: '*' }).first(),
  ]).catch(refuseUnknownZone)
  return { items: rows.map(withIsoTimes), total: Number(counted?.['total']) }
}

/** In PostgreSQL the sign of an offset is that of POSIX: west of Greenwich is positive. */
const zoneOf = (timeZone: string): string => timeZone.replace(/^[+-]/, (sign) => (sign === '+' ? '-' : '+'))

/** Browsers and this program know old names of zones that the database may lack (SQLSTATE 22023). */
function refuseUnknownZone(error: unknown): never {
  if ((error as { code?: string }).code === '22023')
    refuseMember('/timeZone', 'is not known to the database; send an offset such as +05:30')
  throw error
}

function within(database: Knex, column: string, { timeZone, from, to, bookId }: ReadingFilter) {
  const day = (name: string, text: string) => {
    if (Number.isNaN(Date.parse(text)) || new Date(text).toISOString().slice(0, 10) !== text || text < '0001')
      refuseMember(`/${name}`, 'is no day of the calendar')
    return text
  }
  return (query: Knex.QueryBuilder): void => {
    const start = 'CAST(CAST(? AS date) AS timestamp) AT TIME ZONE ?'
    if (from !== undefined) query.where(column, '>=', database.raw(start, [day('from', from), timeZone]))
    if (to !== undefined)
      query.where(column, '<', database.raw(`CAST(CAST(? AS date) + 1 AS timestamp) AT TIME ZONE ?`, [day('to', to), timeZone]))
    if (bookId !== undefined) query.where('r.book_id', bookId)
  }
}

/** Conditions of "the caller may see the book of this reading". */
const ofVisibleBook = (database: Knex, caller: Caller): Knex.QueryBuilder =>
  database('books').whereRaw('books.id = r.book_id').modify(visibleTo(caller, 'books.series_id')).select(database.raw('1'))

/**
 * Deletes readings of the caller that began in these days; positions stay. A user's own history goes as a whole, also that of books that are hidden from
 * them now; an API key deletes only what it sees. Returns how many of those that the caller could see. @throws invalid_value as above
 */
export async function deleteReadings(database: Knex, caller: Caller, filter: ReadingFilter): Promise<number> {
  const readings = database('readings AS r')
    .where('r.user_id', caller.userId)
    .modify(within(database, 'r.begun_at', { ...filter, timeZone: zoneOf(filter.timeZone) }))
  if (caller.narrowedBy !== null) readings.whereExists(ofVisibleBook(database, caller))
  const deleted = await readings
    .delete()
    .returning(database.raw('EXISTS (?) AS seen', [ofVisibleBook(database, caller)]))
    .catch(refuseUnknownZone)
  return deleted.filter(({ seen }: { seen: boolean }) => seen).length
}

/** Deletes one reading of the caller. @throws not_found, also for one of a hidden book */
export async function deleteReading(database: Knex, caller: Caller, id: string): Promise<void> {
  const reading = database('readings AS r').where({ 'r.id': id, 'r.user_id': caller.userId })
  const count = await reading.whereExists(ofVisibleBook(database, caller)).delete()
  if (count === 0) refuse('not_found', `You have no reading ${id}.`)
}
