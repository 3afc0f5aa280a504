import type { LibraryJobs } from '#core/matching/library-jobs.ts'
import type { MatchTasks } from '#core/matching/match-tasks.ts'
import type { Matching } from '#core/matching/matching.ts'
import type { Recommendations } from '#core/recommendations/recommendations.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { PluginPictures } from '#plugins/host/plugin-pictures.ts'
import type { UserPlugins } from '#plugins/host/user-plugins.ts'
import type { Repositories } from '#plugins/repositories/repositories.ts'

/** Plugins, and what they do for the library and for users. */
export interface PluginServices {
  /** Installs plugins and calls them. */
  plugins: PluginHost
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
