import { opendir, stat } from 'node:fs/promises'
import type { Knex } from 'knex'
import { folderOf } from '#core/book/book-store.ts'
import { queueAnalyses } from '#core/book/queue-analyses.ts'
import { purgeDeleted } from '#core/library/purge-deleted.ts'
import {
  countPresentBooks,
  eachForgottenBook,
  eachPresentBook,
  findScannedLibrary,
  forgetFolders,
  hasUnhashedBooks,
  listFolderDigests,
  listUnreadPaths,
  markDeleted,
  recordFiles,
  recordFolders,
  type ScannedLibrary,
  type SeenFile,
} from '#core/library/scan-store.ts'
import { beginScan, endScan, isScanCancelled, type ScanCounts, writeScanCounts } from '#core/library/scans-store.ts'
import { streamWalk, type WalkBatch } from '#core/library/walk-stream.ts'
import type { Log } from '#core/log.ts'
import { seedLeftOver } from '#core/series/seed-series.ts'
import { FinalFailure, type TaskHandler, type TaskQueue, type TaskRun } from '#core/task/task.ts'
import type { Rules } from '#core/template/rules.ts'

/** Errors told one by one; the rest is a number. A broken disk would fill the answer otherwise. */
const ERRORS_MAX = 100
/** An index entry of PostgreSQL holds 2,704 bytes; the library's id stands in it too. */
const PATH_BYTES_MAX = 2_500
/** Progress rows are for people. */
const COUNTS_MS = 300

interface Parts {
  database: Knex
  tasks: TaskQueue
  rules: Rules
  log: Log
  /** Absolute. */
  dataFolder: string
}

/** What one scan knows while it runs. Memory: a number per changed file and a string per folder. */
interface Scan {
  run: TaskRun
  library: ScannedLibrary
  deep: boolean
  startedAt: Date
  counts: ScanCounts
  countsWrittenAt: number
  errorCount: number
  symlinks: number
  unchangedFolders: Set<string>
  /** Hashes of the paths seen in folders that changed. */
  seen: Set<number>
  /** What could not be read; nothing at or below it counts as missing. */
  unreadable: string[]
  queued: number
}

/** The handler of `scan_library`: walks the library's folder and brings its rows up to date. */
export function scanLibrary(parts: Parts): TaskHandler {
  return async (run) => {
    const begun = await beginScan(parts.database, run.id)
    // Cancelled before it began, or its library is gone.
    if (!begun) return { skipped: true }
    try {
      const library = await findScannedLibrary(parts.database, begun.libraryId)
      if (!library) return { skipped: true }
      return await scan(parts, run, { library, deep: begun.mode === 'deep', startedAt: begun.startedAt })
    } catch (error) {
      if (run.signal.aborted) {
        // Stopped with the server: the task comes back, and the row with it. Cancelled: analyses may have been put in line since.
        if (await isScanCancelled(parts.database, run.id)) await parts.tasks.cancelAll({ type: 'analyze_book', libraryId: begun.libraryId })
        throw error
      }
      parts.log.warn({ err: error, libraryId: begun.libraryId }, 'A scan failed')
      // What else stopped it speaks of statements and addresses, to be read in the log.
      const message =
        error instanceof FinalFailure
          ? error.message
          : 'The scan broke down, which is a fault of the server; its log says more. Start it again.'
      await endScan(parts.database, run.id, { status: 'failed', errors: [message] })
      throw new FinalFailure(message, { cause: error })
    }
  }
}

