import { type ComponentType, lazy } from 'react'
import type { Address } from '#app/addresses.ts'
import { loadPart } from '#parts/load-part.ts'

const page = (load: () => Promise<{ default: ComponentType }>) => lazy(() => loadPart(load))

/** Pages are loaded when they are opened; each module exports its page as default. Addresses without a page are places for later ones. */
export const PAGES: Partial<Record<Address, ComponentType>> = {
  '/setup': page(() => import('#pages/setup/setup-page.tsx')),
  '/work': page(() => import('#pages/work/work-page.tsx')),
  '/': page(() => import('#pages/home/home-page.tsx')),
  '/libraries': page(() => import('#pages/browse/libraries-page.tsx')),
  '/libraries/:libraryId': page(() => import('#pages/browse/library-page.tsx')),
  '/series': page(() => import('#pages/browse/series-list-page.tsx')),
  '/series/:seriesId': page(() => import('#pages/series/series-page.tsx')),
  '/books': page(() => import('#pages/browse/book-list-page.tsx')),
  '/books/:bookId': page(() => import('#pages/book/book-page.tsx')),
  '/views/:viewId': page(() => import('#pages/browse/view-page.tsx')),
  '/search': page(() => import('#pages/search/search-page.tsx')),
  '/collections': page(() => import('#pages/lists/collections-page.tsx')),
  '/collections/:collectionId': page(() => import('#pages/lists/collection-page.tsx')),
  '/read-lists': page(() => import('#pages/lists/read-lists-page.tsx')),
  '/read-lists/:readListId': page(() => import('#pages/lists/read-list-page.tsx')),
  '/want-to-read': page(() => import('#pages/lists/want-to-read-page.tsx')),
  '/people': page(() => import('#pages/people/people-page.tsx')),
  '/tags': page(() => import('#pages/tags/tags-page.tsx')),
  '/recommendations': page(() => import('#pages/recommendations/recommendations-page.tsx')),
  '/history': page(() => import('#pages/history/history-page.tsx')),
  '/profile': page(() => import('#pages/profile/profile-page.tsx')),
  '/admin': page(() => import('#admin/admin-page.tsx')),
  '/admin/:section': page(() => import('#admin/admin-page.tsx')),
  '/books/:bookId/read': page(() => import('#reader/read-page.tsx')),
}

/** Pages without the frame. */
export const ALONE: ReadonlySet<Address> = new Set<Address>(['/books/:bookId/read', '/setup'])

/** Whether something is shown at this address. */
export const hasPage = (address: Address): boolean => PAGES[address] !== undefined
