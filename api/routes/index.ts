import type { Route } from '#api/http/endpoint.ts'
import { openApiRoute } from '#api/openapi.ts'
import { analysisRoutes } from '#api/routes/analyses.ts'
import { apiKeyRoutes } from '#api/routes/api-keys.ts'
import { authRoutes } from '#api/routes/auth.ts'
import { bookContentRoutes } from '#api/routes/book-content.ts'
import { bookMetadataRoutes } from '#api/routes/book-metadata.ts'
import { bookRoutes } from '#api/routes/books.ts'
import { bundledPluginRoutes } from '#api/routes/bundled-plugins.ts'
import { collectionRoutes } from '#api/routes/collections.ts'
import { coverRoutes } from '#api/routes/covers.ts'
import { exportRoutes } from '#api/routes/exports.ts'
import { healthRoutes } from '#api/routes/health.ts'
import { infoRoutes } from '#api/routes/info.ts'
import { libraryRoutes } from '#api/routes/libraries.ts'
import { libraryJobRoutes } from '#api/routes/library-jobs.ts'
import { matchingRoutes } from '#api/routes/matching.ts'
import { pluginActionRoutes } from '#api/routes/plugin-actions.ts'
import { pluginRepositoryRoutes } from '#api/routes/plugin-repositories.ts'
import { pluginStorageRoutes } from '#api/routes/plugin-storage.ts'
import { pluginWatchRoutes } from '#api/routes/plugin-watch.ts'
import { pluginRoutes } from '#api/routes/plugins.ts'
import { progressRoutes } from '#api/routes/progress.ts'
import { readListRoutes } from '#api/routes/read-lists.ts'
import { readingListRoutes } from '#api/routes/reading-lists.ts'
import { recommendationRoutes } from '#api/routes/recommendations.ts'
import { seriesRoutes } from '#api/routes/series.ts'
import { seriesFactRoutes } from '#api/routes/series-facts.ts'
import { seriesMetadataRoutes } from '#api/routes/series-metadata.ts'
import { seriesTitleRoutes } from '#api/routes/series-titles.ts'
import { serverMetricsRoutes } from '#api/routes/server-metrics.ts'
import { settingRoutes } from '#api/routes/settings.ts'
import { setupRoutes } from '#api/routes/setup.ts'
import { sharingTagRoutes } from '#api/routes/sharing-tags.ts'
import { taskRoutes } from '#api/routes/tasks.ts'
import { taxonomyRoutes } from '#api/routes/taxonomy.ts'
import { templateRoutes } from '#api/routes/templates.ts'
import { userPluginRoutes } from '#api/routes/user-plugins.ts'
import { userRoutes } from '#api/routes/users.ts'
import type { Services } from '#api/services.ts'

/** The whole API as one list. The OpenAPI document is made from it, and tests walk it. */
export const routes: readonly Route<Services>[] = [
  ...healthRoutes,
  ...infoRoutes,
  ...serverMetricsRoutes,
  ...setupRoutes,
  ...authRoutes,
  ...userRoutes,
  ...apiKeyRoutes,
  ...libraryRoutes,
  ...bookRoutes,
  ...bookMetadataRoutes,
  ...bookContentRoutes,
  ...seriesRoutes,
  ...seriesMetadataRoutes,
  ...seriesFactRoutes,
  ...seriesTitleRoutes,
  ...taxonomyRoutes,
  ...progressRoutes,
  ...readingListRoutes,
  ...taskRoutes,
  ...analysisRoutes,
  ...coverRoutes,
  ...collectionRoutes,
  ...readListRoutes,
  ...sharingTagRoutes,
  ...exportRoutes,
  ...templateRoutes,
  ...settingRoutes,
  ...pluginRoutes,
  ...bundledPluginRoutes,
  ...pluginActionRoutes,
  ...pluginWatchRoutes,
  ...pluginStorageRoutes,
  ...pluginRepositoryRoutes,
  ...matchingRoutes,
  ...libraryJobRoutes,
  ...userPluginRoutes,
  ...recommendationRoutes,
  openApiRoute(() => routes),
]
