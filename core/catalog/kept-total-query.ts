import type { Knex } from 'knex'
import { hiddenByAge, readSight, type Sight, TAGGED, type Viewer } from '#core/account/visibility.ts'
import { keptSum, readListState } from '#core/catalog/list-state-query.ts'
import { numbersOf } from '#core/catalog/series-numbers-query.ts'

/**
 * Totals of lists without a condition, as expressions for a statement: from numbers that are kept, by library and by age, less those of the series that
 * are hidden from the caller by a tag. They cost the same for a library of any size, and are exact in every snapshot.
 */

interface KeptList {
  sight: Sight
  libraryId?: string | undefined
}

/** What is counted. */
interface Kept {
  /** The kinds of the numbers of all, by library; see migrations/baseline/numbers.ts. */
  kinds: readonly string[]
  /** What the kinds by age begin with; see migrations/0002_access.ts. */
  kindsOfAge: readonly string[]
  /** What one series adds. @param n has its numbers */
  numberOf: (n: string) => string
  /** Whether the kinds are of the last time that the numbers of series were computed. */
  isLate: boolean
}

const STATES = ['pending', 'analyzed', 'failed', 'deleted'] as const

const BOOKS: Kept = {
  kinds: STATES.filter((state) => state !== 'deleted').map((state) => `books_${state}`),
  kindsOfAge: ['books_of_age_'],
  numberOf: (n) => `${n}.book_count`,
  isLate: false,
}
const ALL_BOOKS: Kept = {
  kinds: STATES.map((state) => `books_${state}`),
  kindsOfAge: ['books_of_age_', 'deleted_of_age_'],
  numberOf: (n) => `(${n}.book_count + ${n}.deleted_count)`,
  isLate: false,
}
const SERIES: Kept = {
  kinds: ['series_present'],
  kindsOfAge: ['series_of_age_'],
  numberOf: (n) => `(${n}.book_count > 0)::int`,
  isLate: true,
}

