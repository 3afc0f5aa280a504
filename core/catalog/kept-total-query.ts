import type { Knex } from 'knex'
import { readSight, type Sight, type Viewer } from '#core/account/visibility.ts'
import { keptSum, readListState } from '#core/catalog/list-state-query.ts'
import { COMPUTED, numbersOf } from '#core/catalog/series-numbers-query.ts'

/**
 * Totals of lists without a condition, as expressions for a statement: from numbers that are kept by library, and for callers from whom ages or tags are
 * hidden by library, age and tags. They cost the same for a library of any size, and are exact in every snapshot.
 */

interface KeptList {
  sight: Sight
  libraryId?: string | undefined
}

/** What is counted. */
interface Kept {
  /** The kinds of the numbers of all, by library; see migrations/baseline/numbers.ts. */
  kinds: readonly string[]
  /** Whether the kinds are of the last time that the numbers of series were computed. */
  isLate: boolean
  /** What one series adds. @param n has its numbers */
  numberOf: (n: string) => string
  /** The same of a row `t` of series_totals; see migrations/0002_access.ts. */
  total: string
}

const STATES = ['pending', 'analyzed', 'failed', 'deleted'] as const

const BOOKS: Kept = {
  kinds: STATES.filter((state) => state !== 'deleted').map((state) => `books_${state}`),
  isLate: false,
  numberOf: (n) => `${n}.book_count`,
  total: 't.book_count',
}
const ALL_BOOKS: Kept = {
  kinds: STATES.map((state) => `books_${state}`),
  isLate: false,
  numberOf: (n) => `(${n}.book_count + ${n}.deleted_count)`,
  total: '(t.book_count + t.deleted_count)',
}
const SERIES: Kept = {
  kinds: ['series_present'],
  isLate: true,
  numberOf: (n) => `(${n}.book_count > 0)::int`,
  total: 't.series_count',
}

/** How many books the caller sees. @param list.includeDeleted counts those with a missing file too */
export function keptBooks(database: Knex, list: KeptList & { includeDeleted: boolean; seriesId?: string | undefined }): Knex.Raw {
  const kept = list.includeDeleted ? ALL_BOOKS : BOOKS
  return list.seriesId === undefined
    ? keptTotal(database, list, kept)
    : numberOfSeries(database, { ...list, seriesId: list.seriesId }, kept)
}

/** How many series with books the caller sees. */
export const keptSeries = (database: Knex, list: KeptList): Knex.Raw => keptTotal(database, list, SERIES)

/** One of the totals above by itself, without deleted books. */
export async function readKeptTotal(
  database: Knex,
  viewer: Viewer,
  { of, libraryId }: { of: 'books' | 'series'; libraryId?: string | undefined },
): Promise<number> {
  const list = { sight: readSight((await readListState(database, viewer)).sight), libraryId }
  const total = keptTotal(database, list, of === 'books' ? BOOKS : SERIES)
  const { rows } = await database.raw('SELECT CAST(? AS float8) AS total', [total])
  return rows[0].total
}

/** A part of a statement. */
interface Part {
  sql: string
  bindings: (string | number | string[])[]
}

/** Where a statement has what is asked of a series. */
interface SeriesColumns {
  library: string
  age: string
  /** An array of ids. */
  tags: string
}

const TOTALS = { library: 't.library_id', age: 't.age_rating', tags: 't.tag_ids' }
const KNOWN = { library: 'known.library_id', age: 'known.age_rating', tags: 'known.tag_ids' }
const NOW = {
  library: 's.library_id',
  age: 'm.age_rating',
  tags: 'ARRAY(SELECT x.sharing_tag_id FROM series_sharing_tags x WHERE x.series_id = s.id)',
}