async function scan(parts: Parts, run: TaskRun, begun: Pick<Scan, 'library' | 'deep' | 'startedAt'>): Promise<unknown> {
  const { database, tasks } = parts
  const { library } = begun
  const [root, known] = await Promise.all([checkRoot(library.path), listFolderDigests(database, library.id)])
  const state: Scan = {
    ...begun,
    run,
    counts: { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0, errors: [] },
    countsWrittenAt: Date.now(),
    errorCount: 0,
    symlinks: 0,
    unchangedFolders: new Set(),
    seen: new Set(),
    unreadable: [],
    queued: 0,
  }
  const options = { root: library.path, excludedPatterns: library.excluded_patterns, allowedFormats: library.allowed_formats }
  const compare = begun.deep ? new Map<string, string>() : known
  for await (const batch of streamWalk({ ...options, known: compare }, run.signal)) await recordBatch(parts, state, batch)
  run.signal.throwIfAborted()

  const { filesTotal } = state.counts
  const [present, after] = await Promise.all([countPresentBooks(database, library.id), checkRoot(library.path)])
  if (filesTotal === 0 && present > 0) {
    const why = state.unreadable.length > 0 ? ` (${state.counts.errors[0]})` : ''
    throw new FinalFailure(
      `"${library.path}" holds no books at all now, but ${present} are known${why}. Is its disk mounted? Nothing was changed.`,
    )
  }
  if (after.dev !== root.dev || after.ino !== root.ino) {
    throw new FinalFailure(`"${library.path}" became another folder during the scan. Is its disk mounted? No book was marked as deleted.`)
  }
  const missing = present === filesTotal ? 0 : await markMissing(parts, state)
  const gone = [...known.keys()].filter((folder) => !state.unchangedFolders.has(folder) && !state.seen.has(hashText(`${folder}/`)))
  if (gone.length > 0) await forgetFolders(database, library.id, gone)
  const unread = await listUnreadPaths(database, library.id)
  if (unread.length > 0) {
    // An analysis may have failed before its folder was noted.
    const folders = new Set(unread.map((path) => folderOf(library.path, path)))
    await forgetFolders(database, library.id, [...folders])
  }
  for await (const ids of eachForgottenBook(database, library.id, state.startedAt)) {
    state.queued += await queueAnalyses(tasks, library.id, ids, { deep: false })
  }
  run.signal.throwIfAborted()
  // Before the scan ends, so that no other one adds books meanwhile.
  const purged = library.scanning_config?.purgeDeletedOnScan ? await purgeSettled(parts, state) : 0
  await seedLeftOver(database, library.id, run.signal)
  const counts = withErrorCount(state)
  await endScan(database, run.id, { status: 'completed', counts })
  const { errors: _, ...numbers } = counts
  return { ...numbers, errors: state.errorCount, missing, purged, analysesQueued: state.queued, symlinksSkipped: state.symlinks }
}

/**
 * Purges what an earlier scan missed already. What this one missed may have been moved: only when every new file is analysed is it known
 * which of them is an old book, and until then none goes.
 */
async function purgeSettled(parts: Parts, { library, startedAt, run }: Scan): Promise<number> {
  if (!(await hasUnhashedBooks(parts.database, library.id))) {
    return await purgeDeleted(parts, library.id, run.signal, { before: startedAt })
  }
  parts.log.info(
    { libraryId: library.id },
    'Deleted books are kept until all new ones have been analysed: one of them may be one that moved',
  )
  return 0
}

/** @throws FinalFailure when there is no readable folder */
async function checkRoot(path: string): Promise<{ dev: number; ino: number }> {
  try {
    const facts = await stat(path)
    if (!facts.isDirectory()) throw new FinalFailure(`"${path}" is a file, not a folder. Nothing was changed.`)
    await (await opendir(path)).close()
    return facts
  } catch (error) {
    if (error instanceof FinalFailure) throw error
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'is not there' : code === 'EACCES' ? 'may not be read by the server' : `cannot be read (${code})`
    throw new FinalFailure(`"${path}" ${reason}. Is its disk mounted, and are its rights as they should be? Nothing was changed.`, {
      cause: error,
    })
  }
}

