import { eventRoutes } from '#api/events/event-routes.ts'
import type { Route } from '#api/http/endpoint.ts'
import { komgaRoutes } from '#api/komga/routes.ts'
import { koreaderRoutes } from '#api/koreader/routes.ts'
import { opdsRoutes } from '#api/opds/routes.ts'
import { openApiRoute } from '#api/openapi.ts'
import { ownPasswordRoutes } from '#api/rest/account/own-password.ts'
import { polledListRoutes } from '#api/rest/account/polled-lists.ts'
import { preferenceRoutes } from '#api/rest/account/preferences.ts'
import { registrationRoutes } from '#api/rest/account/registration.ts'
import { filesystemRoutes } from '#api/rest/admin/filesystem.ts'
import { metricsRoutes } from '#api/rest/admin/metrics.ts'
import { setupSettingRoutes } from '#api/rest/admin/setup-settings.ts'
import { taskAdminRoutes } from '#api/rest/admin/tasks.ts'
import { upkeepRoutes } from '#api/rest/admin/upkeep.ts'
import { bookTaxonomyRoutes } from '#api/rest/catalog/book-taxonomy.ts'
import { duplicateRoutes } from '#api/rest/catalog/duplicates.ts'
import { scanPreviewRoutes } from '#api/rest/catalog/scan-preview.ts'
import { seriesDownloadRoutes } from '#api/rest/catalog/series-download.ts'
import { seriesUpkeepRoutes } from '#api/rest/catalog/series-upkeep.ts'
import { thumbnailRoutes } from '#api/rest/catalog/thumbnails.ts'
import { analysisRoutes } from '#api/routes/analyses.ts'
import { apiKeyRoutes } from '#api/routes/api-keys.ts'
import { authRoutes } from '#api/routes/auth.ts'
import { bookContentRoutes } from '#api/routes/book-content.ts'
import { bookMetadataRoutes } from '#api/routes/book-metadata.ts'
import { bookRoutes } from '#api/routes/books.ts'
import { bundledPluginRoutes } from '#api/routes/bundled-plugins.ts'
import { collectionRoutes } from '#api/routes/collections.ts'
import { coverRoutes } from '#api/routes/covers.ts'
import { docsRoutes } from '#api/routes/docs.ts'
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
import { readingRoutes } from '#api/routes/reading.ts'
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
  ...setupSettingRoutes,
  ...authRoutes,
  ...registrationRoutes,
  ...ownPasswordRoutes,
  ...preferenceRoutes,
  ...polledListRoutes,
  ...userRoutes,
  ...apiKeyRoutes,
  ...libraryRoutes,
  ...filesystemRoutes,
  ...scanPreviewRoutes,
  ...bookRoutes,
  ...bookMetadataRoutes,
  ...bookContentRoutes,
  ...readingRoutes,
  ...seriesRoutes,
  ...seriesMetadataRoutes,
  ...seriesFactRoutes,
  ...seriesTitleRoutes,
  ...seriesDownloadRoutes,
  ...seriesUpkeepRoutes,
  ...taxonomyRoutes,
  ...bookTaxonomyRoutes,
  ...duplicateRoutes,
  ...progressRoutes,
  ...readingListRoutes,
  ...eventRoutes,
  ...taskRoutes,
  ...taskAdminRoutes,
  ...analysisRoutes,
  ...coverRoutes,
  ...thumbnailRoutes,
  ...collectionRoutes,
  ...readListRoutes,
  ...sharingTagRoutes,
  ...exportRoutes,
  ...templateRoutes,
  ...settingRoutes,
  ...upkeepRoutes,
  ...metricsRoutes,
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
  ...opdsRoutes,
  ...docsRoutes,
  ...komgaRoutes,
  ...koreaderRoutes,
  openApiRoute(() => routes),
]
