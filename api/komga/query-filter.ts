import Type from 'typebox'
import { authorCondition, MEDIA_PROFILE, MEDIA_STATUS, READ_STATUS, SERIES_STATUS } from '#api/komga/condition.ts'
import { compileSent, type FilterTarget, type OwnCondition, sentAs } from '#api/komga/own-condition.ts'
import { many, QUERY_LENGTH_MAX, readIds, wordsOf } from '#api/komga/query-values.ts'
import type { Caller } from '#core/account/caller.ts'
import type { BookFilter } from '#core/catalog/book-query.ts'
import type { CompiledCondition } from '#core/catalog/filter-query.ts'
import { readSearch, readTitlePattern, SEARCH_LENGTH_MAX, type TitlePattern } from '#core/catalog/search-query.ts'
import type { SeriesFilter } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'

/** The limit of one condition. */
const AUTHORS_MAX = 100

const text = Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX }))
const flag = Type.Optional(Type.Boolean())

const common = {
  search: text,
  library_id: many('Of these libraries.'),
  tag: many('With one of these tags.'),
  read_status: many('UNREAD, IN_PROGRESS or READ.'),
  author: Type.Optional(
    Type.Array(Type.String({ maxLength: QUERY_LENGTH_MAX }), {
      maxItems: AUTHORS_MAX,
      description: '`name,role`; one of these people. Repeat the parameter for more.',
    }),
  ),
  deleted: flag,
}

/** The query parameters that filter lists of series. */
export const seriesFilterQuery = {
  ...common,
  search_regex: Type.Optional(
    Type.String({ maxLength: QUERY_LENGTH_MAX, description: '`expression,field`; the field is TITLE or TITLE_SORT. Ignores case.' }),
  ),
  collection_id: many('Of these collections.'),
  status: many('ENDED, ONGOING, ABANDONED or HIATUS.'),
  publisher: many('Of these publishers.'),
  language: many('In these languages.'),
  genre: many('With one of these genres.'),
  age_rating: many('With these age ratings; None for series without one.'),
  release_year: many('That began in these years.'),
  sharing_label: many('With one of these labels.'),
  complete: flag,
  oneshot: flag,
}

/** The query parameters that filter lists of books. */
export const bookFilterQuery = {
  ...common,
  series_id: many('Of these series.'),
  media_status: many('READY, ERROR or UNKNOWN.'),
  media_profile: many('DIVINA, EPUB or PDF.'),
  released_after: Type.Optional(Type.String({ maxLength: 40, description: 'A day such as 2024-02-29.' })),
}

type Values = string[] | undefined
interface CommonQuery {
  search?: string
  library_id?: Values
  tag?: Values
  read_status?: Values
  author?: Values
  deleted?: boolean
}
interface SeriesFilterQuery extends CommonQuery {
  search_regex?: string
  collection_id?: Values
  status?: Values
  publisher?: Values
  language?: Values
  genre?: Values
  age_rating?: Values
  release_year?: Values
  sharing_label?: Values
  complete?: boolean
  oneshot?: boolean
}
interface BookFilterQuery extends CommonQuery {
  series_id?: Values
  media_status?: Values
  media_profile?: Values
  released_after?: string
}

/** The condition of each parameter; null if it is absent. */
type Parts<Query> = { [Name in keyof Query]?: OwnCondition | null }

/** One of these values; null when none is given. */
function oneOf(values: Values, condition: (value: string) => OwnCondition): OwnCondition | null {
  const words = wordsOf(values)
  return words.length === 0 ? null : { anyOf: words.map(condition) }
}

/** As {@link oneOf}; ids that this server could not have match nothing. */
function oneOfIds(values: Values, field: string): OwnCondition | null {
  const ids = readIds(values)
  return ids === undefined ? null : { [field]: { operator: 'in', values: ids } }
}

const is = (field: string) => (value: string) => ({ [field]: { operator: 'is', value } })
const numeric = (field: string, name: string) => (value: string) => {
  if (/^none$/i.test(value)) return { [field]: { operator: 'isNull' } }
  if (!/^\d{1,4}$/.test(value)) refuseQuery(name, 'must be numbers, or None')
  return { [field]: { operator: 'eq', value: Number(value) } }
}

function refuseQuery(name: string, message: string): never {
  refuse('invalid_request', `The query parameter ${name} ${message}.`, { details: [{ path: `/${name}`, message }] })
}

