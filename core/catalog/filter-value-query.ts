import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { readSight, visibleInList, visibleTo } from '#core/account/visibility.ts'
import { VALUE_LENGTH_MAX } from '#core/catalog/list-condition.ts'
import type { ListState } from '#core/catalog/list-state.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { HAS_BOOKS } from '#core/catalog/series-query.ts'
import { countRows, select } from '#core/database/select.ts'
import { refuseValue } from '#core/foundation/errors.ts'
import { nameKeyPart } from '#core/metadata/name.ts'

interface SeriesWord {
  /** As one of the series spells it; spellings that differ only in case and accents are one, as in conditions. */
  name: string
  /** Only series that the caller may see. */
  seriesCount: number
}

interface WordList {
  /** Part of the name, ignoring case and accents. */
  search?: string | undefined
  offset: number
  limit: number
}

/** The columns of series whose words are lists, with their folded text. */
const FOLDED = { publisher: 'm.publisher_fold', language: 'carrel_fold(m.language)' }

/** One page of the publishers or languages of series that the caller may see, by name. Skips names that are longer than a condition allows. */
export async function listSeriesWords(
  database: Knex,
  caller: Caller,
  of: keyof typeof FOLDED,
  list: WordList,
): Promise<{ items: SeriesWord[]; total: number }> {
  const folded = FOLDED[of]
  const named = database('series')
    .join('series_metadata AS m', 'm.series_id', 'series.id')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .whereRaw(`trim(m.${of}) <> '' AND length(m.${of}) <= ?`, [VALUE_LENGTH_MAX])
    .groupByRaw(`trim(${folded})`)
    .select(database.raw(`min(trim(m.${of})) AS name, count(*) AS series_count`))
  if (list.search) named.whereRaw(`${folded} LIKE '%' || carrel_pattern(?) || '%'`, [list.search])
  const [rows, total] = await Promise.all([
    database
      .from(named.clone().as('named'))
      .select('*')
      .orderByRaw('name COLLATE carrel_natural, name')
      .offset(list.offset)
      .limit(list.limit) as Promise<{ name: string; series_count: string | number }[]>,
    countRows(database.from(named.clone().as('named'))),
  ])
  return { items: rows.map(({ name, series_count }) => ({ name, seriesCount: Number(series_count) })), total }
}

/** What lists can be filtered by with a choice of values. */
export const VALUE_FIELDS = ['genre', 'tag', 'person', 'publisher', 'language', 'status', 'format', 'age', 'year'] as const
type ValueField = (typeof VALUE_FIELDS)[number]
/** More than a menu shows; whoever wants another value types a part of it. */
export const FILTER_VALUES_MAX = 50

/** A value of a field, and how many of the listed series or books have it. */
interface FilterValue {
  value: string
  /** Of a person; otherwise null. */
  role: string | null
  count: number
}

/** Where the values of a field are: rows that belong to the entry `v` of a list. */
interface Source {
  /** Each in the form `<table> ON <condition>`. */
  joins: readonly string[]
  value: string
  /** Equal for what a condition treats as one value. */
  folded: string
  role?: string
}

const named = (kind: 'genre' | 'tag', ...of: [owner: 'book' | 'series', id: string][]): Source => ({
  joins: of.map(([owner, id]) => `(${owner}_${kind}s x JOIN ${kind}s n ON n.id = x.${kind}_id) ON x.${owner}_id = ${id}`),
  value: 'n.name',
  folded: 'n.name_fold',
})
const PEOPLE_OF_BOOKS = 'book_people x JOIN people n ON n.id = x.person_id'
const people = (...joins: string[]): Source => ({ joins, value: 'n.name', folded: 'n.name_fold', role: 'x.role' })
const text = (owner: 'book' | 'series', column: string): Source => ({
  joins: [`${owner}_metadata m ON m.${owner}_id = v.id`],
  value: `trim(m.${column})`,
  folded: `trim(${column === 'publisher' ? 'm.publisher_fold' : `carrel_fold(m.${column})`})`,
})
const plain = (join: string, expression: string): Source => ({ joins: [join], value: expression, folded: expression })

