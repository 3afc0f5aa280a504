import type { Static, TArray, TNull, TObject, TSchema, TUnion } from 'typebox'
import Type from 'typebox'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import { Award, type Field } from '#core/fields/field.ts'
import { SERIES_FIELDS, SERIES_LOCKS } from '#core/fields/series-metadata.ts'
import { Noun, Nullable } from '#core/foundation/schema.ts'

/**
 * The data of a book or a series for templates and conditions: a public contract, derived from the lists of metadata fields. Every member
 * of `metadata` is always present, null or empty if there is no value.
 */

/** The only text of people in contexts; the others are in `authors` by their roles. */
const PEOPLE_STRING = 'translator'
type BookField = (typeof BOOK_FIELDS)[number]
type SeriesField = (typeof SERIES_FIELDS)[number]
type ContextBookField =
  | Exclude<BookField, { name: 'customMetadata' } | { role: string }>
  | Extract<BookField, { name: typeof PEOPLE_STRING }>
type ContextSeriesField = Exclude<SeriesField, { name: 'customMetadata' }>
/** Fields of `metadata`; custom metadata is beside it. */
const bookFields = BOOK_FIELDS.filter(
  (field): field is ContextBookField => field.name !== 'customMetadata' && (!('role' in field) || field.name === PEOPLE_STRING),
)
const seriesFields = SERIES_FIELDS.filter((field): field is ContextSeriesField => field.name !== 'customMetadata')
/** Fields that are lists are empty without a value, never null. */
const isList = ({ schema }: Field) => Type.IsArray(schema)

const bookLocks = BOOK_LOCKS.filter((name) => {
  const field = (BOOK_FIELDS as readonly Field[]).find((one) => one.name === name)
  return field?.role === undefined || name === PEOPLE_STRING
}).map((name) => ({ name, member: bookLockName(name) }))
/** The API has a lock for alternate titles that contexts do not have. */
const seriesLocks = SERIES_LOCKS.filter((name) => name !== 'alternateTitles').map((name) => ({
  name,
  member: name === 'authors' ? 'authorsJsonLock' : `${name}Lock`,
}))

const Person = Noun('ContextPerson')({
  name: Type.String({ description: 'Name of the person.' }),
  role: Nullable(Type.String(), { description: 'Role of the person, such as writer.' }),
  sortName: Nullable(Type.String(), { description: 'Name by which the person is sorted.' }),
})
const Prize = Noun('ContextAward')({
  name: Type.String({ description: 'Name of the award.' }),
  category: Nullable(Type.String(), { description: 'Category of the award.' }),
  won: Nullable(Type.Boolean(), { description: 'True if won, false if only nominated.' }),
  year: Nullable(Award.properties.year.anyOf[0], { description: 'Year of the award.' }),
})
const ExternalLink = Noun('ContextLink')({
  source: Type.String({ description: 'Service of the link.' }),
  url: Type.String({ description: 'Address of the page.' }),
  externalId: Nullable(Type.String(), { description: 'Identifier at the service.' }),
})
const ExternalRating = Noun('ContextRating')({
  source: Type.String({ description: 'Service of the rating.' }),
  rating: Type.Number({ minimum: 0, maximum: 100, description: 'Rating from 0 to 100.' }),
  votes: Nullable(Type.Integer(), { description: 'Number of votes.' }),
})
const AlternateTitle = Noun('ContextTitle')({
  label: Type.String({ description: 'Kind of title, such as Japanese.' }),
  title: Type.String({ description: 'The title.' }),
})

const ExternalId = Noun('ContextExternalId')({
  id: Type.String({ description: 'Identifier at the service.' }),
  url: Nullable(Type.String(), { description: 'Address of its page at the service.' }),
  hash: Nullable(Type.String(), { description: 'Hash of the metadata that the service last returned.' }),
})
const ExternalIds = Type.Record(Type.String(), ExternalId, {
  description:
    'Identifiers at other services, by key: plugin: followed by the name of the service, such as plugin:anilist; comicinfo for the identifier in ComicInfo; any other name as it was sent.',
})

const names = (description: string) => Type.Array(Type.String(), { description })
const links = Type.Array(ExternalLink, { description: 'Pages about it at other sites.' })

/** The schema of a field in a context: never absent. */
type MemberOf<One extends Field> = One['name'] extends 'authors'
  ? TArray<typeof Person>
  : One['name'] extends 'awards'
    ? TArray<typeof Prize>
    : One['schema'] extends TArray
      ? One['schema']
      : TUnion<[One['schema'], TNull]>
type MembersOf<One extends Field> = { [Each in One as Each['name']]: MemberOf<Each> }

const memberOf = (field: Field): TSchema => {
  if (field.name === 'authors') return Type.Array(Person, { description: field.about })
  if (field.name === 'awards') return Type.Array(Prize, { description: field.about })
  return isList(field) ? ({ ...field.schema, description: field.about } as TSchema) : Nullable(field.schema, { description: field.about })
}
const membersOf = <One extends Field>(fields: readonly One[]) =>
  Object.fromEntries(fields.map((field) => [field.name, memberOf(field)])) as MembersOf<One>
const lockMembers = (locks: readonly { name: string; member: string }[]) =>
  Object.fromEntries(
    locks.map(({ name, member }) => [member, Type.Boolean({ description: `Whether ${name} is locked: only people can change it.` })]),
  )

const SeriesContextMetadata = Type.Object(
  {
    ...membersOf(seriesFields),
    alternateTitles: Type.Array(AlternateTitle, { description: 'Alternate titles of the series.' }),
    externalLinks: links,
    externalRatings: Type.Array(ExternalRating, { description: 'Ratings at other services.' }),
    genres: names('Genres of the series.'),
    tags: names('Tags of the series.'),
    ...lockMembers(seriesLocks),
  },
  { description: 'Metadata of the series.' },
)

