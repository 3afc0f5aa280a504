import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import type { Knex } from 'knex'
import { openPlugins } from '#api/compose-plugins.ts'
import type { Services } from '#api/http/services.ts'
import { Accounts } from '#core/account/accounts.ts'
import { eventAudience } from '#core/account/event-audience-query.ts'
import { reportNarrowedKeys } from '#core/account/narrowed-keys-store.ts'
import type { PasswordCost } from '#core/account/password.ts'
import { handleBookAnalyses } from '#core/analysis/analyze-book.ts'
import { handleBulkAnalyses } from '#core/analysis/request-analyses.ts'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { diskProbe } from '#core/database/disk-space.ts'
import { databaseProbe } from '#core/database/liveness-query.ts'
import { tokenKey } from '#core/embedded/data-folder.ts'
import { openAnnouncer } from '#core/events/announcer.ts'
import { Events } from '#core/events/follow.ts'
import { type Exports, openExports } from '#core/exports/series-exports.ts'
import type { Log } from '#core/foundation/log.ts'
import { openLoopWatch } from '#core/foundation/loop-watch.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { handleMaintenance } from '#core/maintenance/maintenance.ts'
import { SeriesDownloads } from '#core/reading/download-series.ts'
import { handlePageCacheMaintenance } from '#core/reading/page-cache-maintenance.ts'
import { PositionLists } from '#core/reading/position-lists.ts'
import { Publications } from '#core/reading/publications.ts'
import { openPageReader, type PageReader } from '#core/reading/read-page.ts'
import { SizedCovers } from '#core/reading/sized-covers.ts'
import { Scans } from '#core/scan/scans.ts'
import { LibraryWatches } from '#core/scan/watch/library-watches.ts'
import type { Settings } from '#core/settings/settings.ts'
import { TaskMetrics } from '#core/tasks/task-metrics.ts'
import { openTaskQueue, type TaskQueue } from '#core/tasks/task-queue.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'
import { openPool, type ReaderPool } from '#workers/pool/pool.ts'

/** Load balancers check every few seconds and time out after about this long. */
const HEALTH_DEADLINE_MS = 3_000

/** What all components need. `settings.dataFolder` is the real path, links resolved. */
interface CompositionDependencies {
  settings: Settings
  log: Log
  database: Knex
  /** Reserved connections for health checks and sign-in, so that they work while all others are busy; default: `database`. */
  reserved?: Knex
  /** What new password hashes cost; by default what OWASP recommends. Tests take less. */
  passwordCost?: PasswordCost
  /** How plugins send requests to the network; tests replace it. */
  egress?: HttpsEgress
  /** Those that several servers of one process share; by default they have their own. A supervisor starts no process until something is called. */
  pool?: ReaderPool
  supervisor?: Supervisor
  /** The problem of the data folder, if it is watched. */
  dataFolderProblem?: () => string | null
  /** What the server does regularly; commands have none. */
  jobs?: RegularJobs
}

/** Scanning and analyzing. Tasks run only after `tasks.start()`. */
export interface Work {
  pool: ReaderPool
  tasks: TaskQueue
  taskMetrics: TaskMetrics
  scans: Scans
  exports: Exports
  supervisor: Supervisor
  rules: Rules
  /** Starts scans by schedules and watches; commands do not. */
  startScans(): void
  /** Returns tasks to the queue, then ends the threads. */
  close(): Promise<void>
}

/** All components of the server. */
export interface Composition {
  services: Services
  /** Starts all background work: tasks, and refreshing plugin repositories. */
  start(): Promise<void>
  /** Closes everything except the database, which the caller opened. */
  close(): Promise<void>
}

/** Opens the components that scan and analyze; commands need no more. */
export async function openWork(dependencies: CompositionDependencies): Promise<Work> {
  const { settings, log, database, jobs = new RegularJobs(log) } = dependencies
  const {
    pool = openPool({ threads: settings.workers, memoryMbMax: settings.workerMemoryMbMax, deadlineMs: settings.analysisDeadlineMs }),
    supervisor = new Supervisor({ log, isolation: settings.plugins.isolation, hardened: settings.plugins.hardened }),
  } = dependencies
  const rules = openRules(supervisor)
  const announcer = openAnnouncer({ database, log })
  try {
    const taskMetrics = new TaskMetrics({ database, log, jobs })
    const tasks = await openTaskQueue({
      database,
      log,
      announcer,
      jobs,
      metrics: taskMetrics,
      nodeId: `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`,
    })
    const precedence = new Precedence()
    const scans = new Scans({ precedence, database, tasks, rules, log, ...scanPartsOf(settings, pool) })
    await scans.endLost()
    const watches = new LibraryWatches({ database, scans, log, nodeLock: tasks.nodeLock, quietMs: settings.quietMs })
    handleBookAnalyses({ database, tasks, announcer, analyze: pool.analyze, log, settings, precedence })
    handleBulkAnalyses({ database, tasks })
    handleMaintenance({ database, tasks, rules, drawBookCover: pool.drawBookCover, settings })
    const exports = await openExports({ database, tasks, log, jobs, dataFolder: settings.dataFolder })
    return {
      pool,
      tasks,
      taskMetrics,
      scans,
      exports,
      supervisor,
      rules,
      startScans() {
        scans.startSchedules(jobs)
        if (settings.watch) watches.start(jobs)
      },
      async close() {
        await Promise.all([scans.close(), watches.close(), tasks.stop()])
        await announcer.close()
        await taskMetrics.close()
        await exports.close()
        supervisor.close()
        await pool.close()
      },
    }
  } catch (error) {
    await announcer.close()
    supervisor.close()
    await pool.close()
    throw error
  }
}