/** Keywords, each with its condition; case-insensitive. */
const keyword = (words: Record<string, OwnCondition>, name: string) => (value: string) => {
  const key = value.toUpperCase()
  const condition = Object.hasOwn(words, key) ? words[key] : undefined
  return condition ?? refuseQuery(name, `must be one of ${Object.keys(words).join(', ')}`)
}
const switched = (field: string, value: boolean | undefined): OwnCondition | null =>
  value === undefined ? null : { [field]: { operator: value ? 'isTrue' : 'isFalse' } }

/** `^w,TITLE_SORT`; an expression may contain commas. Komga ignores other fields. */
function patternOf(given: string | undefined): TitlePattern | null {
  const comma = given?.lastIndexOf(',') ?? -1
  const of = { title: 'title', title_sort: 'titleSort' }[
    given
      ?.slice(comma + 1)
      .trim()
      .toLowerCase() ?? ''
  ] as TitlePattern['of'] | undefined
  return given === undefined || comma < 1 || of === undefined ? null : readTitlePattern(of, given.slice(0, comma), '/search_regex')
}

/** `Alan Moore,writer`; a name may contain commas, a role contains none. */
function authorOf(target: FilterTarget, value: string): OwnCondition {
  const comma = value.lastIndexOf(',')
  return comma < 0
    ? authorCondition(target, { name: value, role: null })
    : authorCondition(target, { name: value.slice(0, comma), role: value.slice(comma + 1).trim() })
}

const authorsOf = (target: FilterTarget, authors: Values): OwnCondition | null =>
  authors?.length ? { anyOf: authors.map((value) => authorOf(target, value)) } : null

/** All of the conditions; nothing if there is none. @param further conditions that are no part of the query */
function compileAll(
  parts: Readonly<Record<string, OwnCondition | null | undefined>>,
  { further, target, caller }: { further: readonly OwnCondition[]; target: FilterTarget; caller: Caller },
): { condition?: CompiledCondition } {
  const given = Object.entries(parts).flatMap(([name, part]) => (part ? [sentAs(`/${name}`, part)] : []))
  const allOf = [...given, ...further]
  return allOf.length > 0 ? { condition: compileSent({ allOf }, target, caller) } : {}
}

/** The filter of a query for series. @throws invalid_request with the name of the parameter */
export function readSeriesFilter(query: SeriesFilterQuery, caller: Caller, further: readonly OwnCondition[] = []): SeriesFilter {
  const parts: Parts<SeriesFilterQuery> = {
    library_id: oneOfIds(query.library_id, 'libraryId'),
    collection_id: oneOfIds(query.collection_id, 'collectionId'),
    tag: oneOf(query.tag, is('tag')),
    genre: oneOf(query.genre, is('genre')),
    publisher: oneOf(query.publisher, is('publisher')),
    language: oneOf(query.language, is('language')),
    sharing_label: oneOf(query.sharing_label, is('sharingTag')),
    status: oneOf(query.status, keyword(SERIES_STATUS, 'status')),
    read_status: oneOf(query.read_status, keyword(READ_STATUS, 'read_status')),
    age_rating: oneOf(query.age_rating, numeric('ageRating', 'age_rating')),
    release_year: oneOf(query.release_year, numeric('year', 'release_year')),
    author: authorsOf('series', query.author),
    complete: switched('completion', query.complete),
    oneshot: switched('oneshot', query.oneshot),
    // No list contains a series all of whose books are deleted.
    deleted: query.deleted ? { anyOf: [] } : null,
  }
  const pattern = patternOf(query.search_regex)
  return {
    search: readSearch(query.search),
    ...(pattern && { pattern }),
    ...compileAll(parts, { further, target: 'series', caller }),
  }
}

/**
 * The filter of a query for books. The list contains deleted books only if the query requests them.
 * @throws invalid_request with the name of the parameter
 */
export function readBookFilter(query: BookFilterQuery, caller: Caller, further: readonly OwnCondition[] = []): BookFilter {
  const parts: Parts<BookFilterQuery> = {
    library_id: oneOfIds(query.library_id, 'libraryId'),
    series_id: oneOfIds(query.series_id, 'seriesId'),
    tag: oneOf(query.tag, is('tag')),
    media_status: oneOf(query.media_status, keyword(MEDIA_STATUS, 'media_status')),
    media_profile: oneOf(query.media_profile, keyword(MEDIA_PROFILE, 'media_profile')),
    read_status: oneOf(query.read_status, keyword(READ_STATUS, 'read_status')),
    author: authorsOf('books', query.author),
    released_after: query.released_after ? { releaseDate: { operator: 'after', value: query.released_after } } : null,
    deleted: query.deleted ? { deleted: { operator: 'isTrue' } } : null,
  }
  return {
    search: readSearch(query.search),
    ...(query.deleted && { includeDeleted: true }),
    ...compileAll(parts, { further, target: 'books', caller }),
  }
}
