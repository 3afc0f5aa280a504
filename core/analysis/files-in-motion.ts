import { lstat } from 'node:fs/promises'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { type FileVersion, isSameVersion } from '#core/analysis/file-version.ts'
import { type Analysis, failedAnalysis } from '#core/fields/analysis.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import type { TaskAdder, TaskRun } from '#core/tasks/task.ts'

/** A copy that has not continued for this long has stalled: what is wrong with its file is recorded. Slow downloads pause for minutes. */
const STALL_MS = 600_000
/** A file with an error is looked at again for so long, each time after twice the time. Later changes are found by scans and events. */
const LOOKED_AT_MS = 24 * 3600_000

/** What a look at a file has seen. It is kept in the task that looks again, so that a killed server loses nothing. */
interface Look extends FileVersion {
  /** Since when the file has been the same, in ms since the epoch, by the clock of the server. */
  since: number
  /** It was read, and looks like a part of a file. */
  isIncomplete?: boolean
}

/** A file that must be looked at again before it is read, or before what was read is recorded. */
interface Motion {
  look: Look
  /** When to look again, in ms since the epoch. */
  at: number
}

/** The look of an earlier run of the task; null if the file was only seen by a scan. */
const lookOf = ({ params }: Pick<TaskRun, 'params'>): Look | null => (params.look as Look | undefined) ?? null

/**
 * Whether a file has to wait before it is read. Nothing but a change between two looks depends on the clock of a file system, which may be wrong by
 * years: a file that seems to be new is looked at again, and one that is the same then is still.
 */
export function findMotion(
  seen: { look: Look | null; version: FileVersion; isYoung: boolean },
  { quietMs, now }: { quietMs: number; now: number },
): Motion | null {
  const { look, version, isYoung } = seen
  if (look === null) return isYoung ? { look: { ...version, since: now }, at: now + quietMs } : null
  if (!isSameVersion(look, version)) {
    // It has changed since the last look: its own time says when, if that is possible.
    const changedAt = millisecondsOf(version)
    const since = changedAt > look.since && changedAt <= now ? changedAt : now
    return now - since >= quietMs ? null : { look: { ...version, since }, at: since + quietMs }
  }
  // The clock of the server was set back meanwhile.
  if (look.since > now) return { look: { ...version, since: now }, at: now + quietMs }
  const stillMs = now - look.since
  // Reading the same part again would show the same.
  if (look.isIncomplete && stillMs < STALL_MS) return { look, at: beforeStall(look.since, { quietMs, now }) }
  return stillMs >= quietMs ? null : { look, at: look.since + quietMs }
}

const millisecondsOf = ({ mtimeNs }: FileVersion) => Number(BigInt(mtimeNs) / 1_000_000n)

const beforeStall = (since: number, { quietMs, now }: { quietMs: number; now: number }) =>
  Math.min(since + STALL_MS, now + Math.max(quietMs, now - since))

/**
 * Whether the file changed while it was read, or is incomplete and was written a short time ago.
 * @param read.before the version that was seen before
 * @param read.after that after reading it
 */
export function findMotionAfter(
  read: { look: Look | null; before: FileVersion; after: FileVersion; isIncomplete: boolean },
  { quietMs, now }: { quietMs: number; now: number },
): Motion | null {
  const { look, before, after, isIncomplete } = read
  if (!isSameVersion(before, after)) return { look: { ...after, since: now }, at: now + quietMs }
  if (!isIncomplete) return null
  const since = sinceOf(look, after, now)
  if (since === null || now - since >= STALL_MS) return null
  return { look: { ...after, since, isIncomplete }, at: beforeStall(since, { quietMs, now }) }
}

/** The next look at a file whose analysis has ended; null for none. */
export function nextLook(
  { look, version, isIncomplete }: { look: Look | null; version: FileVersion; isIncomplete: boolean },
  now: number,
): Motion | null {
  // A copy may have paused for so long that it seemed complete.
  if (!isIncomplete) return look && now - look.since < STALL_MS ? { look, at: look.since + STALL_MS } : null
  const since = sinceOf(look, version, now)
  if (since === null) return null
  return { look: { ...version, since, isIncomplete }, at: now + Math.max(STALL_MS, now - since) }
}

/** Since when the file has been the same, as far as looks and its time say; null if that is long ago, or its time is nonsense. */
function sinceOf(look: Look | null, version: FileVersion, now: number): number | null {
  const since = look?.since ?? millisecondsOf(version)
  if (Math.abs(now - since) > LOOKED_AT_MS) return null
  return Math.min(since, now)
}

