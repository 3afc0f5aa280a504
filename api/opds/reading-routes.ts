import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { Route } from '#api/http/endpoint.ts'
import { OPDS2_ROOT } from '#api/opds/addresses.ts'
import { opdsMount } from '#api/opds/authentication-document.ts'
import { bookContentRoutes } from '#api/rest/reading/book-content.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { readingRoutes } from '#api/rest/reading/reading.ts'

type Services = Pick<ContentServices, 'pageReader' | 'sizedCovers' | 'positionLists' | 'publications'> &
  Pick<DataServices, 'database' | 'settings'>

const REST_BOOKS = '/api/v1/books/'
const OPDS2_BOOKS = `${OPDS2_ROOT}/books/`

/** The REST routes for reading. */
const REST_ROUTES: readonly Route<Services>[] = [...readingRoutes, ...bookContentRoutes, ...progressRoutes]

/** The manifest of a publication and everything it links to; its links are relative, so they work at both addresses. */
const READ_HERE = new Set(
  ['manifest', 'positions', 'progression', 'resource/:resourcePath*', 'pages/:pageNumber', 'thumbnail', 'file'].map(
    (part) => `${REST_BOOKS}:bookId/${part}`,
  ),
)

/**
 * Reading online for apps that follow the links of a feed. They keep using the HTTP Basic credentials of the feed, which REST does not
 * accept, so the same routes exist here a second time.
 */
export const readingHereRoutes: readonly Route<Services>[] = REST_ROUTES.filter(({ path }) => READ_HERE.has(path)).map((route) => ({
  ...route,
  path: route.path.replace(REST_BOOKS, OPDS2_BOOKS),
  tag: 'opds2',
  mount: opdsMount,
  allow: { who: route.allow.who, basic: true },
}))
