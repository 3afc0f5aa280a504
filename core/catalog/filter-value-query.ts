import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { readSight, visibleInList, visibleTo } from '#core/account/visibility.ts'
import { VALUE_LENGTH_MAX } from '#core/catalog/list-condition.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { HAS_BOOKS } from '#core/catalog/series-query.ts'
import { countRows, select } from '#core/database/select.ts'
import { refuseValue } from '#core/foundation/errors.ts'
import { nameKeyPart } from '#core/metadata/name.ts'
import type { ListState } from '#core/paging/list-state.ts'

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
/** More than a menu shows; to find another value, a person types a part of it. */
export const FILTER_VALUES_MAX = 50

/** A value of a field, and how many of the listed series or books have it. */
interface FilterValue {
  value: string
  /** Of a person; otherwise null. */
  role: string | null
  count: number
}

/** How the values of a field are counted. Each is counted as it is stored, and only what differs is folded and named. */
interface Source {
  /** Selects `raw`, `role` and `count` over the entries of `listed`; `chosen(id)` restricts to names that contain the search. */
  counted: (chosen: (id: string) => string) => string
  /** The table `n` of the names, by their ids. */
  names?: 'genres' | 'tags' | 'people'
  value: string
  /** Equal for what a condition treats as one value. */
  folded: string
  hasRoles?: true
}

const NAME = { value: 'n.name', folded: 'n.name_fold' }
const column = (join: string, raw: string, value: string): Source => ({
  counted: () => `SELECT ${raw} AS raw, NULL::text AS role, count(*) AS count FROM listed v JOIN ${join} GROUP BY 1`,
  value,
  folded: `carrel_fold(${value})`,
})
const text = (owner: 'book' | 'series', name: string): Source =>
  column(`${owner}_metadata m ON m.${owner}_id = v.id`, `m.${name}`, 'trim(c.raw)')
const number = (name: string): Source => column('series_metadata m ON m.series_id = v.id', `m.${name}`, 'c.raw::text')

const ofSeries = (kind: 'genre' | 'tag'): Source => ({
  ...NAME,
  names: `${kind}s`,
  counted: (chosen) => `SELECT x.${kind}_id AS raw, NULL::text AS role, count(*) AS count
    FROM listed v JOIN series_${kind}s x ON x.series_id = v.id WHERE ${chosen(`x.${kind}_id`)} GROUP BY 1`,
})
/** Books have the names of their series too: those are counted by series. */
const ofBooks = (kind: 'genre' | 'tag'): Source => ({
  ...NAME,
  names: `${kind}s`,
  counted: (chosen) => `SELECT x.${kind}_id AS raw, NULL::text AS role, sum(s.count) AS count
    FROM (SELECT series_id, count(*) AS count FROM listed GROUP BY 1) AS s JOIN series_${kind}s x USING (series_id) WHERE ${chosen(`x.${kind}_id`)} GROUP BY 1
    UNION ALL SELECT x.${kind}_id, NULL, count(*) FROM listed v JOIN book_${kind}s x ON x.book_id = v.id
    WHERE NOT EXISTS (SELECT 1 FROM series_${kind}s s WHERE s.series_id = v.series_id AND s.${kind}_id = x.${kind}_id) AND ${chosen(`x.${kind}_id`)} GROUP BY 1`,
})
/** @param of selects `id` of the entry, `person_id` and `role` of its people */
const people = (...of: string[]): Source => ({
  ...NAME,
  names: 'people',
  hasRoles: true,
  counted: (chosen) => `SELECT person_id AS raw, role, count(*) AS count
    FROM (${of.map((rows) => `SELECT ${rows} WHERE ${chosen('x.person_id')}`).join(' UNION ')}) AS found GROUP BY 1, 2`,
})

/** The same fields as in conditions, where the age is called `ageRating`. */
const SOURCES: Record<'series' | 'books', Partial<Record<ValueField, Source>>> = {
  series: {
    genre: ofSeries('genre'),
    tag: ofSeries('tag'),
    person: people(
      'v.id, x.person_id, x.role FROM listed v JOIN series_people x ON x.series_id = v.id',
      'v.id, x.person_id, x.role FROM book_people x JOIN books b ON b.id = x.book_id AND b.deleted_at IS NULL JOIN listed v ON v.id = b.series_id',
    ),
    publisher: text('series', 'publisher'),
    language: text('series', 'language'),
    status: text('series', 'status'),
    age: number('age_rating'),
    year: number('year'),
  },
  books: {
    genre: ofBooks('genre'),
    tag: ofBooks('tag'),
    person: people('DISTINCT v.id, x.person_id, x.role FROM listed v JOIN book_people x ON x.book_id = v.id'),
    publisher: text('book', 'publisher'),
    language: text('book', 'language_iso'),
    format: column('books b ON b.id = v.id', 'b.file_format', 'c.raw'),
    year: column('books b ON b.id = v.id', 'b.released', 'extract(year FROM c.raw)::int::text'),
  },
}

/**
 * The most frequent values of a field among the series or books that the caller may see, with their numbers: as many as a condition with this value finds,
 * except that two spellings of a name at one entry count twice.
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
  if (role !== undefined && !source.hasRoles) refuseValue('/role', `Only people have roles: leave role out for the field ${field}.`)
  const { sight } = list.state ?? (await readListState(database, caller))
  const listed = database(of).modify(visibleInList(readSight(sight), of))
  if (of === 'series') listed.whereRaw(HAS_BOOKS).select('series.id')
  else listed.whereNull('books.deleted_at').select('books.id', 'books.series_id')
  if (libraryId !== undefined) listed.where(`${of}.library_id`, libraryId)
  const { names, value, folded } = source
  const contains = (text: string) => `${text} LIKE '%' || carrel_pattern(:search) || '%'`
  const counted = source.counted((id) =>
    names && search ? `${id} = ANY(ARRAY(SELECT n.id FROM ${names} n WHERE ${contains('n.name_fold')}))` : 'true',
  )
  return await select<FilterValue>(
    database.raw(
      `WITH listed AS (:listed), counted AS (${counted}),
         named AS (SELECT ${value} AS value, ${folded} AS folded, role, count FROM counted c ${names ? `JOIN ${names} n ON n.id = c.raw` : ''})
       SELECT min(value) AS value, role, sum(count)::int AS count FROM named
       WHERE value <> '' AND length(value) <= ${VALUE_LENGTH_MAX} ${search ? `AND ${contains('folded')}` : ''} ${role === undefined ? '' : 'AND role = :role'}
       GROUP BY folded, role ORDER BY sum(count) DESC, min(value) COLLATE carrel_natural, role LIMIT ${FILTER_VALUES_MAX}`,
      { listed, ...(search && { search: nameKeyPart(search) }), ...(role !== undefined && { role }) },
    ),
  )
}
