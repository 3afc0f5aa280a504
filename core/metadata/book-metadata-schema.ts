import type { Static, TArray, TString } from 'typebox'
import Type from 'typebox'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import type { Author, AuthorRole, MetadataRecord } from '#core/fields/field.ts'
import { fieldMembers, fieldValues, SourcePlugins, Sources } from '#core/fields/field-members.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { dayOf, issuedOf } from '#core/fields/release-date.ts'
import { LENIENT, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { joinNames } from '#core/metadata/apply-patch.ts'
import type { StoredRecord } from '#core/metadata/metadata-record-store.ts'

const NULL_TITLE =
  'Null clears the title with its source and its lock; the title in the file, or else the name of the file, replaces it at once.'

type BookField = (typeof BOOK_FIELDS)[number]
type OfRecord = Extract<BookField, { ofRecordPatch: true }>
const patchable = BOOK_FIELDS.filter((field): field is Exclude<BookField, OfRecord> => !('ofRecordPatch' in field))
const ofRecord = BOOK_FIELDS.filter((field): field is OfRecord => 'ofRecordPatch' in field)
const members = fieldMembers(patchable)
type Stored = StoredRecord<ValuesOf['book']>

/** Body of PATCH and PUT: absent members stay (PATCH) or are cleared (PUT), null clears, a value is set and locked. */
export const BookMetadataPatch = Type.Object(members, { additionalProperties: false, title: 'BookMetadataPatch' })

/** Body of `PATCH /books/{bookId}`: the fields that are stored in the book's record. */
export const BookPatch = Type.Object(
  fieldMembers(ofRecord, ({ name, about }) => (name === 'title' ? `${about} ${NULL_TITLE}` : about)),
  { additionalProperties: false, title: 'BookPatch' },
)

const lockNames = BOOK_LOCKS.map(bookLockName)

/** All 38 locks. */
export const BookLocks = Noun('BookMetadataLocks')(Object.fromEntries(lockNames.map((name) => [name, Type.Boolean()])))

/** Any of the locks; the others stay. */
export const BookLocksPatch = Type.Object(Object.fromEntries(lockNames.map((name) => [name, Type.Optional(Nullable(Type.Boolean()))])), {
  ...LENIENT,
  description:
    'Also accepts `summary` for `summaryLock`, and `authors` or `authorsJson` for `authorsJsonLock`. Ignores members that are not locks.',
  title: 'BookMetadataLocksPatch',
})

/** The metadata of a book on its own (BookMetadataResponse). */
export const BookMetadata = Noun('BookMetadata')({
  bookId: Uuid,
  ...members,
  locks: BookLocks,
  sources: Type.Optional(Sources),
  sourcePlugins: Type.Optional(SourcePlugins),
  updatedAt: Timestamp,
})

/** Roles that the full book also has as lists. */
const ROLE_LISTS = {
  colorists: 'colorist',
  coverArtists: 'cover_artist',
  editors: 'editor',
  inkers: 'inker',
  letterers: 'letterer',
  pencillers: 'penciller',
  writers: 'writer',
} as const satisfies Readonly<Record<string, AuthorRole>>
const ROLE_ENTRIES = Object.entries(ROLE_LISTS)
type RoleLists<Of> = { [Name in keyof typeof ROLE_LISTS]: Of }

/** Metadata inside a full book. */
export const FullBookMetadata = Noun('FullBookMetadata')({
  ...members,
  ...(Object.fromEntries(Object.keys(ROLE_LISTS).map((name) => [name, Type.Array(Type.String())])) as RoleLists<TArray<TString>>),
  title: Type.Optional(Nullable(Type.String())),
  titleSort: Type.Optional(Nullable(Type.String())),
  number: Type.Optional(Nullable(Type.String({ description: 'As text, because it may be fractional.' }))),
  releaseDate: Type.Optional(Nullable(Timestamp)),
  locks: BookLocks,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export type FullBookMetadata = Static<typeof FullBookMetadata>

/** Metadata beside a single book: as inside a full one, with the id of the book, its series and its number of pages, and with authors among the writers. */
export const BookDetailMetadata = Type.Object({
  id: Uuid,
  bookId: Uuid,
  series: Type.String(),
  pageCount: Type.Integer({ minimum: 0 }),
  ...FullBookMetadata.properties,
})
export type BookDetailMetadata = Static<typeof BookDetailMetadata>

type BookMetadataAnswer = Static<typeof BookMetadata>

/** The values of the fields in the API; null if there is no value. */
function bookFieldsOf({ values }: Pick<Stored, 'values'>) {
  const stored: Readonly<Record<string, unknown>> = values
  return fieldValues(patchable, ({ name, role }) =>
    role ? joinNames(values.authors ?? [], role) : (stored[name] ?? (name === 'authors' || name === 'awards' ? [] : null)),
  )
}

const LOCK_NAMES = BOOK_LOCKS.map((name) => [name, bookLockName(name)] as const)

export function bookLocksOf({ locks }: Pick<MetadataRecord, 'locks'>): Record<string, boolean> {
  const members: Record<string, boolean> = {}
  for (const [name, member] of LOCK_NAMES) members[member] = locks.has(name)
  return members
}

/** @param origins the source of each field, if it is included */
export function bookMetadataOf(
  bookId: string,
  stored: Stored,
  origins?: Pick<BookMetadataAnswer, 'sources' | 'sourcePlugins'>,
): BookMetadataAnswer {
  return {
    bookId,
    ...bookFieldsOf(stored),
    locks: bookLocksOf(stored),
    ...origins,
    updatedAt: stored.updatedAt,
  }
}

export function fullBookMetadataOf(stored: Stored): FullBookMetadata {
  const { values } = stored
  return Object.assign(bookFieldsOf(stored), roleListsOf(values.authors ?? []), {
    title: values.title ?? null,
    titleSort: values.titleSort ?? null,
    number: values.number === undefined ? null : String(values.number),
    releaseDate: releaseDateOf(values),
    locks: bookLocksOf(stored),
    createdAt: stored.createdAt,
    updatedAt: stored.updatedAt,
  })
}

function roleListsOf(authors: readonly Author[]): RoleLists<string[]> {
  const lists: Record<string, string[]> = {}
  for (const [name, role] of ROLE_ENTRIES) lists[name] = authors.filter((author) => author.role === role).map((author) => author.name)
  return lists as RoleLists<string[]>
}

/**
 * The metadata has no id of its own: it has the book's. Comics have writers and other books have authors: `writers` contains both, each name once, for clients
 * that read one list.
 */
export function bookDetailMetadataOf(book: { id: string; seriesName: string; pageCount: number }, stored: Stored): BookDetailMetadata {
  const authors = stored.values.authors ?? []
  const writers = authors.filter(({ role }) => role === 'writer' || role === 'author').map(({ name }) => name)
  const { id, seriesName: series, pageCount } = book
  return Object.assign(fullBookMetadataOf(stored), { id, bookId: id, series, pageCount, writers: [...new Set(writers)] })
}

/** The first instant of the day, month or year of publication; null if the year is unknown. */
function releaseDateOf({ year = null, month = null, day = null }: Readonly<Record<string, unknown>>): string | null {
  const issued = issuedOf({ year, month, day } as Parameters<typeof issuedOf>[0])
  return issued === null ? null : `${dayOf(issued)}T00:00:00.000Z`
}
