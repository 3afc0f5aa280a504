import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { getAnalyzableBooks, listErrorTypes } from '#core/analysis/analysis-choice-query.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import {
  countFilesToVerify,
  type FileToVerify,
  findVerification,
  hasRotted,
  listFilesToVerify,
  recordCheck,
  takeFiles,
  withdrawVerification,
} from '#core/analysis/verify-store.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { refuse } from '#core/foundation/errors.ts'
import { VERIFY_RATE } from '#core/settings/chosen-setting.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Their rows are in memory together: a few hundred bytes each. */
const FILES_AT_ONCE = 1_000
const MB = 1_000_000

interface Dependencies {
  database: Knex
  analyze: Analyze
  /** The handler of `analyze_book`, which records what is wrong. */
  analyzeBook: TaskHandler
}

/** The result of a task, in files. */
interface Verified {
  verified: number
  /** Their content has changed without their date: an error of their book says so. */
  rotted: number
  /** Not readable, or damaged from the first day: as after every analysis, the errors of their book say why. */
  damaged: number
}

/** Queues the comparison of all files of a library with their hashes and checksums; while one is running, returns that one. @throws not_found */
export async function requestVerification(
  { database, tasks }: { database: Knex; tasks: TaskAdder },
  caller: Viewer | null,
  libraryId: string,
): Promise<{ taskId: string }> {
  await getLibraryRow(database, caller, libraryId)
  const running = await findVerification(database, libraryId)
  if (running !== null) return { taskId: running }
  const { taskId } = await tasks.add({
    type: 'verify_library',
    libraryId,
    dedupeKey: libraryId,
    params: { since: new Date().toISOString() },
  })
  // One that began since we looked reads the files already.
  return { taskId: (await withdrawVerification(database, { libraryId, taskId })) ?? taskId }
}

/** Takes the content that the file of a book has now, in place of the one with its old hash. @throws not_found; conflict when it is the same */
export async function acceptContent(
  { database, tasks }: { database: Knex; tasks: TaskAdder },
  caller: Caller,
  bookId: string,
): Promise<{ taskId: string }> {
  const [book] = await getAnalyzableBooks(database, caller, [bookId])
  if (!(book && (await hasRotted(database, bookId))))
    refuse('conflict', `"${book?.fileName}" has no content to accept: its file was never found changed without its date.`)
  const { taskId } = await tasks.add({
    type: 'analyze_book',
    libraryId: book.libraryId,
    bookId,
    dedupeKey: `${bookId}:accept`,
    params: { force: true, verifyPages: true, acceptsContent: true },
  })
  return { taskId }
}

/** Registers the handler with the queue; call before its start(). */
export function handleVerification({ tasks, ...dependencies }: Dependencies & { tasks: TaskQueue }): void {
  // One library at a time, one file at a time: the disks of people who read come first.
  tasks.handle('verify_library', { concurrency: 1 }, verifyLibrary(dependencies))
}

/** The handler of `verify_library`. What it has checked is stored file by file, so that it continues after a stop, and begins with what waits longest. */
function verifyLibrary(dependencies: Dependencies): TaskHandler {
  const { database } = dependencies
  return async (run) => {
    const of = { libraryId: run.libraryId as string, before: new Date(run.params.since as string) }
    // Two requests at one moment, or one that was canceled and sent again: every file would be read twice.
    if (!(await takeFiles(database, { libraryId: of.libraryId, taskId: run.id }))) return { skipped: true }
    const result: Verified = { verified: 0, rotted: 0, damaged: 0 }
    const total = await countFilesToVerify(database, of)
    const library = await getLibraryRow(database, null, of.libraryId)
    for (;;) {
      const files = await listFilesToVerify(database, { ...of, limit: FILES_AT_ONCE })
      if (files.length === 0) return result
      for (const file of files) {
        run.signal.throwIfAborted()
        const began = performance.now()
        await verifyFile(dependencies, run, { library, file, result })
        // Its book was deleted, perhaps with the library.
        if (!(await recordCheck(database, file.id, of.before))) break
        run.progress(result.verified, total, result.rotted > 0 ? `${result.rotted} have changed` : undefined)
        await pause(database, { bytes: file.bytes, tookMs: performance.now() - began, signal: run.signal })
      }
    }
  }
}

async function verifyFile(
  { database, analyze, analyzeBook }: Dependencies,
  run: TaskRun,
  { library, file, result }: { library: LibraryRow; file: FileToVerify; result: Verified },
): Promise<void> {
  const analysis = await analyze(
    {
      root: library.path,
      linkTargets: library.link_targets,
      path: file.path,
      filter: { allowedFormats: library.allowed_formats, excludedPatterns: library.excluded_patterns },
      verifyPages: true,
    },
    { signal: run.signal },
  )
  result.verified += 1
  const isSound = analysis.file?.sha256 === file.hash && analysis.problems.length === 0
  if (isSound && (await listErrorTypes(database, file.id)).length === 0) return
  // What is wrong, or no longer is, is recorded by the rules of every analysis: that of a missing file, of a new version, and of one that has rotted.
  await analyzeBook({ ...run, bookId: file.id, params: { force: true, verifyPages: true }, progress: () => {} })
  if (await hasRotted(database, file.id)) result.rotted += 1
  else if (!isSound) result.damaged += 1
}

/** Waits until reading so many bytes has taken as long as the setting says. */
async function pause(database: Knex, { bytes, tookMs, signal }: { bytes: number; tookMs: number; signal: AbortSignal }): Promise<void> {
  const rate = Number(await readFreshSetting(database, VERIFY_RATE))
  const ms = rate === 0 ? 0 : (bytes / (rate * MB)) * 1_000 - tookMs
  if (ms > 0) await sleep(ms, undefined, { signal })
}
