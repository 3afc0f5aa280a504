import { openApiRoute } from '#api/docs/openapi-route.ts'
import { docsRoutes } from '#api/docs/routes.ts'
import { eventRoutes } from '#api/events/event-routes.ts'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { komgaRoutes } from '#api/komga/routes.ts'
import { koreaderRoutes } from '#api/koreader/routes.ts'
import { opdsRoutes } from '#api/opds/routes.ts'
import { accessRoutes } from '#api/rest/account/access.ts'
import { apiKeyRoutes } from '#api/rest/account/api-keys.ts'
import { authRoutes } from '#api/rest/account/auth.ts'
import { ownPasswordRoutes } from '#api/rest/account/own-password.ts'
import { polledListRoutes } from '#api/rest/account/polled-lists.ts'
import { preferenceRoutes } from '#api/rest/account/preferences.ts'
import { registrationRoutes } from '#api/rest/account/registration.ts'
import { sessionRoutes } from '#api/rest/account/sessions.ts'
import { sharingTagRoutes } from '#api/rest/account/sharing-tags.ts'
import { userRoutes } from '#api/rest/account/users.ts'
import { filesystemRoutes } from '#api/rest/admin/filesystem.ts'
import { healthRoutes } from '#api/rest/admin/health.ts'
import { infoRoutes } from '#api/rest/admin/info.ts'
import { maintenanceRoutes } from '#api/rest/admin/maintenance.ts'
import { metricsRoutes } from '#api/rest/admin/metrics.ts'
import { serverMetricsRoutes } from '#api/rest/admin/server-metrics.ts'
import { settingRoutes } from '#api/rest/admin/settings.ts'
import { setupRoutes } from '#api/rest/admin/setup.ts'
import { setupSettingRoutes } from '#api/rest/admin/setup-settings.ts'
import { taskAdminRoutes } from '#api/rest/admin/task-maintenance.ts'
import { taskRoutes } from '#api/rest/admin/tasks.ts'
import { templateRoutes } from '#api/rest/admin/templates.ts'
import { analysisRoutes } from '#api/rest/catalog/analyses.ts'
import { bookMetadataRoutes } from '#api/rest/catalog/book-metadata.ts'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { collectionRoutes } from '#api/rest/catalog/collections.ts'
import { coverRoutes } from '#api/rest/catalog/covers.ts'
import { duplicateRoutes } from '#api/rest/catalog/duplicates.ts'
import { exportRoutes } from '#api/rest/catalog/exports.ts'
import { homeShelfRoutes } from '#api/rest/catalog/home-shelves.ts'
import { libraryRoutes } from '#api/rest/catalog/libraries.ts'
import { metadataRoutes } from '#api/rest/catalog/metadata.ts'
import { metadataEntryRoutes } from '#api/rest/catalog/metadata-entries.ts'
import { readListRoutes } from '#api/rest/catalog/read-lists.ts'
import { scanPreviewRoutes } from '#api/rest/catalog/scan-preview.ts'
import { searchRoutes } from '#api/rest/catalog/search.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { seriesDownloadRoutes } from '#api/rest/catalog/series-download.ts'
import { seriesMaintenanceRoutes } from '#api/rest/catalog/series-maintenance.ts'
import { seriesMetadataRoutes } from '#api/rest/catalog/series-metadata.ts'
import { seriesTitleRoutes } from '#api/rest/catalog/series-titles.ts'
import { taxonomyRoutes } from '#api/rest/catalog/taxonomy.ts'
import { thumbnailRoutes } from '#api/rest/catalog/thumbnails.ts'
import { vocabularyRoutes } from '#api/rest/catalog/vocabulary.ts'
import { bundledPluginRoutes } from '#api/rest/plugins/bundled-plugins.ts'
import { libraryJobRoutes } from '#api/rest/plugins/library-jobs.ts'
import { matchingRoutes } from '#api/rest/plugins/matching.ts'
import { pluginActionRoutes } from '#api/rest/plugins/plugin-actions.ts'
import { pluginDiagnosticsRoutes } from '#api/rest/plugins/plugin-diagnostics.ts'
import { pluginPictureRoutes } from '#api/rest/plugins/plugin-pictures.ts'
import { pluginRepositoryRoutes } from '#api/rest/plugins/plugin-repositories.ts'
import { pluginStorageRoutes } from '#api/rest/plugins/plugin-storage.ts'
import { pluginRoutes } from '#api/rest/plugins/plugins.ts'
import { recommendationRoutes } from '#api/rest/plugins/recommendations.ts'
import { userPluginRoutes } from '#api/rest/plugins/user-plugins.ts'
import { annotationRoutes } from '#api/rest/reading/annotations.ts'
import { bookContentRoutes } from '#api/rest/reading/book-content.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import { readingHistoryRoutes } from '#api/rest/reading/readings.ts'

/** All routes of the API. The OpenAPI document and several tests are derived from this list. */
export const routes: readonly Route<Services>[] = [
  ...healthRoutes,
  ...infoRoutes,
  ...serverMetricsRoutes,
  ...setupRoutes,
  ...setupSettingRoutes,
  ...authRoutes,
  ...sessionRoutes,
  ...registrationRoutes,
  ...ownPasswordRoutes,
  ...preferenceRoutes,
  ...polledListRoutes,
  ...userRoutes,
  ...accessRoutes,
  ...apiKeyRoutes,
  ...libraryRoutes,
  ...filesystemRoutes,
  ...scanPreviewRoutes,
  ...bookRoutes,
  ...metadataRoutes,
  ...bookMetadataRoutes,
  ...bookContentRoutes,
  ...readingRoutes,
  ...seriesRoutes,
  ...seriesMetadataRoutes,
  ...metadataEntryRoutes,
  ...seriesTitleRoutes,
  ...seriesDownloadRoutes,
  ...seriesMaintenanceRoutes,
  ...taxonomyRoutes,
  ...vocabularyRoutes,
  ...searchRoutes,
  ...duplicateRoutes,
  ...progressRoutes,
  ...annotationRoutes,
  ...readingHistoryRoutes,
  ...homeShelfRoutes,
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
  ...maintenanceRoutes,
  ...metricsRoutes,
  ...pluginRoutes,
  ...bundledPluginRoutes,
  ...pluginActionRoutes,
  ...pluginPictureRoutes,
  ...pluginDiagnosticsRoutes,
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
  openApiRoute,
]
