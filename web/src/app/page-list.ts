import { type ComponentType, lazy } from 'react'
import type { Address } from '#app/addresses.ts'

/** Pages are loaded when they are opened; each module exports its page as default. Addresses without a page are places for later ones. */
export const PAGES: Partial<Record<Address, ComponentType>> = {
  '/setup': lazy(() => import('#pages/setup/setup-page.tsx')),
  '/work': lazy(() => import('#pages/work/work-page.tsx')),
  '/': lazy(() => import('#pages/home/home-page.tsx')),
  '/libraries': lazy(() => import('#pages/browse/libraries-page.tsx')),
  '/libraries/:libraryId': lazy(() => import('#pages/browse/library-page.tsx')),
  '/series': lazy(() => import('#pages/browse/series-list-page.tsx')),
  '/series/:seriesId': lazy(() => import('#pages/series/series-page.tsx')),
  '/books': lazy(() => import('#pages/browse/book-list-page.tsx')),
  '/books/:bookId': lazy(() => import('#pages/book/book-page.tsx')),
  '/views/:viewId': lazy(() => import('#pages/browse/view-page.tsx')),
  '/search': lazy(() => import('#pages/search/search-page.tsx')),
  '/collections': lazy(() => import('#pages/lists/collections-page.tsx')),
  '/collections/:collectionId': lazy(() => import('#pages/lists/collection-page.tsx')),
  '/read-lists': lazy(() => import('#pages/lists/read-lists-page.tsx')),
  '/read-lists/:readListId': lazy(() => import('#pages/lists/read-list-page.tsx')),
  '/want-to-read': lazy(() => import('#pages/lists/want-to-read-page.tsx')),
  '/people': lazy(() => import('#pages/people/people-page.tsx')),
  '/tags': lazy(() => import('#pages/tags/tags-page.tsx')),
  '/recommendations': lazy(() => import('#pages/recommendations/recommendations-page.tsx')),
  '/history': lazy(() => import('#pages/history/history-page.tsx')),
  '/profile': lazy(() => import('#pages/profile/profile-page.tsx')),
  '/admin': lazy(() => import('#admin/admin-page.tsx')),
  '/admin/:section': lazy(() => import('#admin/admin-page.tsx')),
  '/books/:bookId/read': lazy(() => import('#reader/read-page.tsx')),
}

/** Pages without the frame. */
export const ALONE: ReadonlySet<Address> = new Set<Address>(['/books/:bookId/read', '/setup'])

/** Whether something is shown at this address. */
export const hasPage = (address: Address): boolean => PAGES[address] !== undefined