/** The same fields as in conditions, where they are called `ageRating` (age) and otherwise as here. */
const SOURCES: Record<'series' | 'books', Partial<Record<ValueField, Source>>> = {
  series: {
    genre: named('genre', ['series', 'v.id']),
    tag: named('tag', ['series', 'v.id']),
    person: people(
      '(series_people x JOIN people n ON n.id = x.person_id) ON x.series_id = v.id',
      `(${PEOPLE_OF_BOOKS} JOIN books b ON b.id = x.book_id AND b.deleted_at IS NULL) ON b.series_id = v.id`,
    ),
    publisher: text('series', 'publisher'),
    language: text('series', 'language'),
    status: text('series', 'status'),
    age: plain('series_metadata m ON m.series_id = v.id', 'm.age_rating::text'),
    year: plain('series_metadata m ON m.series_id = v.id', 'm.year::text'),
  },
  books: {
    genre: named('genre', ['book', 'v.id'], ['series', 'v.series_id']),
    tag: named('tag', ['book', 'v.id'], ['series', 'v.series_id']),
    person: people(`(${PEOPLE_OF_BOOKS}) ON x.book_id = v.id`),
    publisher: text('book', 'publisher'),
    language: text('book', 'language_iso'),
    format: plain('books b ON b.id = v.id', 'b.file_format'),
    year: plain('books b ON b.id = v.id', 'extract(year FROM b.released)::int::text'),
  },
}

/**
 * The most frequent values of a field among the series or books that the caller may see, with their numbers: as many as a condition with this value finds.
 * @param list.search part of the value, ignoring case and accents
 * @throws invalid_value for a field that the list does not have, and for a role of anything but people
 */
export async function listFilterValues(
  database: Knex,
  caller: Caller,
  list: {
    of: 'series' | 'books'
    field: ValueField
    search?: string | undefined
    libraryId?: string | undefined
    role?: string | undefined
    state?: ListState | undefined
  },
): Promise<FilterValue[]> {
  const { of, field, search, libraryId, role } = list
  const source = SOURCES[of][field]
  if (source === undefined) refuseValue('/field', `A list of ${of} has no ${field}: its fields are ${Object.keys(SOURCES[of]).join(', ')}.`)
  if (role !== undefined && source.role === undefined)
    refuseValue('/role', `Only people have roles: leave role out for the field ${field}.`)
  const { sight } = list.state ?? (await readListState(database, caller))
  const listed = database(of).modify(visibleInList(readSight(sight), of))
  if (of === 'series') listed.whereRaw(HAS_BOOKS).select('series.id')
  else listed.whereNull('books.deleted_at').select('books.id', 'books.series_id')
  if (libraryId !== undefined) listed.where(`${of}.library_id`, libraryId)
  const bindings: Knex.RawBinding[] = []
  const rows = source.joins.map((join) => {
    const conditions = [`${source.value} <> ''`, `length(${source.value}) <= ${VALUE_LENGTH_MAX}`]
    const add = (condition: string, binding: string) => {
      conditions.push(condition)
      bindings.push(binding)
    }
    if (search) add(`${source.folded} LIKE '%' || carrel_pattern(?) || '%'`, nameKeyPart(search))
    if (role !== undefined) add(`${source.role} = ?`, role)
    return `SELECT v.id, ${source.value} AS value, ${source.folded} AS folded, ${source.role ?? 'NULL::text'} AS role
      FROM listed v JOIN ${join} WHERE ${conditions.join(' AND ')}`
  })
  // An entry counts once, however often it has the value.
  return await select<FilterValue>(
    database.raw(
      `WITH listed AS (?) SELECT min(value) AS value, role, count(*)::int AS count
       FROM (SELECT min(value) AS value, role, folded FROM (${rows.join(' UNION ALL ')}) AS found GROUP BY id, folded, role) AS counted
       GROUP BY folded, role ORDER BY count(*) DESC, min(value) COLLATE carrel_natural, role LIMIT ${FILTER_VALUES_MAX}`,
      [listed, ...bindings],
    ),
  )
}
