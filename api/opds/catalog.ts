import type { Static } from 'typebox'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { pageQuery, readPageWindow } from '#api/http/pagination.ts'
import { type Feed, type FeedAddress, latestOf, type NavigationEntry } from '#api/opds/feed-model.ts'
import type { Caller } from '#core/account/caller.ts'
import { OneOf, Uuid } from '#core/foundation/schema.ts'
import { cutText } from '#core/foundation/text.ts'
import type { ListState } from '#core/paging/list-state.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<PluginServices, 'recommendations'>

/** What every feed is built from. */
export interface CatalogCall {
  services: Services
  caller: Caller
  /** Of the library, as its administrators call it. */
  name: string
  /** The state of the catalog before the feed; undefined for feeds that show more than the catalog. */
  listState?: ListState | undefined
  /** Whether to build groups: OPDS 2.0 shows them, OPDS 1.2 cannot, so nothing is read for them there. */
  hasGroups: boolean
}

/** Page size if the client gives none, as in REST. */
const PAGE_SIZE_DEFAULT = 50
/** Larger page sizes are reduced to this: e-readers parse the whole document before they show the first line. */
const PAGE_SIZE_MAX = 100
/** Lists show no longer summaries. */
const SUMMARY_LENGTH_MAX = 500

export const pagingQuery = {
  page: pageQuery.page,
  pageSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Entries per page; default ${PAGE_SIZE_DEFAULT}. Values above ${PAGE_SIZE_MAX} are reduced to ${PAGE_SIZE_MAX}.`,
    }),
  ),
}
export const PagingQuery = Type.Object(pagingQuery)
export type PagingQuery = Static<typeof PagingQuery>

export const READ_STATUSES = ['unread', 'in_progress', 'read'] as const
/** Names of the sort orders of books. */
const BOOK_SORTS = ['title', 'series', 'added', 'released'] as const

/** Filter and order of a list of books. */
export const BookFeedQuery = Type.Object({
  ...pagingQuery,
  libraryId: Type.Optional(Uuid),
  readStatus: Type.Optional(OneOf([...READ_STATUSES])),
  sort: Type.Optional(OneOf([...BOOK_SORTS])),
})
export type BookFeedQuery = Static<typeof BookFeedQuery>

/** The window of a list that one page of a feed shows. */
export function windowOf({ page, pageSize }: PagingQuery): { page: number; pageSize: number; offset: number; limit: number } {
  return readPageWindow({ ...(page !== undefined && { page }), pageSize: Math.min(pageSize ?? PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX) })
}

/** The paging members that links to other pages keep. */
export const sizeQuery = ({ pageSize }: PagingQuery): { pageSize: number | undefined } => ({ pageSize })

export const ROOT: FeedAddress = { path: '', kind: 'navigation' }

/** A feed with defaults for everything that is not given. */
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

export const shortSummary = (text: string | null): string | null => (text ? cutText(text, SUMMARY_LENGTH_MAX) : null)

/** A list of links to other lists. */
export interface LinkList<Item> {
  id: string
  title: string
  path: string
  /** Query members of the list itself. */
  query?: FeedAddress['query']
  up?: FeedAddress
  list(window: { offset: number; limit: number }): Promise<{ items: Item[]; total: number }>
  entry(item: Item): Omit<NavigationEntry, 'updated'> & { updated: string | null }
}

/** One page of a list of links to other lists. */
export async function listFeed<Item>(request: PagingQuery, about: LinkList<Item>): Promise<Feed> {
  const { id, title, path, query, up = ROOT } = about
  const { page, pageSize, ...window } = windowOf(request)
  const { items, total } = await about.list(window)
  const never = latestOf([])
  const navigation = items.map((item) => {
    const entry = about.entry(item)
    return { ...entry, updated: entry.updated ?? never }
  })
  const place: FeedAddress = { path, query: { ...query, ...sizeQuery(request) }, kind: 'navigation' }
  return feedOf({ id, title, place, up, updated: latestOf(navigation), navigation, paging: { page, pageSize, total } })
}
