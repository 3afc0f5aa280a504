import { stat } from 'node:fs/promises'
import type { Knex } from 'knex'
import { lockBooks } from '#core/analysis/book-store.ts'
import {
  countThumbnails,
  listCoverBookIds,
  listThumbnailBooks,
  recordsOf,
  recordThumbnail,
  type ThumbnailBook,
  type ThumbnailScope,
} from '#core/analysis/thumbnail-store.ts'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import { libraryFileOf } from '#core/catalog/readable-book-query.ts'
import { coverHashOf, writeCover } from '#core/covers/book-cover-files.ts'
import { coverPath, storedCoverOf } from '#core/covers/cover.ts'
import { eachId } from '#core/database/each-by-id.ts'
import type { DrawBookCover } from '#core/fields/analysis.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { lstatInside } from '#core/foundation/open-inside.ts'
import type { TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Books or series per step: the list of a huge library is never held in memory. */
const PAGE = 200

interface Dependencies {
  database: Knex
  tasks: TaskQueue
  drawBookCover: DrawBookCover
  settings: { dataFolder: string; workers: number }
}

/** What a task must do; `since` is the time of the request, so that a restarted server does not begin again. */
export type ThumbnailOrder = {
  of: 'books' | 'series'
  scope: ThumbnailScope
  force: boolean
  since: string
}

/** The result of a task, in thumbnails. `kept`: present already, or locked; `failed`: the file gives none, or has changed. */
interface Tally {
  processed: number
  made: number
  kept: number
  failed: number
}

/** Registers the handlers with the queue; call before its start(). */
export function handleThumbnails(dependencies: Dependencies): void {
  const one = generate(dependencies, ({ bookId, seriesId, params }) => ({
    ...(bookId === undefined
      ? { of: 'series', scope: { seriesIds: [seriesId as string] } }
      : { of: 'books', scope: { bookIds: [bookId] } }),
    ...(params as { force: boolean; since: string }),
  }))
  const many = generate(dependencies, ({ params }) => params as ThumbnailOrder)
  const { tasks } = dependencies
  tasks.handle('generate_thumbnail', { concurrency: 1 }, one)
  tasks.handle('generate_series_thumbnail', { concurrency: 1 }, one)
  tasks.handle('generate_thumbnails', { concurrency: 1 }, many)
  tasks.handle('generate_series_thumbnails', { concurrency: 1 }, many)
}

const generate =
  (dependencies: Dependencies, orderOf: (run: TaskRun) => ThumbnailOrder): TaskHandler =>
  async (run) => {
    const { database, settings } = dependencies
    const { of, scope, force, since } = orderOf(run)
    const tally: Tally = { processed: 0, made: 0, kept: 0, failed: 0 }
    const total = await countThumbnails(database, of, scope)
    const madeAfter = force ? new Date(since) : null
    for await (const ids of eachId(recordsOf(database, of, scope), PAGE)) {
      run.signal.throwIfAborted()
      const books = (await listThumbnailBooks(database, of === 'books' ? ids : await listCoverBookIds(database, ids))).values()
      // As many concurrently as there are rendering threads.
      await Promise.all(Array.from({ length: settings.workers }, drawSome))

      async function drawSome(): Promise<void> {
        for (const book of books) {
          run.signal.throwIfAborted()
          tally[await makeThumbnail(dependencies, book, { madeAfter, signal: run.signal })]++
          tally.processed++
          run.progress(tally.processed, Math.max(total, tally.processed))
        }
      }
    }
    return tally
  }

/** @param how.madeAfter covers from before this time are rendered again; null: only missing ones are rendered */
async function makeThumbnail(
  { database, drawBookCover, settings }: Dependencies,
  book: ThumbnailBook,
  how: { madeAfter: Date | null; signal: AbortSignal },
): Promise<'made' | 'kept' | 'failed'> {
  if (book.isLocked) return 'kept'
  const drawnAt = book.coverHash === null ? null : await timeOf(coverPath(settings.dataFolder, book.id))
  if (drawnAt !== null && (how.madeAfter === null || drawnAt >= how.madeAfter)) return 'kept'
  // A file that has changed since its analysis is left to the next scan.
  if (!(await isKnownFile(book))) return 'failed'
  const { cover, problem } = await drawBookCover(libraryFileOf(book), { signal: how.signal })
  if (problem) await recordPageProblem(database, book.id, { ...problem, type: 'thumbnail', fatal: false })
  if (!cover) return 'failed'
  const stored = storedCoverOf(cover, coverHashOf(cover.jpeg))
  const isRecorded = await database.transaction(async (trx) => {
    // A process that writes the cover of a newer version waits, and writes it after this one.
    const isStill = (await lockBooks(trx, [book.id], 'wait')).has(book.id) && (await isKnownFile(book))
    if (!isStill || !(await recordThumbnail(trx, { book, cover: stored, isWhole: problem === null }))) return false
    await writeCover(settings.dataFolder, book.id, cover.jpeg)
    return true
  })
  if (!isRecorded) return 'failed'
  return 'made'
}

/** Null when there is no file. */
const timeOf = async (path: string): Promise<Date | null> => (await stat(path).catch(() => null))?.mtime ?? null

async function isKnownFile(book: ThumbnailBook): Promise<boolean> {
  const facts = await lstatInside(libraryFileOf(book)).catch(() => null)
  return facts !== null && String(facts.size) === book.bytes && String(fileTime(facts)) === book.mtimeNs
}