const scanPartsOf = (settings: CompositionDependencies['settings'], pool: ReaderPool) => ({
  dataFolder: settings.dataFolder,
  purgeAfterSeconds: settings.purgeAfterSeconds,
  purgeWithFolderAfterDays: settings.purgeWithFolderAfterDays,
  prepareAnalyses: pool.prepareAnalyses,
  readSeriesFile: pool.readSeriesFile,
})

/** Opens the components that serve books: pages, files of EPUBs, positions. */
async function openReading(dependencies: CompositionDependencies, pool: ReaderPool, tasks: TaskQueue) {
  const pageReader = await openPages(dependencies, pool)
  handlePageCacheMaintenance({ tasks, cache: pageReader.cache })
  const publications = new Publications({
    database: dependencies.database,
    readPublication: pool.readPublication,
    openZipEntry: pool.openZipEntry,
    cleanChapter: pool.cleanChapter,
  })
  const sizedCovers = new SizedCovers({ ...pool, pageReader, log: dependencies.log })
  const positionLists = new PositionLists({ publications, pageReader })
  return {
    services: { pageReader, sizedCovers, publications, positionLists },
    async close() {
      await positionLists.close()
      await Promise.all([pageReader.close(), publications.close()])
    },
  }
}

const openPages = ({ settings, log, database }: CompositionDependencies, pool: ReaderPool): Promise<PageReader> =>
  openPageReader({
    database,
    log,
    readZipPage: pool.readZipPage,
    readRarPage: pool.readRarPage,
    extractRar: pool.extractRar,
    renderPdfPage: pool.renderPdfPage,
    resizeImage: pool.resizeImage,
    cacheFolder: path.join(settings.dataFolder, 'page-cache'),
    cacheBytesMax: settings.pageCacheBytesMax,
    recordPageProblem: (bookId, problem) => recordPageProblem(database, bookId, problem),
  })

const picturesOf = ({ drawCover, resizeImage }: ReaderPool) => ({ drawCover, resizeImage })

/** Opens all components of the server except HTTP. */
export async function openComposition(dependencies: CompositionDependencies): Promise<Composition> {
  const { settings, log, database, jobs = new RegularJobs(log) } = dependencies
  const key = settings.tokenKey ?? (await tokenKey(settings.dataFolder))
  const { pool, tasks, taskMetrics, scans, exports, supervisor, rules, ...work } = await openWork({ ...dependencies, jobs })
  const reserved = dependencies.reserved ?? database
  const accounts = new Accounts({ ...dependencies, jobs, reserved, tokenKey: Buffer.from(key) })
  const loopWatch = openLoopWatch({ log })
  const events = new Events({ database, log, audience: eventAudience(database), onAccessChange: () => accounts.callers.forget() })
  const plugins = await openPlugins({ ...dependencies, jobs, tasks, supervisor, rules, ...picturesOf(pool) })
  try {
    const reading = await openReading(dependencies, pool, tasks)
    return {
      services: {
        settings,
        log,
        database,
        accounts,
        tasks,
        taskMetrics,
        scans,
        events,
        exports,
        rules,
        ...reading.services,
        seriesDownloads: new SeriesDownloads({ database }),
        drawCover: pool.drawCover,
        readReadingList: pool.readReadingList,
        ...plugins.services,
        databaseState: databaseProbe(reserved, { deadlineMs: HEALTH_DEADLINE_MS }),
        diskState: diskProbe(settings.dataFolder, { deadlineMs: HEALTH_DEADLINE_MS }),
        poolHealthy: () => pool.healthy(),
        stalls: loopWatch.counts,
        dataFolderProblem: dependencies.dataFolderProblem ?? (() => null),
      },
      async start() {
        await reportNarrowedKeys(database, log)
        events.start()
        await tasks.start()
        work.startScans()
        plugins.start()
      },
      async close() {
        loopWatch.close()
        await tasks.stop()
        await plugins.close()
        await reading.close()
        await work.close()
        await events.close()
        await accounts.close()
      },
    }
  } catch (error) {
    loopWatch.close()
    await plugins.close()
    await work.close()
    await accounts.close()
    throw error
  }
}
