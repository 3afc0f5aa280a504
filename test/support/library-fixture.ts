import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { handleBookAnalyses } from '#core/analysis/analyze-book.ts'
import { handleBulkAnalyses } from '#core/analysis/request-analyses.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { handleArranging } from '#core/scan/layouts/arrange-library.ts'
import { type ScanStatus, Scans } from '#core/scan/scans.ts'
import { openTaskQueue, type TaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findPool } from '#test/support/pool.ts'
import { findRules } from '#test/support/supervisor.ts'
import { buildZip } from '#test/support/zip-builder.ts'

/** The time between two scans that both miss a book before it is purged: a day, the default. */
export const PURGE_AFTER_SECONDS = 86_400

/** A GIF of one pixel: the smallest possible page. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** A comic with some pages; each seed gives another hash. */
export function comic(seed: string, pages = 1): Buffer {
  const entries = Array.from({ length: pages }, (_, index) => ({ name: `${index + 1}.gif`, data: PIXEL }))
  return buildZip(entries, { comment: Buffer.from(seed) })
}

export interface BookRow {
  id: string
  series_id: string
  path: string
  file_name: string
  file_hash: string | null
  state: string
  page_count: number
  title: string
  number: number | null
  deleted_at: Date | null
  analyzed_at: Date | null
  updated_at: Date
}

/** A library on disk with its database, scans, tasks and analyses, but without HTTP. */
export interface LibraryFixture {
  database: Knex
  url: string
  tasks: TaskQueue
  scans: Scans
  /** The library's folder. */
  root: string
  dataFolder: string
  libraryId: string
  /** Writes a file below the root; without content a comic made from its path. */
  put(path: string, content?: string | Buffer): string
  /** Scans, and waits until no book waits for analysis. */
  scan(mode?: 'normal' | 'deep', options?: { confirm?: boolean | readonly string[] }): Promise<ScanStatus>
  /** Rows by path relative to the root. */
  books(): Promise<Map<string, BookRow>>
  /** The number of analyses of each file, by relative path. */
  analyzed: Map<string, number>
}

/**
 * @param options.analyze replaces the pool of this file
 * @param options.quietMs how long files must be the same before they are analyzed; by default, they are analyzed at once. Then wait for the books, not for `scan`
 */
export async function openLibraryFixture(
  t: Test,
  options: { analyze?: Analyze; files?: string[]; manual?: boolean; quietMs?: number } = {},
): Promise<LibraryFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-library-'))
  const root = join(folder, 'library')
  const dataFolder = join(folder, 'data')
  mkdirSync(root)
  const { database, url } = await openTestDatabase(t, { poolMax: 10 })
  const analyze = options.analyze ?? findPool().analyze
  const analyzed = new Map<string, number>()
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const precedence = new Precedence()
  const scans = new Scans({
    precedence,
    database,
    tasks,
    rules: findRules(),
    log: silentLog,
    dataFolder,
    purgeAfterSeconds: PURGE_AFTER_SECONDS,
    readSeriesFile: (file, more) => findPool().readSeriesFile(file, more),
  })
  await scans.endLost()
  handleBulkAnalyses({ database, tasks })
  handleArranging({ database, tasks, rules: findRules() })
  handleBookAnalyses({
    precedence,
    database,
    tasks,
    log: silentLog,
    settings: { dataFolder, workers: 2, quietMs: options.quietMs ?? 0 },
    analyze: async (request, more) => {
      const relative = request.path.slice(root.length + 1)
      analyzed.set(relative, (analyzed.get(relative) ?? 0) + 1)
      return await analyze(request, more)
    },
  })
  t.teardown(async () => {
    await tasks.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const [library] = await database('libraries').insert({ name: 'Test', path: root }, ['id'])
  const libraryId = library.id as string
  const fixture: LibraryFixture = {
    database,
    url,
    tasks,
    scans,
    root,
    dataFolder,
    libraryId,
    analyzed,
    put(path, content = comic(path)) {
      const full = join(root, path)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, content)
      return full
    },
    async scan(mode, scanOptions) {
      // A scan that a test started without awaiting it may still be running.
      await until(async () => (await scans.listActive()).length === 0)
      const { taskId } = await scans.start(libraryId, mode, null, scanOptions)
      await until(async () => {
        const status = await scans.getStatus(libraryId)
        const ended = status.taskId === taskId && ['completed', 'failed', 'cancelled'].includes(status.status)
        const { rows } = await database.raw(
          `SELECT count(*)::int AS count FROM tasks WHERE type = 'analyze_book' AND status IN ('pending', 'processing')`,
        )
        return ended && rows[0].count === 0
      })
      // Read before the last analysis, it would not tell what that one wrote.
      return await scans.getStatus(libraryId)
    },
    async books() {
      const rows: BookRow[] = await database('books').where('library_id', libraryId).select('*')
      return new Map(rows.map((row) => [row.path.slice(root.length + 1), row]))
    },
  }
  for (const file of options.files ?? []) fixture.put(file)
  if (!options.manual) await tasks.start()
  return fixture
}

/** Polls until there is a result. */
export async function until<T>(ask: () => Promise<T | null | false> | T | null | false, ms = 60_000): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`Timeout after ${ms} ms`)
    await sleep(40)
  }
}
