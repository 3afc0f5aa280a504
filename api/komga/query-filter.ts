import Type from 'typebox'
import { authorCondition, MEDIA_PROFILE, MEDIA_STATUS, type OwnCondition, READ_STATUS, SERIES_STATUS } from '#api/komga/condition.ts'
import type { Caller } from '#core/account/caller.ts'
import type { BookFilter } from '#core/catalog/book-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { readSearch, readTitlePattern, SEARCH_LENGTH_MAX, type TitlePattern } from '#core/catalog/search-query.ts'
import type { SeriesFilter } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'

/** The limit of one condition. */
const VALUES_MAX = 100
/** A list of names with commas; some names are long. */
const VALUE_LENGTH_MAX = 4_000

const many = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: VALUE_LENGTH_MAX }), {
      maxItems: VALUES_MAX,
      description: `${description} Repeat the parameter, or separate values with commas.`,
    }),
  )
const text = Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX }))
const flag = Type.Optional(Type.Boolean())

const common = {
  search: text,
  library_id: many('Of these libraries.'),
  tag: many('With one of these tags.'),
  read_status: many('UNREAD, IN_PROGRESS or READ.'),
  author: Type.Optional(
    Type.Array(Type.String({ maxLength: VALUE_LENGTH_MAX }), {
      maxItems: VALUES_MAX,
      description: '`name,role`; one of these people. Repeat the parameter for more.',
    }),
  ),
  deleted: flag,
}

/** The query parameters that filter lists of series. */
export const seriesFilterQuery = {
  ...common,
  search_regex: Type.Optional(
    Type.String({ maxLength: VALUE_LENGTH_MAX, description: '`expression,field`; the field is TITLE or TITLE_SORT. Ignores case.' }),
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

const isGiven = (condition: OwnCondition | null): condition is OwnCondition => condition !== null

/** `tag=a,b` is the same as `tag=a&tag=b`. */
const wordsOf = (values: Values): string[] =>
  (values ?? [])
    .flatMap((value) => value.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** One of these values; null when none is given. */
function oneOf(values: Values, condition: (value: string) => OwnCondition): OwnCondition | null {
  const words = wordsOf(values)
  return words.length === 0 ? null : { anyOf: words.map(condition) }
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
  return given === undefined || comma < 1 || of === undefined ? null : readTitlePattern(of, given.slice(0, comma))
}

/** `Alan Moore,writer`; a name may contain commas, a role contains none. */
function authorOf(target: 'books' | 'series', value: string): OwnCondition {
  const comma = value.lastIndexOf(',')
  return comma < 0
    ? authorCondition(target, { name: value, role: null })
    : authorCondition(target, { name: value.slice(0, comma), role: value.slice(comma + 1).trim() })
}

const authorsOf = (target: 'books' | 'series', authors: Values): OwnCondition | null =>
  authors?.length ? { anyOf: authors.map((value) => authorOf(target, value)) } : null

/** The filter of a query for series. @throws invalid_request */
export function readSeriesFilter(query: SeriesFilterQuery, caller: Caller, further: readonly OwnCondition[] = []): SeriesFilter {
  const parts = [
    oneOf(query.library_id, is('libraryId')),
    oneOf(query.collection_id, is('collectionId')),
    oneOf(query.tag, is('tag')),
    oneOf(query.genre, is('genre')),
    oneOf(query.publisher, is('publisher')),
    oneOf(query.language, is('language')),
    oneOf(query.sharing_label, is('sharingTag')),
    oneOf(query.status, keyword(SERIES_STATUS, 'status')),
    oneOf(query.read_status, keyword(READ_STATUS, 'read_status')),
    oneOf(query.age_rating, numeric('ageRating', 'age_rating')),
    oneOf(query.release_year, numeric('year', 'release_year')),
    authorsOf('series', query.author),
    switched('completion', query.complete),
    switched('oneshot', query.oneshot),
    // No list contains a series all of whose books are deleted.
    query.deleted ? { anyOf: [] } : null,
    ...further,
  ].filter(isGiven)
  const pattern = patternOf(query.search_regex)
  return {
    search: readSearch(query.search),
    ...(pattern && { pattern }),
    ...(parts.length > 0 && { condition: compileFilter({ allOf: parts }, 'series', caller) }),
  }
}

/** The filter of a query for books. The list contains deleted books only if the query requests them. @throws invalid_request */
export function readBookFilter(query: BookFilterQuery, caller: Caller, further: readonly OwnCondition[] = []): BookFilter {
  const parts = [
    oneOf(query.library_id, is('libraryId')),
    oneOf(query.series_id, is('seriesId')),
    oneOf(query.tag, is('tag')),
    oneOf(query.media_status, keyword(MEDIA_STATUS, 'media_status')),
    oneOf(query.media_profile, keyword(MEDIA_PROFILE, 'media_profile')),
    oneOf(query.read_status, keyword(READ_STATUS, 'read_status')),
    authorsOf('books', query.author),
    query.released_after ? { releaseDate: { operator: 'after', value: query.released_after } } : null,
    query.deleted ? { deleted: { operator: 'isTrue' } } : null,
    ...further,
  ].filter(isGiven)
  return {
    search: readSearch(query.search),
    ...(query.deleted && { includeDeleted: true }),
    ...(parts.length > 0 && { condition: compileFilter({ allOf: parts }, 'books', caller) }),
  }
}
