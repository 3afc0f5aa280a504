import { isDeepStrictEqual } from 'node:util'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { KomgaBook } from '#api/komga/book-view.ts'
import { DIRECTIONS, type KomgaSeries, STATUSES } from '#api/komga/series-view.ts'
import { roleOf, rolesBehind } from '#api/komga/values.ts'
import { AUTHOR_ROLES, type Author, INT32_MAX, Name, Summary, Text } from '#core/fields/field.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { ALTERNATE_TITLES_MAX, AUTHORS_MAX } from '#core/fields/limits.ts'
import { AnyNumber, NameText, Nullable } from '#core/foundation/schema.ts'
import { NAMES_MAX } from '#core/metadata/name.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

/** More than there are services to link to. */
const LINKS_MAX = 200
const open = { additionalProperties: true, maxProperties: 100 } as const
const optional = <const T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Nullable(schema))
const lock = optional(Type.Boolean())
/** A book always has a number and a series a status: Komga refuses an empty one, and null leaves it as it is. */
const Word = Type.String({ minLength: 1, maxLength: 100 })
const names = optional(Type.Array(NameText({ maxLength: 1_000 }), { maxItems: NAMES_MAX }))
/** Any text: readLinks checks each link and names the one that is wrong. */
const Given = Type.String({ maxLength: 2_000 })
const GivenPerson = Type.Object({ name: Name, role: Type.String({ maxLength: 100 }) }, open)
const GivenTitle = Type.Object(
  { label: NameText({ minLength: 1, maxLength: 500 }), title: NameText({ minLength: 1, maxLength: 500 }) },
  open,
)
const links = optional(Type.Array(Type.Object({ label: Given, url: Given }, open), { maxItems: LINKS_MAX }))

/** The metadata of a book that apps send: all members of a form, or only the changed ones. */
export const BookEdit = Type.Object(
  {
    title: optional(Name),
    titleLock: lock,
    summary: optional(Summary),
    summaryLock: lock,
    number: optional(Word),
    numberLock: lock,
    numberSort: optional(AnyNumber()),
    numberSortLock: lock,
    releaseDate: optional(Type.String({ maxLength: 40 })),
    releaseDateLock: lock,
    authors: optional(Type.Array(GivenPerson, { maxItems: AUTHORS_MAX })),
    authorsLock: lock,
    tags: names,
    tagsLock: lock,
    isbn: optional(Type.String({ maxLength: 100 })),
    isbnLock: lock,
    links,
    linksLock: lock,
  },
  { ...open, title: 'KomgaBookEdit' },
)
export type BookEdit = Static<typeof BookEdit>

/** As {@link BookEdit}, for a series. */
export const SeriesEdit = Type.Object(
  {
    title: optional(Name),
    titleLock: lock,
    titleSort: optional(Name),
    titleSortLock: lock,
    summary: optional(Summary),
    summaryLock: lock,
    status: optional(Word),
    statusLock: lock,
    readingDirection: optional(Type.String({ maxLength: 100 })),
    readingDirectionLock: lock,
    publisher: optional(Text),
    publisherLock: lock,
    ageRating: optional(Type.Integer({ minimum: 0, maximum: 99 })),
    ageRatingLock: lock,
    language: optional(Type.String({ minLength: 1, maxLength: 35 })),
    languageLock: lock,
    genres: names,
    genresLock: lock,
    tags: names,
    tagsLock: lock,
    totalBookCount: optional(Type.Integer({ minimum: 1, maximum: INT32_MAX })),
    totalBookCountLock: lock,
    sharingLabels: names,
    sharingLabelsLock: lock,
    links,
    linksLock: lock,
    alternateTitles: optional(Type.Array(GivenTitle, { maxItems: ALTERNATE_TITLES_MAX })),
    alternateTitlesLock: lock,
  },
  { ...open, title: 'KomgaSeriesEdit' },
)
export type SeriesEdit = Static<typeof SeriesEdit>

/** The changes of an edit, with our names. Absent members stay as they are. */
export interface KomgaChange {
  /** By the fields of our own metadata patches. */
  patch: Record<string, unknown>
  /** By the names of our own locks. */
  locks: Record<string, boolean>
  genres?: string[]
  tags?: string[]
  sharingLabels?: string[]
  links?: { source: string; url: string }[]
  alternateTitles?: { label: string; title: string }[]
}

type Shown = Readonly<Record<string, unknown>>

