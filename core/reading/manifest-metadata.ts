import type { FullBook } from '#core/catalog/book-query.ts'
import { CONTRIBUTOR_OF_ROLE } from '#core/fields/contributor-role.ts'
import type { Author } from '#core/fields/field.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { languageTag } from '#core/fields/language-tag.ts'
import { dayOf, issuedOf } from '#core/fields/release-date.ts'

type Contributor = string | { name: string; sortAs?: string; role?: string }

/** The members of Readium's metadata schema that this server fills in; each role of a person has a member of its own. */
interface ManifestMetadata {
  '@type': string
  identifier: string
  title: string
  modified: string
  belongsTo: { series: { name: string; position?: number } }
  [member: string]: unknown
}

/** More than any publication has; a manifest is for reading, not for cataloging. */
const SUBJECTS_MAX = 200

/** The metadata of a web publication, from the book's record here, so that corrections by users appear in it. */
export function manifestMetadata(book: FullBook): ManifestMetadata {
  const { metadata } = book
  const genres = [...book.genres, ...book.tags].map(({ name }) => name)
  const subjects = [...new Set([...genres, ...(metadata.subjects ?? [])])].slice(0, SUBJECTS_MAX)
  return present({
    '@type': book.fileFormat === 'epub' || book.fileFormat === 'pdf' ? 'http://schema.org/Book' : 'http://schema.org/ComicIssue',
    identifier: identifierOf(book.id, metadata.isbns),
    title: book.title,
    sortAs: book.titleSort ?? undefined,
    subtitle: metadata.subtitle || undefined,
    modified: book.updatedAt,
    published: publishedOf(metadata),
    language: languageTag(metadata.languageIso || undefined),
    ...contributorsOf(metadata.authors ?? []),
    publisher: metadata.publisher || undefined,
    imprint: metadata.imprint || undefined,
    subject: subjects.length > 0 ? subjects : undefined,
    description: metadata.summary || undefined,
    belongsTo: { series: present({ name: book.seriesName, position: numberOf(metadata.number) }) },
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
function identifierOf(bookId: string, isbns: string | null | undefined): string {
  const [isbn] = readIsbns(isbns ?? '').valid
  return isbn === undefined ? `urn:uuid:${bookId}` : `urn:isbn:${isbn}`
}

/** ISO 8601 as a whole date. */
function publishedOf({ year = null, month = null, day = null }: Pick<FullBook['metadata'], 'year' | 'month' | 'day'>): string | undefined {
  const issued = issuedOf({ year, month, day })
  return issued === null ? undefined : dayOf(issued)
}

function numberOf(text: string | null | undefined): number | undefined {
  const number = text ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Omits members without a value. */
function present<T extends Record<string, unknown>>(members: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(given) as { [Name in keyof T]: NonNullable<T[Name]> }
}
