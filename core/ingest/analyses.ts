import type { Knex } from 'knex'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import { analyzeLibrary } from '#core/ingest/analyze-library.ts'
import { awaitAnalyses } from '#core/ingest/await-analyses.ts'
import { analyzeBook } from '#core/ingest/record-analysis.ts'
import type { Analyze } from '#core/metadata/analysis.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

/** Bulk analyses that are awaited at the same time; people start only a few. */
const AWAITED_MAX = 100

/** Registers the handlers of analyses with the queue; call before its start(). */
export function openAnalyses(parts: {
  database: Knex
  tasks: TaskQueue
  /** Without it, no events are sent. */
  announcer?: Announcer
  analyze: Analyze
  log: Log
  settings: Pick<Settings, 'dataFolder' | 'workers'>
}): void {
  const { database, tasks, announcer = silentAnnouncer, analyze, log, settings } = parts
  const { dataFolder, workers } = settings
  // More than there are threads: while threads analyze some books, others are read or written, which is mostly waiting for the disk.
  const concurrency = workers * 2 + 4
  tasks.handle('analyze_book', { concurrency }, analyzeBook({ database, analyze, log, dataFolder, announcer }))
  // They only wait; but a task that has not started could not cancel its parts.
  tasks.handle('analyze_books', { concurrency: AWAITED_MAX }, awaitAnalyses({ database, tasks }))
  tasks.handle('analyze_library', { concurrency: 1 }, analyzeLibrary({ database, tasks }))
}
