import type { Route } from '#api/http/endpoint.ts'
import { openApiRoute } from '#api/openapi.ts'
import { apiKeyRoutes } from '#api/routes/api-keys.ts'
import { authRoutes } from '#api/routes/auth.ts'
import { bookContentRoutes } from '#api/routes/book-content.ts'
import { bookMetadataRoutes } from '#api/routes/book-metadata.ts'
import { bookRoutes } from '#api/routes/books.ts'
import { healthRoutes } from '#api/routes/health.ts'
import { infoRoutes } from '#api/routes/info.ts'
import { libraryRoutes } from '#api/routes/libraries.ts'
import { progressRoutes } from '#api/routes/progress.ts'
import { readingListRoutes } from '#api/routes/reading-lists.ts'
import { seriesRoutes } from '#api/routes/series.ts'
import { setupRoutes } from '#api/routes/setup.ts'
import { taskRoutes } from '#api/routes/tasks.ts'
import { userRoutes } from '#api/routes/users.ts'
import type { Services } from '#api/services.ts'

/** The whole API as one list. The OpenAPI document is made from it, and tests walk it. */
export const routes: readonly Route<Services>[] = [
  ...healthRoutes,
  ...infoRoutes,
  ...setupRoutes,
  ...authRoutes,
  ...userRoutes,
  ...apiKeyRoutes,
  ...libraryRoutes,
  ...bookRoutes,
  ...bookMetadataRoutes,
  ...bookContentRoutes,
  ...seriesRoutes,
  ...progressRoutes,
  ...readingListRoutes,
  ...taskRoutes,
  openApiRoute(() => routes),
]
