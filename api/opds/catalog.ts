import type { Static } from 'typebox'
import Type from 'typebox'
import { pageQuery, readPage } from '#api/http/pagination.ts'
import type { Needs } from '#api/http/services.ts'
import type { Feed, Place } from '#api/opds/feed-model.ts'
import type { Caller } from '#core/account/caller.ts'
import { OneOf, Uuid } from '#core/foundation/schema.ts'

type Services = Needs<'database' | 'recommendations' | 'settings'>

/** What every feed is made from. */
export interface CatalogCall {
  services: Services
  caller: Caller
  /** OPDS 2.0 shows groups of several feeds in one; OPDS 1.2 knows none, and nothing is read for it that it does not show. */
  hasGroups: boolean
}

/** Served when the client names none, as by REST. */
const PAGE_SIZE_DEFAULT = 50
/** More is served as this many: devices with electronic paper read the whole document before they show its first line. */
const PAGE_SIZE_MAX = 100

export const pagingQuery = {
  page: pageQuery.page,
  pageSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Entries per page; ${PAGE_SIZE_DEFAULT} unless said. More than ${PAGE_SIZE_MAX} is served as ${PAGE_SIZE_MAX}.`,
    }),
  ),
}
export const PagingQuery = Type.Object(pagingQuery)
export type PagingQuery = Static<typeof PagingQuery>

export const READ_STATUSES = ['unread', 'in_progress', 'read'] as const
/** Orders of books by name. */
const BOOK_SORTS = ['title', 'series', 'added', 'released'] as const

/** What narrows a list of books down, and orders it. */
export const BookFeedQuery = Type.Object({
  ...pagingQuery,
  libraryId: Type.Optional(Uuid),
  readStatus: Type.Optional(OneOf([...READ_STATUSES])),
  sort: Type.Optional(OneOf([...BOOK_SORTS])),
})
export type BookFeedQuery = Static<typeof BookFeedQuery>

/** The part of a list that one page of a feed shows. */
export function windowOf({ page, pageSize }: PagingQuery): { page: number; pageSize: number; offset: number; limit: number } {
  return readPage({ ...(page !== undefined && { page }), pageSize: Math.min(pageSize ?? PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX) })
}

/** What of the paging stands in the addresses of further pages. */
export const sizeQuery = ({ pageSize }: PagingQuery): { pageSize: number | undefined } => ({ pageSize })

export const ROOT: Place = { path: '', kind: 'navigation' }

/** A feed that has nothing but what is said of it. */
export const feedOf = (feed: Pick<Feed, 'id' | 'title' | 'updated' | 'place'> & Partial<Feed>): Feed => ({
  up: ROOT,
  navigation: [],
  publications: [],
  groups: [],
  facets: [],
  paging: null,
  namesSeries: false,
  ...feed,
})
