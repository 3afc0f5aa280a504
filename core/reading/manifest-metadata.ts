import type { FullBook } from '#core/book/full-book-query.ts'
import type { Author, AuthorRole } from '#core/metadata/field.ts'

type Contributor = string | { name: string; sortAs?: string; role?: string }

/** The words of Readium for who did what; the rest have contributed, with their MARC relator where there is one. */
const ROLES: Record<AuthorRole, { member: string; role?: string }> = {
  author: { member: 'author' },
  co_author: { member: 'author' },
  writer: { member: 'author' },
  editor: { member: 'editor' },
  translator: { member: 'translator' },
  illustrator: { member: 'illustrator' },
  contributor: { member: 'contributor' },
  penciller: { member: 'penciler' },
  inker: { member: 'inker' },
  colorist: { member: 'colorist' },
  letterer: { member: 'letterer' },
  cover_artist: { member: 'contributor', role: 'cov' },
}

/** More than any publication names; a manifest is for reading, not for cataloging. */
const SUBJECTS_MAX = 200

/** The metadata of a web publication, from what is known of the book here: whoever corrected it finds it corrected. */
export function manifestMetadata(book: FullBook): Record<string, unknown> {
  const known = book.metadata as Record<string, unknown>
  const text = (name: string) => (typeof known[name] === 'string' && known[name] !== '' ? (known[name] as string) : undefined)
  const genres = [...book.genres, ...book.tags].map(({ name }) => name)
  const subjects = [...new Set([...genres, ...((known['subjects'] as string[] | null) ?? [])])].slice(0, SUBJECTS_MAX)
  return present({
    '@type': book.fileFormat === 'epub' || book.fileFormat === 'pdf' ? 'http://schema.org/Book' : 'http://schema.org/ComicIssue',
    identifier: identifierOf(book.id, text('isbns')),
    title: book.title,
    sortAs: book.titleSort ?? undefined,
    subtitle: text('subtitle'),
    modified: book.updatedAt,
    published: publishedOf(known),
    language: languageOf(text('languageIso')),
    ...contributorsOf((known['authors'] as Author[] | null) ?? []),
    publisher: text('publisher'),
    imprint: text('imprint'),
    subject: subjects.length > 0 ? subjects : undefined,
    description: text('summary'),
    belongsTo: { series: present({ name: book.seriesName, position: numberOf(text('number')) }) },
  })
}

function contributorsOf(authors: readonly Author[]): Record<string, Contributor[]> {
  const members: Record<string, Map<string, Contributor>> = {}
  for (const { name, role, sortName } of authors) {
    const { member, role: relator } = ROLES[role]
    members[member] ??= new Map()
    if (members[member].has(name)) continue
    members[member].set(name, sortName || relator ? present({ name, sortAs: sortName ?? undefined, role: relator }) : name)
  }
  return Object.fromEntries(Object.entries(members).map(([member, people]) => [member, [...people.values()]]))
}

/** An ISBN is the same for every copy; a book without one is known by its record here. */
function identifierOf(bookId: string, isbns: string | undefined): string {
  const isbn = isbns
    ?.split(',')
    .map((text) => text.replaceAll(/[\s-]/g, ''))
    .find((text) => /^(\d{13}|\d{9}[\dXx])$/.test(text))
  return isbn === undefined ? `urn:uuid:${bookId}` : `urn:isbn:${isbn.toUpperCase()}`
}

function publishedOf(known: Record<string, unknown>): string | undefined {
  const { year, month, day } = known as { year?: number | null; month?: number | null; day?: number | null }
  // ISO 8601 has four digits.
  if (!year || year < 0) return undefined
  const two = (value: number | null | undefined) => String(value ?? 1).padStart(2, '0')
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(month ? day : 1)}`
  // A thirtieth of February is known of some books.
  return new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) ? date : date.slice(0, 4).concat('-01-01')
}

/** BCP 47 as its grammar has it; what people wrote may be a name of a language. */
function languageOf(text: string | undefined): string | undefined {
  try {
    const [tag = ''] = Intl.getCanonicalLocales((text ?? '').replaceAll('_', '-'))
    return /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/.test(tag) ? tag : /^[a-z]{2,3}(?=-)/.exec(tag)?.[0]
  } catch {
    return undefined
  }
}

function numberOf(text: string | undefined): number | undefined {
  const number = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** Without members that have no value. */
function present<T extends Record<string, unknown>>(members: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as never
}
