import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import type { Knex } from 'knex'
import { openPlugins } from '#api/compose-plugins.ts'
import type { Services } from '#api/http/services.ts'
import { openAccounts } from '#core/account/accounts.ts'
import { openEventAudience } from '#core/account/event-audience-query.ts'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { tokenKey } from '#core/database/data-folder.ts'
import { openDiskProbe } from '#core/database/disk-space.ts'
import { openDatabaseProbe } from '#core/database/liveness-query.ts'
import { openAnnouncer } from '#core/events/announcer.ts'
import { openEvents } from '#core/events/follow.ts'
import { type Exports, openExports } from '#core/exports/series-exports.ts'
import type { Log } from '#core/foundation/log.ts'
import { openLoopWatch } from '#core/foundation/loop-watch.ts'
import { openAnalyses } from '#core/ingest/analyses.ts'
import { openReprocessing } from '#core/ingest/reprocess-titles.ts'
import { openScans, type Scans } from '#core/ingest/scans.ts'
import { openMaintenance } from '#core/maintenance/maintenance.ts'
import { openSeriesDownloads } from '#core/reading/download-series.ts'
import { openPageCacheUpkeep } from '#core/reading/page-cache-upkeep.ts'
import { PositionLists } from '#core/reading/position-lists.ts'
import { openPublications } from '#core/reading/publications.ts'
import { openPageReader, type PageReader } from '#core/reading/read-page.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import { openTaskMetrics, type TaskMetrics } from '#core/tasks/task-metrics.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import type { openEgress } from '#plugins/network/egress.ts'
import { openSupervisor, type Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'
import { openPool, type Pool } from '#workers/pool/pool.ts'

/** A load balancer asks every few seconds and gives up about then. */
const HEALTH_DEADLINE_MS = 3_000

/** What everything here is made from. `settings.dataFolder` is the folder as it really is, links resolved. */
interface Ground {
  settings: Settings
  log: Log
  database: Knex
  /** Connections for the question of health and for signing in, which others cannot use up; those of `database` unless given. */
  reserved?: Knex
  /** Every request of plugins to the network; another in tests. */
  egress?: ReturnType<typeof openEgress>
  /** What is wrong with the data folder, where somebody watches it. */
  dataFolderProblem?: () => string | null
}

/** Scanning and analyzing: all that works on tasks. Nothing does so until `tasks.start()`. */
export interface Work {
  pool: Pool
  tasks: TaskQueue
  taskMetrics: TaskMetrics
  scans: Scans
  exports: Exports
  supervisor: Supervisor
  rules: Rules
  /** Tasks go back to the queue, then the threads end. */
  close(): Promise<void>
}

/** Everything the server is made of, put together. */
export interface Composition {
  services: Services
  /** Begins all that happens by itself: tasks, and looking at repositories. */
  start(): Promise<void>
  /** Stops everything; the database stays open, for it was given. */
  close(): Promise<void>
}

/** Opens what scans and analyses; commands need no more than this. */
export async function openWork(ground: Ground): Promise<Work> {
  const { settings, log, database } = ground
  const pool = openPool({ threads: settings.workers, memoryMbMax: settings.workerMemoryMbMax, deadlineMs: settings.analysisDeadlineMs })
  // No process is started before something is called.
  const supervisor = openSupervisor({ log, isolation: settings.plugins.isolation, hardened: settings.plugins.hardened })
  const rules = openRules(supervisor)
  const announcer = openAnnouncer({ database, log })
  try {
    const queue = await openTaskQueue({ database, log, announcer, nodeId: `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}` })
    const taskMetrics = openTaskMetrics({ database, log })
    const tasks = taskMetrics.metered(queue)
    const scans = await openScans({
      database,
      tasks,
      rules,
      log,
      dataFolder: settings.dataFolder,
      purgeAfterSeconds: settings.purgeAfterSeconds,
    })
    openAnalyses({ database, tasks, announcer, analyze: pool.analyze, log, settings })
    openReprocessing({ database, tasks, rules })
    openMaintenance({ database, tasks, drawBookCover: pool.drawBookCover, settings })
    const exports = await openExports({ database, tasks, log, dataFolder: settings.dataFolder })
    return {
      pool,
      tasks,
      taskMetrics,
      scans,
      exports,
      supervisor,
      rules,
      async close() {
        await tasks.stop()
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

/** What serves books: pages, files of EPUBs, positions. */
async function openReading(ground: Ground, pool: Pool) {
  const pageReader = await openPages(ground, pool)
  const publications = openPublications({
    database: ground.database,
    readPublication: pool.readPublication,
    openZipEntry: pool.openZipEntry,
  })
  const positionLists = new PositionLists({ publications, pageReader })
  return {
    services: { pageReader, publications, positionLists },
    async close() {
      await positionLists.close()
      await Promise.all([pageReader.close(), publications.close()])
    },
  }
}

const openPages = ({ settings, log, database }: Ground, pool: Pool): Promise<PageReader> =>
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

/** Opens all the server needs, HTTP itself excepted. */
export async function openComposition(ground: Ground): Promise<Composition> {
  const { settings, log, database } = ground
  const key = settings.tokenKey ?? (await tokenKey(settings.dataFolder))
  const { pool, tasks, taskMetrics, scans, exports, supervisor, rules, close: closeWork } = await openWork(ground)
  const reserved = ground.reserved ?? database
  const accounts = openAccounts({ database, reserved, settings, tokenKey: Buffer.from(key), log })
  const loopWatch = openLoopWatch({ log })
  const events = openEvents({ database, log, audience: openEventAudience(database), onAccessChange: () => accounts.callers.forget() })
  const plugins = await openPlugins({ ...ground, tasks, supervisor, rules, drawCover: pool.drawCover })
  try {
    const reading = await openReading(ground, pool)
    openPageCacheUpkeep({ tasks, cache: reading.services.pageReader.cache })
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
        seriesDownloads: openSeriesDownloads({ database }),
        drawCover: pool.drawCover,
        readReadingList: pool.readReadingList,
        ...plugins.services,
        databaseState: openDatabaseProbe(reserved, { deadlineMs: HEALTH_DEADLINE_MS }),
        diskState: openDiskProbe(settings.dataFolder, { deadlineMs: HEALTH_DEADLINE_MS }),
        poolHealthy: () => pool.healthy(),
        stalls: loopWatch.counts,
        dataFolderProblem: ground.dataFolderProblem ?? (() => null),
      },
      async start() {
        events.start()
        await tasks.start()
        plugins.start()
      },
      async close() {
        loopWatch.close()
        await tasks.stop()
        await plugins.close()
        await reading.close()
        await closeWork()
        await events.close()
        await accounts.close()
      },
    }
  } catch (error) {
    loopWatch.close()
    await plugins.close()
    await closeWork()
    await accounts.close()
    throw error
  }
}