const isEmpty = (value: unknown): boolean => value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** The order of names and people has no meaning here. */
const inOrder = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((one) => JSON.stringify(one, typeof one === 'object' && one ? Object.keys(one).sort() : undefined)).sort()
    : value

/** The members that differ from what was shown: a form sends back everything that it received, and the user has changed only some of it. */
function changedMembers<Edit extends object>(edit: Edit, shown: Shown): Partial<Edit> {
  const isSame = (name: string, value: unknown) =>
    (isEmpty(value) && isEmpty(shown[name])) || isDeepStrictEqual(inOrder(value), inOrder(shown[name]))
  const members = Object.entries(edit).filter(([name, value]) => name in shown && !name.endsWith('Lock') && !isSame(name, value))
  return Object.fromEntries(members) as Partial<Edit>
}

/** Setting a value locks it. A lock in the edit counts if it differs from what was shown, or if its member changes too. */
function locksOf(
  edit: object,
  changed: object,
  shown: Shown,
  lockNames: Readonly<Record<string, readonly string[]>>,
): Record<string, boolean> {
  const given = Object.entries(edit).filter(
    ([name, value]) => typeof value === 'boolean' && name in lockNames && (value !== shown[name] || name.replace(/Lock$/, '') in changed),
  )
  return Object.fromEntries(given.flatMap(([name, value]) => (lockNames[name] ?? []).map((ours) => [ours, value as boolean])))
}

/** Our keyword for one of Komga. @throws invalid_value */
function wordOf(words: Readonly<Record<string, string>>, member: string, given: string): string {
  const found = Object.keys(words).find((ours) => words[ours] === given.toUpperCase())
  return found ?? refuseMember(`/${member}`, `must be one of ${Object.values(words).join(', ')}`)
}

const SOURCE = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,106}$/
const ADDRESS = /^https?:\/\/\S{1,1990}$/

function readLinks(given: readonly { label: string; url: string }[]): { source: string; url: string }[] {
  const seen = new Set<string>()
  return given.map(({ label, url }, index) => {
    if (!SOURCE.test(label))
      refuseMember(`/links/${index}/label`, 'must be the name of a service: letters, digits and . _ - : without spaces, 107 at most')
    if (seen.has(label)) refuseMember(`/links/${index}/label`, 'is the name of another link too; each service has one link')
    if (!ADDRESS.test(url)) refuseMember(`/links/${index}/url`, 'must be an http or https address')
    seen.add(label)
    return { source: label, url }
  })
}

/** `2024-02-29`, with or without a time. */
const DAY = /^(\d{4})-(\d{2})-(\d{2})(T.*)?$/

function readDay(text: string | null): { year: number | null; month: number | null; day: number | null } {
  if (!text) return { year: null, month: null, day: null }
  const [year = 0, month = 0, day = 0] = DAY.exec(text)?.slice(1, 4).map(Number) ?? []
  // Date.UTC turns a day that does not exist into another one.
  const isDay = new Date(Date.UTC(2000 + (year % 400), month - 1, day)).getUTCDate() === day
  if (month < 1 || month > 12 || !isDay) refuseMember('/releaseDate', 'must be a day such as 2024-02-29')
  return { year, month, day }
}

/** Our books have one number, so that both members must say the same. */
function readNumber({ number, numberSort }: Pick<BookEdit, 'number' | 'numberSort'>): number | undefined {
  const text = number?.trim()
  const fromText = text ? Number(text) : undefined
  // Number reads other notations too, such as 0x10.
  if (text && !/^-?\d{1,16}(\.\d{1,16})?$/.test(text))
    refuseMember('/number', 'must be a number such as 3 or 10.5: this server shows and sorts books by the same number')
  if (fromText !== undefined && numberSort != null && fromText !== numberSort)
    refuseMember('/numberSort', 'differs from the member number; this server shows and sorts books by the same number')
  return fromText ?? numberSort ?? undefined
}

/** People with our roles. A person that was shown under a role keeps their own: several of our roles are one in Komga. @throws invalid_value for an unknown role */
function readAuthors(given: readonly { name: string; role: string }[], stored: readonly Author[]): Author[] {
  const authors = given.flatMap(({ name, role }, index) => {
    const known = stored.filter((person) => person.name === name && roleOf(person.role) === role.toLowerCase())
    if (known.length > 0) return known
    const ours = rolesBehind(role.toLowerCase()).find((one) => (AUTHOR_ROLES as readonly string[]).includes(one))
    if (ours === undefined) {
      const roles = [...new Set(AUTHOR_ROLES.map(roleOf))].sort().join(', ')
      refuseMember(`/authors/${index}/role`, `is "${role.slice(0, 40)}", which is no role of this server; the roles are ${roles}`)
    }
    return [{ name, role: ours as Author['role'] }]
  })
  return [...new Map(authors.map((author) => [`${author.role} ${author.name}`, author])).values()]
}