/** How many books the caller sees. @param list.includeDeleted counts those with a missing file too */
export function keptBooks(database: Knex, list: KeptList & { includeDeleted: boolean; seriesId?: string | undefined }): Knex.Raw {
  const kept = list.includeDeleted ? ALL_BOOKS : BOOKS
  if (list.seriesId === undefined) return keptTotal(database, list, kept)
  const { sql, bindings } = sumOver(list, kept, { sql: 's.id = ?', bindings: [list.seriesId] })
  return database.raw(sql, bindings)
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

/** All that the caller sees: the series that are allowed, or all of its libraries and ages less those that are denied. */
function keptTotal(database: Knex, list: KeptList, kept: Kept): Knex.Raw {
  const { sight } = list
  const { tags } = sight
  if (tags === null) return database.raw('0')
  const parts = tags.allow.length > 0 ? [sumOver(list, kept, null)] : ofLibrariesAndAges(list, kept)
  if (tags.allow.length === 0 && tags.deny.length > 0) {
    const untagged = { ...list, sight: { ...sight, tags: { allow: [], deny: [] } } }
    const denied = sumOver(untagged, kept, { sql: `s.id IN (${TAGGED})`, bindings: [[...tags.deny]] })
    parts.push({ ...denied, sql: `-${denied.sql}` })
  }
  return database.raw(`(${parts.map(({ sql }) => sql).join(' + ')})`, parts.flatMap(({ bindings }) => bindings))
}

function ofLibrariesAndAges({ sight, libraryId }: KeptList, kept: Kept): Part[] {
  const { hiddenFrom, showsUnrated } = sight
  const libraries = librariesOf(sight, libraryId)
  const ofKinds = ({ sql, bindings }: Part): Part => {
    const where = libraries === null ? sql : `${sql} AND key = ANY(CAST(? AS uuid[]))`
    const once = libraries === null ? bindings : [...bindings, libraries]
    return { sql: keptSum(where), bindings: [...once, ...once] }
  }
  const all = [ofKinds({ sql: 'kind = ANY(CAST(? AS text[]))', bindings: [[...kept.kinds]] })]
  if (kept.isLate) all.push(sinceComputed(libraries, kept, null))
  if (hiddenFrom === null) return all
  // Ages have three digits, so that their texts are in their order.
  const [from, to] = showsUnrated ? [hiddenFrom, 1_000] : [0, hiddenFrom]
  const digits = (age: number) => (age > 999 ? ':' : String(age).padStart(3, '0'))
  const aged = kept.kindsOfAge.map((kind) =>
    ofKinds({ sql: 'kind >= ? AND kind < ?', bindings: [`${kind}${digits(from)}`, `${kind}${digits(to)}`] }),
  )
  aged.push(sinceComputed(libraries, kept, [from, to]))
  return showsUnrated ? [...all, ...aged.map((part) => ({ ...part, sql: `-${part.sql}` }))] : aged
}

/** How the numbers of series that are due differ from those that were kept when they were computed. @param ages from the first to before the second */
function sinceComputed(libraries: string[] | null, { numberOf }: Kept, ages: readonly [number, number] | null): Part {
  const sumOf = (numbers: string, age: string, library: string): Part => {
    const wanted: Part[] = []
    if (ages !== null) wanted.push({ sql: `${age} >= ? AND ${age} < ?`, bindings: [...ages] })
    if (libraries !== null) wanted.push({ sql: `${library} = ANY(CAST(? AS uuid[]))`, bindings: [libraries] })
    const filter = wanted.length === 0 ? '' : ` FILTER (WHERE ${wanted.map(({ sql }) => sql).join(' AND ')})`
    return { sql: `coalesce(sum(${numberOf(numbers)})${filter}, 0)`, bindings: wanted.flatMap(({ bindings }) => bindings) }
  }
  const now = sumOf('n', 'm.age_rating', 's.library_id')
  const before = sumOf('known', 'known.age_rating', 'known.library_id')
  return {
    sql: `(SELECT ${now.sql} - ${before.sql} FROM (SELECT DISTINCT series_id FROM series_numbers_due) AS due JOIN series s ON s.id = due.series_id
      LEFT JOIN series_numbers known ON known.series_id = s.id LEFT JOIN series_metadata m ON m.series_id = s.id CROSS JOIN LATERAL ${numbersOf('s.id')} AS n)`,
    bindings: [...now.bindings, ...before.bindings],
  }
}

/** The sum over the series `s` that the caller sees. @param which selects some of them, if no tag that the caller is allowed does */
function sumOver({ sight, libraryId }: KeptList, { numberOf }: Kept, which: Part | null): Part {
  const { tags, hiddenFrom } = sight
  if (tags === null) return { sql: '0', bindings: [] }
  const conditions = which === null ? [] : [which]
  const libraries = librariesOf(sight, libraryId)
  if (libraries !== null) conditions.push({ sql: 's.library_id = ANY(CAST(? AS uuid[]))', bindings: [libraries] })
  const hidden = hiddenByAge(sight, 's.id')
  if (hidden !== null && hiddenFrom !== null) conditions.push({ sql: `NOT ${hidden}`, bindings: [hiddenFrom] })
  if (tags.deny.length > 0) conditions.push({ sql: `s.id NOT IN (${TAGGED})`, bindings: [[...tags.deny]] })
  if (tags.allow.length > 0) conditions.push({ sql: `s.id IN (${TAGGED})`, bindings: [[...tags.allow]] })
  return {
    sql: `(SELECT coalesce(sum(${numberOf('n')}), 0) FROM series s LEFT JOIN LATERAL ${numbersOf('s.id')} AS n ON true
      WHERE ${conditions.map(({ sql }) => sql).join(' AND ')})`,
    bindings: conditions.flatMap(({ bindings }) => bindings),
  }
}

/** The libraries of a list; null: all. */
function librariesOf({ libraries }: Sight, libraryId: string | undefined): string[] | null {
  if (libraryId === undefined) return libraries === null ? null : [...libraries]
  return libraries === null || libraries.includes(libraryId) ? [libraryId] : []
}
