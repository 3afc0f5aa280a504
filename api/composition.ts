import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import type { Knex } from 'knex'
import type { Services } from '#api/services.ts'
import { openAccounts } from '#core/account/accounts.ts'
import { recordPageProblem } from '#core/book/book-error-store.ts'
import { openPageReader } from '#core/book/read-page.ts'
import { tokenKey } from '#core/database/data-folder.ts'
import { CarrelError } from '#core/errors.ts'
import { addLibrary } from '#core/library/add-library.ts'
import { listLibraries } from '#core/library/library-progress-query.ts'
import { openScans } from '#core/library/scans.ts'
import type { Log } from '#core/log.ts'
import type { Settings } from '#core/setting/settings.ts'
import { openTaskQueue } from '#core/task/task-queue.ts'
import { openPool } from '#workers/pool.ts'

/** Everything the server is made of, put together. Nothing works on tasks until `services.tasks.start()`. */
export interface Composition {
  services: Services
  /** Makes each folder a library unless it is one. */
  addLibraries(folders: readonly string[]): Promise<void>
  /** Puts a scan of every active library in line, except where one waits or runs. */
  scanAll(): Promise<void>
  /** Stops the tasks, then what they use. The database stays open: it was given. */
  close(): Promise<void>
}

/** The one place that knows both core and workers. @param parts.folder absolute path of the data folder */
export async function openComposition(parts: { settings: Settings; log: Log; database: Knex; folder: string }): Promise<Composition> {
  const { settings, log, database, folder } = parts
  const key = settings.tokenKey ?? (await tokenKey(folder))
  const accounts = openAccounts({ database, settings, tokenKey: Buffer.from(key), log })
  const pool = openPool({ threads: settings.workers, memoryMbMax: settings.workerMemoryMbMax, deadlineMs: settings.analysisDeadlineMs })
  const tasks = await openTaskQueue({ database, log, nodeId: `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}` })
  const scans = await openScans({ database, tasks, log })
  const pageReader = await openPageReader({
    database,
    log,
    readZipPage: pool.readZipPage,
    readRarPage: pool.readRarPage,
    extractRar: pool.extractRar,
    renderPdfPage: pool.renderPdfPage,
    resizeImage: pool.resizeImage,
    cacheFolder: path.join(folder, 'page-cache'),
    cacheBytesMax: settings.pageCacheBytesMax,
    recordPageProblem: (bookId, problem) => recordPageProblem(database, bookId, problem),
  })
  const services: Services = { settings, log, database, accounts, tasks, scans, pageReader, poolHealthy: () => pool.healthy() }

  return {
    services,
    async addLibraries(folders) {
      for (const folder of folders) {
        const { library, created } = await addLibrary(database, { folder })
        if (created) log.info({ name: library.name, path: library.path }, 'Added a library')
      }
    },

    async scanAll() {
      for (const library of await listLibraries(database)) {
        if (!library.isActive) continue
        await scans.start(library.id).catch((error: unknown) => {
          // One that an earlier start left in line goes on by itself.
          if (!(error instanceof CarrelError && error.code === 'scan_running')) throw error
        })
      }
    },
    async close() {
      await tasks.stop()
      await pageReader.close()
      await pool.close()
      await accounts.close()
    },
  }
}
