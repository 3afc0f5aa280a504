import type { Route } from '#api/http/endpoint.ts'
import { komgaBookRoutes } from '#api/komga/book-routes.ts'
import { komgaEventRoutes } from '#api/komga/event-routes.ts'
import { komgaLibraryRoutes } from '#api/komga/library-routes.ts'
import { komgaPageRoutes } from '#api/komga/page-routes.ts'
import { komgaProgressRoutes } from '#api/komga/progress-routes.ts'
import { komgaSeriesRoutes } from '#api/komga/series-routes.ts'
import { komgaShelfRoutes } from '#api/komga/shelf-routes.ts'
import { komgaTachiyomiRoutes } from '#api/komga/tachiyomi-routes.ts'
import { komgaUserRoutes } from '#api/komga/user-routes.ts'
import { komgaVocabularyRoutes } from '#api/komga/vocabulary-routes.ts'
import type { Services } from '#api/services.ts'

/** The interface of Komga as far as its clients use it: adapters onto what our own routes call. */
export const komgaRoutes: readonly Route<Services>[] = [
  ...komgaUserRoutes,
  ...komgaLibraryRoutes,
  ...komgaSeriesRoutes,
  ...komgaBookRoutes,
  ...komgaPageRoutes,
  ...komgaProgressRoutes,
  ...komgaTachiyomiRoutes,
  ...komgaShelfRoutes,
  ...komgaVocabularyRoutes,
  ...komgaEventRoutes,
]
