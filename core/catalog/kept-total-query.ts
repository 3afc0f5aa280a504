import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { grantedSeries, NO_USER } from '#core/account/visibility.ts'
import { keptSum } from '#core/catalog/list-state-query.ts'
import { numbersOf } from '#core/catalog/series-numbers-query.ts'

/**
 * Totals of lists without a condition, as expressions for a statement: from numbers that are kept, less those of the series that are hidden from the caller.
 * They cost the same for a library of any size, and are exact in every snapshot.
 */

interface KeptList {
  /** In one text, see core/catalog/list-state-query.ts. */
  grants: string
  libraryId?: string | undefined
}

const STATES = ['pending', 'analyzed', 'failed', 'deleted'] as const
type Viewer = Pick<Caller, 'userId'>

/** How many books the caller sees. @param list.includeDeleted counts those with a missing file too */
export function keptBooks(
  database: Knex,
  caller: Viewer,
  list: KeptList & { includeDeleted: boolean; seriesId?: string | undefined },
): Knex.Raw {
  const { seriesId, includeDeleted } = list
  const number = includeDeleted ? 'n.book_count + n.deleted_count' : 'n.book_count'
  if (seriesId !== undefined) return numbersOfSeries(database, caller, { ...list, seriesId }, number)
  const kinds = STATES.filter((state) => includeDeleted || state !== 'deleted').map((state) => `books_${state}`)
  return keptLess(database, caller, list, { kinds, number })
}

/** How many series with books the caller sees. */
export function keptSeries(database: Knex, caller: Viewer, list: KeptList): Knex.Raw {
  const total = keptLess(database, caller, list, { kinds: ['series_present'], number: '(n.book_count > 0)::int' })
  if (list.grants === NO_USER || list.grants.includes('allow')) return total
  // The number itself is of the last time that series were computed.
  const where = list.libraryId === undefined ? '' : ' AND s.library_id = ?'
  const since = `(SELECT coalesce(sum((n.book_count > 0)::int - coalesce(known.book_count > 0, false)::int), 0)
    FROM (SELECT DISTINCT series_id FROM series_numbers_due) AS due JOIN series s ON s.id = due.series_id${where}
      LEFT JOIN series_numbers known ON known.series_id = s.id CROSS JOIN LATERAL ${numbersOf('s.id')} AS n)`
  return database.raw(`(? + ${since})`, [total, ...(list.libraryId === undefined ? [] : [list.libraryId])])
}

/** The sum over all that the caller sees: of the series that are allowed, or of all less those that are denied. */
function keptLess(
  database: Knex,
  caller: Viewer,
  { grants, libraryId }: KeptList,
  { kinds, number }: { kinds: readonly string[]; number: string },
): Knex.Raw {
  if (grants === NO_USER) return database.raw('0')
  const library = libraryId === undefined ? [] : [libraryId]
  const sumOver = (series: string) =>
    `(SELECT coalesce(sum(${number}), 0) FROM series s LEFT JOIN LATERAL ${numbersOf('s.id')} AS n ON true
      WHERE s.id IN (${series})${libraryId === undefined ? '' : ' AND s.library_id = ?'})`
  if (grants.includes('allow')) {
    const denied = grants.includes('deny') ? ` EXCEPT ${grantedSeries('deny')}` : ''
    const users = grants.includes('deny') ? [caller.userId, caller.userId] : [caller.userId]
    return database.raw(sumOver(`${grantedSeries('allow')}${denied}`), [...users, ...library])
  }
  const all = keptSum(`kind = ANY(CAST(? AS text[]))${libraryId === undefined ? '' : ' AND key = ?'}`)
  const once = [[...kinds], ...library]
  const kept = database.raw(all, [...once, ...once])
  return grants === '' ? kept : database.raw(`(? - ${sumOver(grantedSeries('deny'))})`, [kept, caller.userId, ...library])
}

/** Of one series, if the caller sees it. */
function numbersOfSeries(
  database: Knex,
  caller: Viewer,
  { grants, libraryId, seriesId }: KeptList & { seriesId: string },
  number: string,
): Knex.Raw {
  if (grants === NO_USER) return database.raw('0')
  const conditions = ['s.id = ?', ...(libraryId === undefined ? [] : ['s.library_id = ?'])]
  const bindings = [seriesId, ...(libraryId === undefined ? [] : [libraryId])]
  for (const mode of ['allow', 'deny'] as const) {
    if (!grants.includes(mode)) continue
    conditions.push(`s.id ${mode === 'allow' ? 'IN' : 'NOT IN'} (${grantedSeries(mode)})`)
    bindings.push(caller.userId)
  }
  return database.raw(
    `(SELECT coalesce(sum(${number}), 0) FROM series s LEFT JOIN LATERAL ${numbersOf('s.id')} AS n ON true WHERE ${conditions.join(' AND ')})`,
    bindings,
  )
}
