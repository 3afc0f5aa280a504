import { isDeepStrictEqual } from 'node:util'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { KomgaBook } from '#api/komga/book-view.ts'
import { DIRECTIONS, type KomgaSeries, STATUSES } from '#api/komga/series-view.ts'
import { roleOf, rolesBehind } from '#api/komga/values.ts'
import { Nullable } from '#core/foundation/schema.ts'
import { AUTHOR_ROLES, AUTHORS_MAX, type Author, Name, Natural, Summary, Text } from '#core/metadata/field.ts'
import { readIsbns } from '#core/metadata/isbn.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
import { NAMES_MAX } from '#core/metadata/name.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

/** As of links: there are fewer services. */
const LINKS_MAX = 200
const open = { additionalProperties: true, maxProperties: 100 } as const
const optional = <const T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Nullable(schema))
const lock = optional(Type.Boolean())
const names = optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: NAMES_MAX }))
/** As they are sent; what of them is known here is looked at one by one. */
const Given = Type.String({ maxLength: 2_000 })
const GivenPerson = Type.Object({ name: Name, role: Type.String({ maxLength: 100 }) }, open)
const GivenTitle = Type.Object(
  { label: Type.String({ minLength: 1, maxLength: 500 }), title: Type.String({ minLength: 1, maxLength: 500 }) },
  open,
)
const links = optional(Type.Array(Type.Object({ label: Given, url: Given }, open), { maxItems: LINKS_MAX }))

/** What apps send of a book's metadata: all of a form, or what somebody changed. */
export const BookEdit = Type.Object(
  {
    ...{ title: optional(Name), titleLock: lock, summary: optional(Summary), summaryLock: lock },
    ...{ number: optional(Type.String({ maxLength: 100 })), numberLock: lock, numberSort: optional(Type.Number()), numberSortLock: lock },
    ...{ releaseDate: optional(Type.String({ maxLength: 40 })), releaseDateLock: lock },
    ...{ authors: optional(Type.Array(GivenPerson, { maxItems: AUTHORS_MAX })), authorsLock: lock, tags: names, tagsLock: lock },
    ...{ isbn: optional(Type.String({ maxLength: 100 })), isbnLock: lock, links, linksLock: lock },
  },
  { ...open, title: 'KomgaBookEdit' },
)
export type BookEdit = Static<typeof BookEdit>

/** As {@link BookEdit}, of a series. */
export const SeriesEdit = Type.Object(
  {
    ...{
      title: optional(Name),
      titleLock: lock,
      titleSort: optional(Name),
      titleSortLock: lock,
      summary: optional(Summary),
      summaryLock: lock,
    },
    ...{ status: optional(Type.String({ maxLength: 100 })), statusLock: lock },
    ...{ readingDirection: optional(Type.String({ maxLength: 100 })), readingDirectionLock: lock },
    ...{
      publisher: optional(Text),
      publisherLock: lock,
      ageRating: optional(Type.Integer({ minimum: 0, maximum: 99 })),
      ageRatingLock: lock,
    },
    ...{
      language: optional(Type.String({ maxLength: 35 })),
      languageLock: lock,
      genres: names,
      genresLock: lock,
      tags: names,
      tagsLock: lock,
    },
    ...{
      totalBookCount: optional(Natural),
      totalBookCountLock: lock,
      sharingLabels: names,
      sharingLabelsLock: lock,
      links,
      linksLock: lock,
    },
    alternateTitles: optional(Type.Array(GivenTitle, { maxItems: ALTERNATE_TITLES_MAX })),
    alternateTitlesLock: lock,
  },
  { ...open, title: 'KomgaSeriesEdit' },
)
export type SeriesEdit = Static<typeof SeriesEdit>

/** What an edit changes, in our words. Members that are absent stay. */
export interface MetadataChange {
  /** By the fields of our own patches. */
  patch: Record<string, unknown>
  /** By our own names of locks. */
  locks: Record<string, boolean>
  genres?: string[]
  tags?: string[]
  sharingLabels?: string[]
  links?: { source: string; url: string }[]
  alternateTitles?: { label: string; title: string }[]
}

type Shown = Readonly<Record<string, unknown>>

const isNothing = (value: unknown): boolean => value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** Lists of names and people have no order here. */
const inOrder = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((one) => JSON.stringify(one, typeof one === 'object' && one ? Object.keys(one).sort() : undefined)).sort()
    : value

