import type { AuthorRole } from '#core/metadata/field.ts'

/**
 * The catalog as both versions of OPDS show it: feeds are built once from the lists that REST uses, and two writers (atom.ts, opds2.ts) say them in their
 * own words. Times are ISO 8601 in UTC.
 */

/** What a feed leads to: other feeds, or books to be had. OPDS 1.2 lets no feed do both. */
export type FeedKind = 'navigation' | 'acquisition'

/** An address of the catalog below the root of a version of the protocol. */
export interface Place {
  /** Begins with a slash; empty for the root itself. */
  path: string
  /** What is undefined is left out. */
  query?: Readonly<Record<string, string | number | undefined>>
  kind: FeedKind
}

/** What a feed is for, where OPDS has a relation for it. */
export type Relation = 'new' | 'recommended'

/** A way to another feed. */
export interface NavigationEntry {
  /** An IRI that stays the same. */
  id: string
  title: string
  summary: string | null
  updated: string
  place: Place
  /** Of what it leads to; null where that is not known. */
  count: number | null
  relation?: Relation
  /** The series whose cover stands for it. */
  coverOfSeries?: string
}

export interface Contributor {
  name: string
  role: AuthorRole
  sortName: string | null
}

/** A book that can be had. */
export interface Publication {
  /** Of the book. */
  id: string
  title: string
  subtitle: string | null
  updated: string
  /** As exact as it is known: `2019`, `2019-07` or `2019-07-24`. */
  issued: string | null
  summary: string | null
  contributors: readonly Contributor[]
  publisher: string | null
  /** As the book says it; need not be a tag of BCP 47. */
  language: string | null
  isbns: readonly string[]
  /** Genres and tags. */
  subjects: readonly string[]
  series: { id: string; name: string; position: number | null }
  readingDirection: 'ltr' | 'rtl' | 'ttb' | 'webtoon' | null
  /** Of its file. */
  mediaType: string
  fileBytes: number
  /** 0 where it is not known. */
  pageCount: number
  /** Whether it can be read without the file: not before it was analyzed. */
  hasManifest: boolean
  /** Whether its pages can be had as pictures, one by one. */
  isStreamed: boolean
  /** Where the reader is, by pages from 1; null where reading has not begun. */
  lastRead: { page: number; at: string } | null
  /** Whether all that is known stands here: feeds cut what is long. */
  isComplete: boolean
}

/** The beginning of another feed. */
export interface Group {
  title: string
  place: Place
  count: number | null
  navigation: readonly NavigationEntry[]
  publications: readonly Publication[]
}

/** Ways to see less of a feed, or in another order; exactly one is active. */
export interface FacetGroup {
  title: string
  facets: readonly {
    title: string
    place: Place
    isActive: boolean /** Null where counting would cost more than the feed itself. */
    count: number | null
  }[]
}

export interface Paging {
  /** From 1. */
  page: number
  pageSize: number
  total: number
}

export interface Feed {
  /** An IRI that stays the same. */
  id: string
  title: string
  updated: string
  /** Where it is, without its page. */
  place: Place
  /** Null for the root. */
  up: Place | null
  navigation: readonly NavigationEntry[]
  publications: readonly Publication[]
  groups: readonly Group[]
  facets: readonly FacetGroup[]
  /** Null where it has one page only. */
  paging: Paging | null
  /** Whether titles are told apart by their series, where the feed has books of several. */
  namesSeries: boolean
}

/** The address of a place. @param root of the version of the protocol, such as `/opds/v2` */
export function hrefOf(root: string, { path, query = {} }: Place): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? root + path : `${root}${path}?${new URLSearchParams(given)}`
}

/** The same place with other members of its query. */
export const placeWith = (place: Place, query: NonNullable<Place['query']>): Place => ({ ...place, query: { ...place.query, ...query } })

/** Where the feed itself is, and the other pages of it, by relations of RFC 5005. */
export function pagesOf({
  place,
  paging,
}: Pick<Feed, 'place' | 'paging'>): { self: Place } & Partial<Record<'first' | 'previous' | 'next' | 'last', Place>> {
  if (paging === null) return { self: place }
  const { page, pageSize, total } = paging
  const last = Math.max(Math.ceil(total / pageSize), 1)
  const at = (number: number) => placeWith(place, { page: number })
  return {
    self: page === 1 ? place : at(page),
    first: at(1),
    // From beyond the end the way back leads to the last page that exists.
    ...(page > 1 && { previous: at(Math.min(page - 1, last)) }),
    ...(page < last && { next: at(page + 1) }),
    last: at(last),
  }
}

/** The time of a feed without entries: that of nothing that could be asked about. */
const STARTED = new Date().toISOString()

/** When a feed changed: when the last of its entries did. All in the form that `Date.toISOString` gives, which sorts. */
export function latestOf(entries: readonly { updated: string }[]): string {
  return entries.reduce((latest, { updated }) => (updated > latest ? updated : latest), '') || STARTED
}
