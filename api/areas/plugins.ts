import type { LibraryJobs } from '#core/matching/library-jobs.ts'
import type { MatchTasks } from '#core/matching/match-tasks.ts'
import type { Matching } from '#core/matching/matching.ts'
import type { Recommendations } from '#core/recommendations/recommendations.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import type { Installation, PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import type { PluginPictures } from '#plugins/host/plugin-pictures.ts'
import type { Plugins } from '#plugins/host/plugins.ts'
import type { UserPlugins } from '#plugins/host/user-plugins.ts'
import type { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { Repositories } from '#plugins/repositories/repositories.ts'

/** Plugins themselves; the commands need only these. */
export interface PluginHostServices {
  /** What is installed. */
  plugins: Plugins
  /** Installs and removes plugins. */
  pluginLifecycle: PluginLifecycle
  /** Runs functions of plugins. */
  pluginCalls: PluginCalls
  /** Credentials of plugins for their services. */
  pluginCredentials: Credentials
  pluginLogs: PluginLogs
}

/** Plugins, and what they do for the library and for users. */
export interface PluginServices extends PluginHostServices {
  /** The pictures that plugins name in their answers. */
  pluginPictures: PluginPictures
  /** Plugin repositories. */
  repositories: Repositories<Installation>
  /** The plugins that each user has enabled. */
  userPlugins: UserPlugins
  /** Recommendations of plugins for each user. */
  recommendations: Recommendations
  /** Finds series and books at metadata providers and applies their metadata. */
  matching: Matching
  matchTasks: MatchTasks
  /** Runs matching on a schedule. */
  libraryJobs: LibraryJobs
}
