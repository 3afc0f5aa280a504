import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { komgaAdminUserRoutes } from '#api/komga/admin-user-routes.ts'
import { komgaBookRoutes } from '#api/komga/book-routes.ts'
import { komgaEventRoutes } from '#api/komga/event-routes.ts'
import { komgaLibraryRoutes } from '#api/komga/library-routes.ts'
import { komgaMaintenanceRoutes } from '#api/komga/maintenance-routes.ts'
import { komgaMatchRoutes } from '#api/komga/match-routes.ts'
import { komgaMetadataRoutes } from '#api/komga/metadata-routes.ts'
import { komgaMetricRoutes } from '#api/komga/metric-routes.ts'
import { komgaPageRoutes } from '#api/komga/page-routes.ts'
import { komgaPolledRoutes } from '#api/komga/polled-routes.ts'
import { komgaProgressRoutes } from '#api/komga/progress-routes.ts'
import { komgaReadingRoutes } from '#api/komga/reading-routes.ts'
import { komgaRefusedRoutes } from '#api/komga/refused-routes.ts'
import { komgaSeriesRoutes } from '#api/komga/series-routes.ts'
import { komgaShelfRoutes } from '#api/komga/shelf-routes.ts'
import { komgaTachiyomiRoutes } from '#api/komga/tachiyomi-routes.ts'
import { komgaThumbnailRoutes } from '#api/komga/thumbnail-routes.ts'
import { komgaUserRoutes } from '#api/komga/user-routes.ts'
import { komgaVocabularyRoutes } from '#api/komga/vocabulary-routes.ts'

/** The routes of Komga that its clients use: adapters to the functions that our own routes call. */
export const komgaRoutes: readonly Route<Services>[] = [
  ...komgaUserRoutes,
  ...komgaLibraryRoutes,
  ...komgaSeriesRoutes,
  ...komgaBookRoutes,
  ...komgaPageRoutes,
  ...komgaProgressRoutes,
  ...komgaTachiyomiRoutes,
  ...komgaShelfRoutes,
  ...komgaMatchRoutes,
  ...komgaVocabularyRoutes,
  ...komgaAdminUserRoutes,
  ...komgaMetadataRoutes,
  ...komgaPolledRoutes,
  ...komgaReadingRoutes,
  ...komgaThumbnailRoutes,
  ...komgaMaintenanceRoutes,
  ...komgaEventRoutes,
  ...komgaMetricRoutes,
  ...komgaRefusedRoutes,
]
