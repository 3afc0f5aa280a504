import type { FullBook } from '#core/catalog/book-query.ts'
import { CONTRIBUTOR_OF_ROLE } from '#core/metadata/contributor-role.ts'
import type { Author } from '#core/metadata/field.ts'
import { readIsbns } from '#core/metadata/isbn.ts'
import { languageTag } from '#core/metadata/language-tag.ts'
import { dayOf, issuedOf } from '#core/metadata/release-date.ts'

type Contributor = string | { name: string; sortAs?: string; role?: string }

/** More than any publication has; a manifest is for reading, not for cataloging. */
const SUBJECTS_MAX = 200

/** The metadata of a web publication, from the book's record here, so that corrections by users appear in it. */
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
    language: languageTag(text('languageIso')),
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
    const { member, relator } = CONTRIBUTOR_OF_ROLE[role]
    members[member] ??= new Map()
    if (members[member].has(name)) continue
    members[member].set(name, sortName || relator ? present({ name, sortAs: sortName ?? undefined, role: relator }) : name)
  }
  return Object.fromEntries(Object.entries(members).map(([member, people]) => [member, [...people.values()]]))
}

/** An ISBN is the same for every copy; a book without one is identified by its record here. */
function identifierOf(bookId: string, isbns: string | undefined): string {
  const [isbn] = readIsbns(isbns ?? '').valid
  return isbn === undefined ? `urn:uuid:${bookId}` : `urn:isbn:${isbn}`
}

/** ISO 8601 as a whole date. */
function publishedOf(known: Record<string, unknown>): string | undefined {
  const { year = null, month = null, day = null } = known as Record<string, number | null | undefined>
  const issued = issuedOf({ year, month, day })
  return issued === null ? undefined : dayOf(issued)
}

function numberOf(text: string | undefined): number | undefined {
  const number = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** Omits members without a value. */
function present<T extends Record<string, unknown>>(members: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as never
}