function keptTotal(database: Knex, list: KeptList, kept: Kept): Knex.Raw {
  const { tags, hiddenFrom } = list.sight
  if (tags === null) return database.raw('0')
  const isOfLibraries = hiddenFrom === null && tags.allow.length === 0 && tags.deny.length === 0
  const since = sinceComputed(list, kept)
  const parts = isOfLibraries ? [ofKinds(list, kept), ...(kept.isLate ? [since] : [])] : [ofTotals(list, kept), since]
  return database.raw(
    `(${parts.map(({ sql }) => sql).join(' + ')})`,
    parts.flatMap(({ bindings }) => bindings),
  )
}

function ofKinds(list: KeptList, { kinds }: Kept): Part {
  const where = [{ sql: 'kind = ANY(CAST(? AS text[]))', bindings: [[...kinds]] }, ...inLibraries(list, 'key')]
  const bindings = bindingsOf(where)
  return { sql: keptSum(all(where)), bindings: [...bindings, ...bindings] }
}

function ofTotals(list: KeptList, { total }: Kept): Part {
  const where = visible(list, TOTALS)
  return { sql: `coalesce((SELECT sum(${total}) FROM series_totals t WHERE ${all(where)}), 0)`, bindings: bindingsOf(where) }
}

/** How the numbers of series that are due differ from those that were kept when they were computed. */
function sinceComputed(list: KeptList, { numberOf }: Kept): Part {
  const sumOf = (numbers: string, where: Part[]) => `coalesce(sum(${numberOf(numbers)}) FILTER (WHERE ${all(where)}), 0)`
  const [now, before] = [visible(list, NOW), visible(list, KNOWN)]
  return {
    sql: `(SELECT ${sumOf('n', now)} - ${sumOf('known', before)}
      FROM (SELECT DISTINCT series_id FROM series_numbers_due) AS due JOIN series s ON s.id = due.series_id
      LEFT JOIN series_numbers known ON known.series_id = s.id LEFT JOIN series_metadata m ON m.series_id = s.id
      CROSS JOIN LATERAL (${COMPUTED} WHERE b.series_id = s.id) AS n)`,
    bindings: [...bindingsOf(now), ...bindingsOf(before)],
  }
}

function numberOfSeries(database: Knex, list: KeptList & { seriesId: string }, { numberOf }: Kept): Knex.Raw {
  const where = [{ sql: 's.id = ?', bindings: [list.seriesId] }, ...visible(list, NOW)]
  return database.raw(
    `(SELECT coalesce(sum(${numberOf('n')}), 0) FROM series s LEFT JOIN series_metadata m ON m.series_id = s.id
      LEFT JOIN LATERAL ${numbersOf('s.id')} AS n ON true WHERE ${all(where)})`,
    bindingsOf(where),
  )
}

const all = (conditions: readonly Part[]): string => conditions.map(({ sql }) => sql).join(' AND ') || 'true'
const bindingsOf = (conditions: readonly Part[]): Part['bindings'] => conditions.flatMap(({ bindings }) => bindings)

/** What is true of the series of the list that the caller sees. */
function visible(list: KeptList, { library, age, tags: ofSeries }: SeriesColumns): Part[] {
  const { tags, hiddenFrom, showsUnrated } = list.sight
  const conditions = inLibraries(list, library)
  if (tags === null) conditions.push({ sql: 'false', bindings: [] })
  if (hiddenFrom !== null) conditions.push({ sql: `coalesce(${age} < ?, ${showsUnrated})`, bindings: [hiddenFrom] })
  if (tags?.deny.length) conditions.push({ sql: `NOT ${ofSeries} && CAST(? AS uuid[])`, bindings: [[...tags.deny]] })
  if (tags?.allow.length) conditions.push({ sql: `${ofSeries} && CAST(? AS uuid[])`, bindings: [[...tags.allow]] })
  return conditions
}

/** The libraries of a list, if it does not have all. */
function inLibraries({ sight: { libraries }, libraryId }: KeptList, library: string): Part[] {
  const listed = libraryId === undefined ? libraries : libraries === null || libraries.includes(libraryId) ? [libraryId] : []
  return listed === null ? [] : [{ sql: `${library} = ANY(CAST(? AS uuid[]))`, bindings: [[...listed]] }]
}