async function recordBatch(parts: Parts, state: Scan, batch: WalkBatch): Promise<void> {
  const { database, tasks } = parts
  const { library, deep, counts, run } = state
  const files: SeenFile[] = []
  const folders: { path: string; digest: string; files: number }[] = []
  for (const part of batch.changed) {
    const prefix = part.folder === '' ? '' : `${part.folder}/`
    let whole = true
    part.names.forEach((name, index) => {
      const path = prefix + name
      if (Buffer.byteLength(path) + library.path.length > PATH_BYTES_MAX) {
        whole = false
        noteError(state, path, `its path is longer than ${PATH_BYTES_MAX} bytes`)
        return
      }
      files.push({ path, bytes: part.sizes[index] as number, mtimeNs: part.mtimesNs[index] as bigint })
      state.seen.add(hashText(path))
    })
    state.seen.add(hashText(`${part.folder}/`))
    if (part.digest === null) continue
    if (whole) folders.push({ path: part.folder, digest: part.digest, files: part.files })
    counts.seriesFound += part.folder === '' ? part.files : 1
  }
  for (const folder of batch.unchanged) state.unchangedFolders.add(folder)
  for (const { path, message } of batch.unreadable) {
    state.unreadable.push(path)
    noteError(state, path, message)
  }
  state.symlinks += batch.symlinks
  counts.filesTotal += files.length + batch.unchangedFiles
  // One-shots of an unchanged root count one by one; told apart here because the walk knows folders, not series.
  counts.seriesFound += batch.unchanged.length
  if (batch.unchangedRootFiles > 0) counts.seriesFound += batch.unchangedRootFiles - 1

  const ids = files.length > 0 ? await recordFiles(database, { library, deep, rules: parts.rules }, files) : []
  // After the rows, never before: a digest says that they are there. The last part of a folder may have no files, only the digest.
  await recordFolders(database, library.id, folders)
  state.queued += await queueAnalyses(tasks, library.id, ids, { deep })
  counts.filesProcessed = counts.filesTotal
  counts.booksFound = counts.filesTotal
  run.progress(counts.filesProcessed, counts.filesTotal, `${counts.seriesFound} series`)
  run.signal.throwIfAborted()
  if (Date.now() - state.countsWrittenAt < COUNTS_MS) return
  state.countsWrittenAt = Date.now()
  await writeScanCounts(database, run.id, withErrorCount(state))
}

function noteError(state: Scan, path: string, message: string): void {
  const { errors } = state.counts
  state.errorCount += 1
  if (errors.length < ERRORS_MAX) errors.push(`"${path === '' ? state.library.path : path}": ${message}`)
}

/** Marks the books whose file was not seen, unless it lies where the walk could not look. Answers how many. */
async function markMissing({ database, log }: Parts, state: Scan): Promise<number> {
  const { library, unchangedFolders, seen } = state
  const skipped = state.unreadable.map((path) => (path === '' ? '' : `${path}/`))
  let missing = 0
  let kept = 0
  for await (const books of eachPresentBook(database, library.id)) {
    state.run.signal.throwIfAborted()
    const gone: { id: string; path: string }[] = []
    for (const { id, path } of books) {
      const relative = path.slice(library.path.length + 1)
      const slash = relative.lastIndexOf('/')
      if (unchangedFolders.has(slash === -1 ? '' : relative.slice(0, slash)) || seen.has(hashText(relative))) continue
      if (skipped.some((prefix) => `${relative}/`.startsWith(prefix))) kept += 1
      else gone.push({ id, path })
    }
    missing += await markDeleted(database, gone)
  }
  const present = await countPresentBooks(database, library.id)
  if (present - kept !== state.counts.filesTotal) {
    // Something else than the scan changed rows: an analysis just now, or a hand in the database. The next scan looks at every file.
    log.debug({ libraryId: library.id, present, kept, files: state.counts.filesTotal }, 'Rows and files differ after a scan')
    await forgetFolders(database, library.id)
  }
  return missing
}

function withErrorCount({ counts, errorCount }: Scan): ScanCounts {
  if (errorCount <= ERRORS_MAX) return counts
  return { ...counts, errors: [...counts.errors, `… and ${errorCount - ERRORS_MAX} more`] }
}

/** 53 bits of a text: of 100,000 paths no two share one by chance (odds 1 : 1,800,000), and a Set of numbers stays small. */
export function hashText(text: string): number {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}