const CustomMetadata = Nullable(Type.Record(Type.String(), Type.Unknown()), {
  description: 'Your own fields.',
})

export const SeriesContext = Type.Object(
  {
    type: Type.Literal('series', { description: 'Always "series".' }),
    seriesId: Type.String({ format: 'uuid', description: 'Id of the series.' }),
    bookCount: Type.Integer({ minimum: 0, description: 'Number of its books in this library.' }),
    customMetadata: CustomMetadata,
    externalIds: ExternalIds,
    metadata: SeriesContextMetadata,
  },
  { title: 'SeriesContext', description: 'A series, on its own or as the series of a book.' },
)
export type SeriesContext = Static<typeof SeriesContext>

const BookContextMetadata = Type.Object(
  {
    ...membersOf(bookFields),
    externalLinks: links,
    genres: names('Genres of the book.'),
    tags: names('Tags of the book.'),
    ...lockMembers(bookLocks),
  },
  { description: 'Metadata of the book.' },
)

export const BookContext = Noun('BookContext')({
  type: Type.Literal('book', { description: 'Always "book".' }),
  bookId: Type.String({ format: 'uuid', description: 'Id of the book.' }),
  seriesId: Type.String({ format: 'uuid', description: 'The series of the book.' }),
  libraryId: Type.String({ format: 'uuid', description: 'The library of the book.' }),
  fileFormat: Type.String({ description: `One of ${BOOK_FORMATS.join(', ')}.` }),
  fileSize: Type.Integer({ minimum: 0, description: 'Size of the file in bytes.' }),
  pageCount: Type.Integer({ minimum: 0, description: 'Number of pages; 0 until the book is analyzed.' }),
  customMetadata: CustomMetadata,
  externalIds: ExternalIds,
  metadata: BookContextMetadata,
  series: SeriesContext,
})
export type BookContext = Static<typeof BookContext>

export type Context = BookContext | SeriesContext

/** A row of metadata from the database: columns by their names, with the rows of related tables collected. */
export interface ContextRow {
  id: string
  locks: string[] | null
  external_ids: Record<string, { id: string; url: string | null; hash: string | null }> | null
  links: { source: string; url: string; externalId: string | null }[] | null
  genres: string[] | null
  tags: string[] | null
  /** Only of series. */
  alternate_titles?: SeriesContext['metadata']['alternateTitles'] | null
  ratings?: SeriesContext['metadata']['externalRatings'] | null
  custom_metadata: Record<string, unknown> | null
  [column: string]: unknown
}

/** The columns that the query needs for a field list. */
export const contextColumns = (kind: 'book' | 'series', ofRecord: boolean): string[] =>
  ((kind === 'book' ? BOOK_FIELDS : SERIES_FIELDS) as readonly Field[])
    .filter((field) => field.column !== null && (field.ofRecord ?? false) === ofRecord)
    .map(({ column }) => column as string)

/** The columns of a row have the types of their fields, which a test compares with the database. */
function fieldValuesOf<One extends Field>(row: ContextRow, fields: readonly One[]): Static<TObject<MembersOf<One>>> {
  const values: Record<string, unknown> = {}
  for (const field of fields) {
    if (field.role !== undefined) values[field.name] = peopleOf(row['authors'], field.role)
    else values[field.name] = row[field.column as string] ?? (isList(field) ? [] : null)
  }
  values['authors'] = ((row['authors'] ?? []) as { name: string; role?: string; sortName?: string | null }[]).map(
    ({ name, role, sortName }) => ({ name, role: role ?? null, sortName: sortName ?? null }),
  )
  if (row['awards']) {
    values['awards'] = (row['awards'] as Partial<Award>[]).map(({ name, category, won, year }) => ({
      name,
      category: category ?? null,
      won: won ?? null,
      year: year ?? null,
    }))
  }
  return values as Static<TObject<MembersOf<One>>>
}

const setsOf = (row: ContextRow) => ({ externalLinks: row.links ?? [], genres: row.genres ?? [], tags: row.tags ?? [] })

function locksOf({ locks: names }: ContextRow, locks: readonly { name: string; member: string }[]): Record<string, boolean> {
  const locked = new Set(names)
  return Object.fromEntries(locks.map(({ name, member }) => [member, locked.has(name)]))
}

function peopleOf(authors: unknown, role: string): string | null {
  const list = ((authors ?? []) as { name: string; role?: string }[]).filter((author) => author.role === role)
  return list.length > 0 ? list.map(({ name }) => name).join(', ') : null
}

export function seriesContextOf(row: ContextRow): SeriesContext {
  return {
    type: 'series',
    seriesId: row.id,
    bookCount: row['book_count'] as number,
    customMetadata: row.custom_metadata,
    externalIds: row.external_ids ?? {},
    metadata: {
      ...fieldValuesOf(row, seriesFields),
      ...setsOf(row),
      ...locksOf(row, seriesLocks),
      alternateTitles: row.alternate_titles ?? [],
      externalRatings: row.ratings ?? [],
    },
  }
}

export function bookContextOf(row: ContextRow, series: SeriesContext): BookContext {
  return {
    type: 'book',
    bookId: row.id,
    seriesId: row['series_id'] as string,
    libraryId: row['library_id'] as string,
    fileFormat: row['file_format'] as string,
    fileSize: row['file_size'] as number,
    pageCount: row['page_count'] as number,
    customMetadata: row.custom_metadata,
    externalIds: row.external_ids ?? {},
    metadata: { ...fieldValuesOf(row, bookFields), ...setsOf(row), ...locksOf(row, bookLocks) },
    series,
  }
}
