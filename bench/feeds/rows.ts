import type { RunningServer } from '#test/support/running-server.ts'

/** The servers and records that a row is measured with. */
export interface Bench {
  server: RunningServer
  /** Sends the same covers and does nothing else. */
  bare: { port: number }
  /** Books with covers, pages and metadata. */
  bookIds: string[]
  seriesIds: string[]
}

/** Requests that are sent repeatedly. */
export interface Target {
  /** Default: that of the server. */
  port?: number
  paths: string[]
  headers?: Record<string, string>
}

/** Two targets that are loaded in turn, and the limit for the ratio of their response times. */
export interface Row {
  name: string
  of(bench: Bench): Target
  against(bench: Bench): Target
  /** Response time of the first divided by that of the second. */
  atMost: number
  /** Concurrent requests; 1 by default. */
  connections?: number
}

const restBooks = (): Target => ({ paths: ['/api/v1/books?pageSize=50'] })

/**
 * Compared with a bare server that reads and sends the same bytes. The 40 KB of a thumbnail cost next to nothing, so this is the cost of any request:
 * authentication, visibility, finding the file, and checking its folder. Chosen, not measured: measure it on an idle machine and lower it.
 */
const THUMBNAILS_RATIO_MAX = 8

/** The feeds, and the pictures that they link to. */
const FEEDS: readonly Row[] = [
  { name: 'OPDS 1.2, 50 books', of: () => ({ paths: ['/opds/v1/catalog/books?pageSize=50'] }), against: restBooks, atMost: 1.5 },
  { name: 'OPDS 2.0, 50 books', of: () => ({ paths: ['/opds/v2/books?pageSize=50'] }), against: restBooks, atMost: 1.5 },
  {
    ...{ name: 'OPDS 1.2, 50 series', atMost: 1.5 },
    of: () => ({ paths: ['/opds/v1/catalog/series?pageSize=50'] }),
    against: () => ({ paths: ['/api/v1/series?pageSize=50'] }),
  },
  {
    ...{ name: 'covers of feeds', connections: 16, atMost: 1.1 },
    of: ({ bookIds }) => ({ paths: bookIds.map((id) => `/opds/books/${id}/cover`) }),
    against: ({ bookIds }) => ({ paths: bookIds.map((id) => `/api/v1/books/${id}/thumbnail`) }),
  },
  {
    ...{ name: 'thumbnails', connections: 16, atMost: THUMBNAILS_RATIO_MAX },
    of: ({ bookIds }) => ({ paths: bookIds.map((id) => `/api/v1/books/${id}/thumbnail`) }),
    against: ({ bookIds, bare: { port } }) => ({ port, paths: bookIds.map((_, index) => `/${index}`), headers: {} }),
  },
]

/** The compatibility API: the first page of its list of books against the same list of REST. */
const COMPATIBILITY: readonly Row[] = [
  {
    ...{ name: 'Komga, 50 books', atMost: 1.3 },
    of: () => ({ paths: ['/komga/api/v1/books?page=0&size=50&sort=metadata.title,asc'] }),
    against: restBooks,
  },
]

export const ROWS: readonly Row[] = [...FEEDS, ...COMPATIBILITY]