/** Whether the file looks like a part of one. A disk that cannot be read says nothing about its files, and a password is missing for the whole as well. */
const isIncomplete = ({ file, problems }: Analysis): boolean =>
  file !== null &&
  problems.some(
    ({ type, fatal, isFinal, details }) =>
      !isFinal && details?.['encrypted'] !== true && (fatal || (type !== 'metadata' && type !== 'thumbnail')),
  )

/** What is wrong with a file that changes all the time, without a quiet time. */
export const neverStill = (): Analysis =>
  failedAnalysis({
    type: 'other',
    message: 'The file changed several times while it was read, like a file that is still being copied. Scan again when it is complete.',
    fatal: true,
  })

const STALLED = `The file was written recently and has not changed for ${STALL_MS / 60_000} minutes: its copy or download may have stopped. It is read again by itself when it continues.`

/**
 * Files that are still being written. They wait without an error, and a task looks at them again.
 * Without tasks, or with a quiet time of 0, every file is read at once.
 */
export class FilesInMotion {
  readonly #tasks: TaskAdder | null
  readonly #quietMs: number

  constructor(tasks: TaskAdder | null, quietMs: number) {
    this.#tasks = tasks
    this.#quietMs = quietMs
  }

  get isOn(): boolean {
    return this.#tasks !== null && this.#quietMs > 0
  }

  /** Whether the file has to wait; then a task looks at it again. @param version that of the row of a waiting book, or else what a look has seen now */
  async waitsBefore(run: TaskRun, book: BookToAnalyze, version: FileVersion): Promise<boolean> {
    if (!this.isOn) return false
    const look = lookOf(run)
    const isYoung = look === null && book.state === 'pending' && (await this.#isYoung(book, version))
    return await this.#wait(book, findMotion({ look, version, isYoung }, { quietMs: this.#quietMs, now: Date.now() }))
  }

  /** Whether what was read must not be recorded yet; then a task reads the file again. */
  async waitsAfter(
    run: TaskRun,
    book: BookToAnalyze,
    read: { before: FileVersion; after: FileVersion; analysis: Analysis },
  ): Promise<boolean> {
    if (!this.isOn) return false
    const seen = { ...read, look: lookOf(run), isIncomplete: isIncomplete(read.analysis) }
    return await this.#wait(book, findMotionAfter(seen, { quietMs: this.#quietMs, now: Date.now() }))
  }

  /** Has a task look again at a file that was analyzed, if its copy may still continue. @param analysis null if an earlier one is still valid */
  async lookLater(
    run: TaskRun,
    book: Pick<BookToAnalyze, 'id' | 'library_id'>,
    version: FileVersion,
    analysis: Analysis | null,
  ): Promise<void> {
    if (!this.isOn) return
    const look = lookOf(run)
    const incomplete = analysis ? isIncomplete(analysis) : look?.isIncomplete === true
    await this.#wait(book, nextLook({ look, version, isIncomplete: incomplete }, Date.now()))
  }

  /** What is wrong with the file, with the likely reason if it was written a short time ago and does not continue. */
  explain(run: TaskRun, version: FileVersion, analysis: Analysis): Analysis {
    if (!this.isOn || !isIncomplete(analysis) || sinceOf(lookOf(run), version, Date.now()) === null) return analysis
    const problems = analysis.problems.map((one) => (one.fatal ? { ...one, message: `${one.message} ${STALLED}` } : one))
    return { ...analysis, problems }
  }

  async #wait(book: Pick<BookToAnalyze, 'id' | 'library_id'>, motion: Motion | null): Promise<boolean> {
    if (motion === null) return false
    await this.#tasks?.add({
      type: 'analyze_book',
      libraryId: book.library_id,
      bookId: book.id,
      dedupeKey: book.id,
      params: { look: motion.look },
      scheduledFor: new Date(motion.at),
    })
    return true
  }

  /** Whether both times of the file are within the quiet time: a program that keeps the time of a file sets it when the file is complete. */
  async #isYoung({ library_path: root, path }: BookToAnalyze, version: FileVersion): Promise<boolean> {
    const isNow = (ms: number) => Math.abs(Date.now() - ms) < this.#quietMs
    if (!isNow(millisecondsOf(version))) return false
    const changedMs = await askDisk(root, () => lstat(path)).then(
      ({ ctimeMs }) => ctimeMs,
      () => null,
    )
    return changedMs !== null && isNow(changedMs)
  }
}