/** The members that say something else than what was shown: a form sends back all that it was given, and of that nobody has said anything. */
function changedMembers<Edit extends object>(edit: Edit, shown: Shown): Partial<Edit> {
  const isSame = (name: string, value: unknown) =>
    (isNothing(value) && isNothing(shown[name])) || isDeepStrictEqual(inOrder(value), inOrder(shown[name]))
  const members = Object.entries(edit).filter(([name, value]) => name in shown && !name.endsWith('Lock') && !isSame(name, value))
  return Object.fromEntries(members) as Partial<Edit>
}

/** A value locks what it sets. A lock that is said counts where it is another one than was shown, or where its member is changed with it. */
function locksOf(
  edit: object,
  changed: object,
  shown: Shown,
  lockNames: Readonly<Record<string, readonly string[]>>,
): Record<string, boolean> {
  const said = Object.entries(edit).filter(
    ([name, value]) => typeof value === 'boolean' && name in lockNames && (value !== shown[name] || name.replace(/Lock$/, '') in changed),
  )
  return Object.fromEntries(said.flatMap(([name, value]) => (lockNames[name] ?? []).map((ours) => [ours, value as boolean])))
}

/** The words of Komga for one of ours. @throws invalid_value */
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
    if (seen.has(label)) refuseMember(`/links/${index}/label`, 'is that of another link; of a service there is one')
    if (!ADDRESS.test(url)) refuseMember(`/links/${index}/url`, 'must be an http or https address')
    seen.add(label)
    return { source: label, url }
  })
}

/** `2024-02-29`, also with a time behind it. */
const DAY = /^(\d{4})-(\d{2})-(\d{2})(T.*)?$/

function readDay(text: string | null): { year: number | null; month: number | null; day: number | null } {
  if (!text) return { year: null, month: null, day: null }
  const [year = 0, month = 0, day = 0] = DAY.exec(text)?.slice(1, 4).map(Number) ?? []
  // A day that no calendar has becomes another one.
  const isDay = new Date(Date.UTC(2000 + (year % 400), month - 1, day)).getUTCDate() === day
  if (month < 1 || month > 12 || !isDay) refuseMember('/releaseDate', 'must be a day such as 2024-02-29')
  return { year, month, day }
}

/** A text is a number, for books are counted by one that both show. */
function readNumber({ number, numberSort }: Pick<BookEdit, 'number' | 'numberSort'>): number | undefined {
  const text = number?.trim()
  const fromText = text ? Number(text) : undefined
  if (fromText !== undefined && !Number.isFinite(fromText))
    refuseMember(
      '/number',
      'must be a number such as 3 or 10.5: the number that is shown and the one that books are sorted by are one here',
    )
  if (fromText !== undefined && numberSort != null && fromText !== numberSort)
    refuseMember('/numberSort', 'is another number than the member number; they are one here')
  return fromText ?? numberSort ?? undefined
}

/** People with our roles; who was shown under a role keeps the one that they have here. @throws invalid_value for a role that nobody knows */
function readAuthors(given: readonly { name: string; role: string }[], stored: readonly Author[]): Author[] {
  const authors = given.flatMap(({ name, role }, index) => {
    const known = stored.filter((person) => person.name === name && roleOf(person.role) === role.toLowerCase())
    if (known.length > 0) return known
    const ours = rolesBehind(role.toLowerCase()).find((one) => (AUTHOR_ROLES as readonly string[]).includes(one))
    if (ours === undefined) {
      const roles = [...new Set(AUTHOR_ROLES.map(roleOf))].sort().join(', ')
      refuseMember(`/authors/${index}/role`, `is "${role.slice(0, 40)}", which is no role here; there are ${roles}`)
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

/** What an edit of a book changes. @throws invalid_value with the path of the member */
export function readBookEdit(
  edit: BookEdit,
  of: { shown: KomgaBook['metadata']; authors: readonly Author[]; isbns: string | null },
): MetadataChange {
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
  // Of a day of which a part stood already all is locked: machines change no part of what a person said.
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
export function readSeriesEdit(edit: SeriesEdit, shown: KomgaSeries['metadata']): MetadataChange {
  const changed = changedMembers(edit, shown)
  const patch: Record<string, unknown> = {}
  if (changed.title) patch['title'] = changed.title
  if (changed.titleSort) patch['titleSort'] = changed.titleSort
  // A word in another case is the same word.
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
