import type { Knex } from 'knex'
import type { Accounts } from '#core/account/accounts.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { DiskState } from '#core/database/disk-space.ts'
import type { DatabaseState } from '#core/database/liveness-query.ts'
import type { Events } from '#core/events/follow.ts'
import type { Exports } from '#core/exports/series-exports.ts'
import type { Log } from '#core/foundation/log.ts'
import type { StallCounts } from '#core/foundation/loop-watch.ts'
import type { Scans } from '#core/ingest/scans.ts'
import type { LibraryJobs } from '#core/matching/library-jobs.ts'
import type { MatchTasks } from '#core/matching/match-tasks.ts'
import type { Matching } from '#core/matching/matching.ts'
import type { DrawCover } from '#core/metadata/cover.ts'
import type { SeriesDownloads } from '#core/reading/download-series.ts'
import type { PositionLists } from '#core/reading/position-lists.ts'
import type { Publications } from '#core/reading/publications.ts'
import type { PageReader } from '#core/reading/read-page.ts'
import type { Recommendations } from '#core/recommendations/recommendations.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { ReadReadingList } from '#core/shelves/reading-list.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import type { TaskMetrics } from '#core/tasks/task-metrics.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { UserPlugins } from '#plugins/host/user-plugins.ts'
import type { Repositories } from '#plugins/repositories/repositories.ts'
import type { Templates } from '#plugins/templates/templates.ts'

/** The services of these names: what a module of routes says that it calls. */
export type Needs<Name extends keyof Services> = Pick<Services, Name>

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
  /** What apps turn to when a book is opened. */
  positionLists: PositionLists
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
