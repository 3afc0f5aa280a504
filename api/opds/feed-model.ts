import type { AuthorRole } from '#core/fields/field.ts'

/**
 * The catalog, independent of the version of OPDS: feeds are built once from the lists that REST uses, and two writers (atom.ts, opds2.ts)
 * encode them. Times are ISO 8601 in UTC.
 */

/** What a feed contains: links to other feeds, or books. OPDS 1.2 does not allow both in one feed. */
export type FeedKind = 'navigation' | 'acquisition'

/** An address of the catalog below the root of a version of the protocol. */
export interface FeedAddress {
  /** Begins with a slash; empty for the root. */
  path: string
  /** Undefined members are left out. */
  query?: Readonly<Record<string, string | number | undefined>>
  kind: FeedKind
}

/** The OPDS relation of a feed, if there is one. */
export type Relation = 'new' | 'recommended'

/** A link to another feed. */
export interface NavigationEntry {
  /** A permanent IRI. */
  id: string
  title: string
  summary: string | null
  updated: string
  place: FeedAddress
  /** Number of entries in the target; null if unknown. */
  count: number | null
  relation?: Relation
  /** The series whose cover represents the entry. */
  coverOfSeries?: string
}

export interface Contributor {
  name: string
  role: AuthorRole
  sortName: string | null
}

/** A book that can be acquired. */
export interface FeedPublication {
  /** Id of the book. */
  id: string
  title: string
  subtitle: string | null
  updated: string
  /** As exact as known: `2019`, `2019-07` or `2019-07-24`. */
  issued: string | null
  summary: string | null
  contributors: readonly Contributor[]
  publisher: string | null
  /** As the book states it; not necessarily a BCP 47 tag. */
  language: string | null
  isbns: readonly string[]
  /** Genres and tags. */
  subjects: readonly string[]
  series: { id: string; name: string; position: number | null }
  readingDirection: 'ltr' | 'rtl' | 'ttb' | 'webtoon' | null
  /** Size of its file. */
  mediaType: string
  fileBytes: number
  /** 0 if unknown. */
  pageCount: number
  /** Whether the book can be read online; false until it is analyzed. */
  hasManifest: boolean
  /** Whether its pages are available as single pictures. */
  isStreamed: boolean
  /** The media type in which all of its pages are sent, if the client asks for no other. */
  pageType: string
  /** The user's position, in pages from 1; null if the user has not begun the book. */
  lastRead: { page: number; at: string } | null
  /** Whether the record is complete; feeds shorten long texts. */
  isComplete: boolean
}

/** The first entries of another feed. */
export interface Group {
  title: string
  place: FeedAddress
  count: number | null
  navigation: readonly NavigationEntry[]
  publications: readonly FeedPublication[]
}

/** Filters or orders of a feed; exactly one is active. */
export interface FacetGroup {
  title: string
  facets: readonly {
    title: string
    place: FeedAddress
    isActive: boolean /** Null if counting would cost more than the feed itself. */
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
  /** A permanent IRI. */
  id: string
  title: string
  updated: string
  /** Its address, without the page. */
  place: FeedAddress
  /** The parent feed; null for the root. */
  up: FeedAddress | null
  navigation: readonly NavigationEntry[]
  publications: readonly FeedPublication[]
  groups: readonly Group[]
  facets: readonly FacetGroup[]
  /** Null if it has one page only. */
  paging: Paging | null
  /** Whether titles include the series, for feeds with books of several series. */
  namesSeries: boolean
}

/** The address of a place. @param root of the version of the protocol, such as `/opds/v2` */
export function hrefOf(root: string, { path, query = {} }: FeedAddress): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? root + path : `${root}${path}?${new URLSearchParams(given)}`
}

/** The same place with changed query members. */
export const placeWith = (place: FeedAddress, query: NonNullable<FeedAddress['query']>): FeedAddress => ({
  ...place,
  query: { ...place.query, ...query },
})

/** The feed itself and its other pages, by relations of RFC 5005. */
export function pagesOf({
  place,
  paging,
}: Pick<Feed, 'place' | 'paging'>): { self: FeedAddress } & Partial<Record<'first' | 'previous' | 'next' | 'last', FeedAddress>> {
  if (paging === null) return { self: place }
  const { page, pageSize, total } = paging
  const last = Math.max(Math.ceil(total / pageSize), 1)
  const at = (number: number) => placeWith(place, { page: number })
  return {
    self: page === 1 ? place : at(page),
    first: at(1),
    // Beyond the end, `previous` is the last page that exists.
    ...(page > 1 && { previous: at(Math.min(page - 1, last)) }),
    ...(page < last && { next: at(page + 1) }),
    last: at(last),
  }
}

/** The time of a feed without entries. */
const STARTED = new Date().toISOString()

/** The latest change of any entry. All times have the form of `Date.toISOString`, which sorts as text. */
export function latestOf(entries: readonly { updated: string }[]): string {
  return entries.reduce((latest, { updated }) => (updated > latest ? updated : latest), '') || STARTED
}
