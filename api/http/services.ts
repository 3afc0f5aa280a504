import type { Knex } from 'knex'
import type { Accounts } from '#core/account/accounts.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { DrawCover } from '#core/covers/cover.ts'
import type { DiskState } from '#core/database/disk-space.ts'
import type { DatabaseState } from '#core/database/liveness-query.ts'
import type { Events } from '#core/events/follow.ts'
import type { Exports } from '#core/exports/series-exports.ts'
import type { Log } from '#core/foundation/log.ts'
import type { StallCounts } from '#core/foundation/loop-watch.ts'
import type { LibraryJobs } from '#core/matching/library-jobs.ts'
import type { MatchTasks } from '#core/matching/match-tasks.ts'
import type { Matching } from '#core/matching/matching.ts'
import type { SeriesDownloads } from '#core/reading/download-series.ts'
import type { PositionLists } from '#core/reading/position-lists.ts'
import type { Publications } from '#core/reading/publications.ts'
import type { PageReader } from '#core/reading/read-page.ts'
import type { Recommendations } from '#core/recommendations/recommendations.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { ReadReadingList } from '#core/shelves/reading-list.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import type { TaskMetrics } from '#core/tasks/task-metrics.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { PluginPictures } from '#plugins/host/plugin-pictures.ts'
import type { UserPlugins } from '#plugins/host/user-plugins.ts'
import type { Repositories } from '#plugins/repositories/repositories.ts'
import type { Templates } from '#plugins/templates/templates.ts'

/** The services of these names; a module of routes declares what it calls. */
export type Needs<Name extends keyof Services> = Pick<Services, Name>

/** All services of the routes; main.ts assembles them once. */
export interface Services {
  settings: Settings
  log: Log
  database: Knex
  accounts: Accounts
  tasks: TaskQueue
  /** Metrics of tasks. */
  taskMetrics: TaskMetrics
  scans: Scans
  /** Events, for clients that follow them. */
  events: Events
  /** Export files of the records that a user may see, made by tasks. */
  exports: Exports
  pageReader: PageReader
  /** Serves the contents of EPUBs. */
  publications: Publications
  /** Lists of reading positions for client apps. */
  positionLists: PositionLists
  /** ZIP archives of whole series. */
  seriesDownloads: SeriesDownloads
  /** Makes covers from uploaded pictures. */
  drawCover: DrawCover
  /** Reads reading lists in the CBL format. */
  readReadingList: ReadReadingList
  /** Installs plugins and calls them. */
  plugins: PluginHost
  /** The pictures that plugins name in their answers. */
  pluginPictures: PluginPictures
  /** Plugin repositories. */
  repositories: Repositories<Installation>
  /** Finds series and books at metadata providers and applies their metadata. */
  matching: Matching
  matchTasks: MatchTasks
  /** Runs matching on a schedule. */
  libraryJobs: LibraryJobs
  /** The plugins that each user has enabled. */
  userPlugins: UserPlugins
  /** Recommendations of plugins for each user. */
  recommendations: Recommendations
  /** Evaluates rules that users write. */
  rules: Rules
  /** Renders templates of users and plugins. */
  templates: Templates
  /** Whether the database answers and accepts changes; for /health. */
  databaseState: () => Promise<DatabaseState>
  /** Whether the disk of the data folder has space; for /health. */
  diskState: () => Promise<DiskState>
  /** Whether the worker pool accepts work; for /health. */
  poolHealthy: () => boolean
  /** How often the event loop was blocked. */
  stalls: () => StallCounts
  /** The problem of the data folder, or null; for /health. */
  dataFolderProblem: () => string | null
}