const BOOK_LOCK_NAMES: Readonly<Record<string, readonly string[]>> = {
  titleLock: ['titleLock'],
  summaryLock: ['summaryLock'],
  numberLock: ['numberLock'],
  numberSortLock: ['numberLock'],
  releaseDateLock: ['yearLock', 'monthLock', 'dayLock'],
  authorsLock: ['authorsJsonLock'],
  isbnLock: ['isbnsLock'],
}

/** The changes of an edit of a book. @throws invalid_value with the path of the member */
export function readBookEdit(
  edit: BookEdit,
  of: { shown: KomgaBook['metadata']; authors: readonly Author[]; isbns: string | null },
): KomgaChange {
  const changed = changedMembers(edit, of.shown)
  const patch: Record<string, unknown> = {}
  if (changed.title) patch['title'] = changed.title
  if ('summary' in changed) patch['summary'] = changed.summary || null
  const number = readNumber(changed)
  if (number !== undefined) patch['number'] = number
  if ('releaseDate' in changed) Object.assign(patch, readDay(changed.releaseDate ?? null))
  if ('authors' in changed) patch['authors'] = readAuthors(changed.authors ?? [], of.authors)
  if ('isbn' in changed) {
    if (changed.isbn && readIsbns(changed.isbn).invalid.length > 0) refuseMember('/isbn', 'is no ISBN: its length or check digit is wrong')
    const others = of.isbns?.split(',').slice(1) ?? []
    patch['isbns'] = changed.isbn ? [changed.isbn, ...others].join(',') : null
  }
  // Locks all parts of the date, those that did not change too: otherwise a machine could change a part of a date that a person set.
  const dated: Record<string, boolean> = changed.releaseDate ? { yearLock: true, monthLock: true, dayLock: true } : {}
  return {
    patch,
    locks: { ...dated, ...locksOf(edit, changed, of.shown, BOOK_LOCK_NAMES) },
    ...('tags' in changed && { tags: changed.tags ?? [] }),
    ...('links' in changed && { links: readLinks(changed.links ?? []) }),
  }
}

const SERIES_LOCK_NAMES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      'title',
      'titleSort',
      'summary',
      'status',
      'readingDirection',
      'publisher',
      'ageRating',
      'language',
      'genres',
      'tags',
      'alternateTitles',
    ].map((name) => [`${name}Lock`, [name]]),
  ),
  totalBookCountLock: ['totalVolumeCount'],
}

/** As {@link readBookEdit}. */
export function readSeriesEdit(edit: SeriesEdit, shown: KomgaSeries['metadata']): KomgaChange {
  const changed = changedMembers(edit, shown)
  const patch: Record<string, unknown> = {}
  if (changed.title) patch['title'] = changed.title
  if (changed.titleSort) patch['titleSort'] = changed.titleSort
  // Keywords are case-insensitive.
  if (changed.status && changed.status.toUpperCase() !== shown.status) patch['status'] = wordOf(STATUSES, 'status', changed.status)
  if ('readingDirection' in changed && changed.readingDirection?.toUpperCase() !== shown.readingDirection)
    patch['readingDirection'] = changed.readingDirection ? wordOf(DIRECTIONS, 'readingDirection', changed.readingDirection) : null
  for (const name of ['summary', 'publisher', 'language'] as const) if (name in changed) patch[name] = changed[name] || null
  if ('ageRating' in changed) patch['ageRating'] = changed.ageRating ?? null
  if ('totalBookCount' in changed) patch['totalVolumeCount'] = changed.totalBookCount ?? null
  return {
    patch,
    locks: locksOf(edit, changed, shown, SERIES_LOCK_NAMES),
    ...('genres' in changed && { genres: changed.genres ?? [] }),
    ...('tags' in changed && { tags: changed.tags ?? [] }),
    ...('sharingLabels' in changed && { sharingLabels: changed.sharingLabels ?? [] }),
    ...('links' in changed && { links: readLinks(changed.links ?? []) }),
    ...('alternateTitles' in changed && { alternateTitles: (changed.alternateTitles ?? []).map(({ label, title }) => ({ label, title })) }),
  }
}
