import type { Knex } from 'knex'
import type { Accounts } from '#core/account/accounts.ts'
import type { PageReader } from '#core/book/read-page.ts'
import type { DrawCover } from '#core/cover/cover.ts'
import type { DiskState } from '#core/database/disk-space.ts'
import type { DatabaseState } from '#core/database/liveness-query.ts'
import type { Events } from '#core/events/follow.ts'
import type { Exports } from '#core/export/series-exports.ts'
import type { StallCounts } from '#core/foundation/loop-watch.ts'
import type { SeriesDownloads } from '#core/library/download-series.ts'
import type { Scans } from '#core/library/scans.ts'
import type { Log } from '#core/log.ts'
import type { TaskMetrics } from '#core/metric/task-metrics.ts'
import type { Publications } from '#core/reading/publications.ts'
import type { Settings } from '#core/setting/settings.ts'
import type { ReadReadingList } from '#core/shelf/reading-list.ts'
import type { TaskQueue } from '#core/task/task.ts'
import type { Rules } from '#core/template/rules.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { LibraryJobs } from '#plugins/match/library-jobs.ts'
import type { MatchTasks } from '#plugins/match/match-tasks.ts'
import type { Matching } from '#plugins/match/matching.ts'
import type { UserPlugins } from '#plugins/reader/user-plugins.ts'
import type { Recommendations } from '#plugins/recommendation/recommendations.ts'
import type { Repositories } from '#plugins/repository/repositories.ts'
import type { Templates } from '#plugins/template/templates.ts'

/** Everything a route may call, put together once by main.ts. */
export interface Services {
  settings: Settings
  log: Log
  database: Knex
  accounts: Accounts
  tasks: TaskQueue
  /** How they went. */
  taskMetrics: TaskMetrics
  scans: Scans
  /** What happens, for those who follow it. */
  events: Events
  /** Files of what a reader may see of the library, made by tasks. */
  exports: Exports
  pageReader: PageReader
  /** Serves what EPUBs hold. */
  publications: Publications
  /** Archives of series that people download. */
  seriesDownloads: SeriesDownloads
  /** Makes covers of pictures that people give. */
  drawCover: DrawCover
  /** Reads the file of a reading list that people exchange. */
  readReadingList: ReadReadingList
  /** Installs plugins and calls them. */
  plugins: PluginHost
  /** Where plugins come from. */
  repositories: Repositories<Installation>
  /** Finds series and books at providers and applies what those say. */
  matching: Matching
  matchTasks: MatchTasks
  /** Does so by timetables. */
  libraryJobs: LibraryJobs
  /** Which plugins readers have, each for themselves. */
  userPlugins: UserPlugins
  /** What those recommend. */
  recommendations: Recommendations
  /** Evaluates what people write as rules. */
  rules: Rules
  /** Renders what people and plugins write as templates. */
  templates: Templates
  /** Whether the database answers and takes changes; for /health. */
  databaseState: () => Promise<DatabaseState>
  /** Whether there is room in the data folder; for /health. */
  diskState: () => Promise<DiskState>
  /** Whether the worker pool takes work; for /health. */
  poolHealthy: () => boolean
  /** How often the event loop stood still. */
  stalls: () => StallCounts
  /** What is wrong with the data folder, or null; for /health. */
  dataFolderProblem: () => string | null
}
