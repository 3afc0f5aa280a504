import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import type { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { ThreadHost, ThreadLost } from '#core/foundation/thread-host.ts'
import { isInPart } from '#core/scan/scan-part.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { WatchOrder, WatchReport } from '#core/scan/watch/folder-watch.ts'
import {
  claimWatches,
  deleteOldPartScans,
  recordWatch,
  releaseWatches,
  type WatchableLibrary,
  type WatchState,
} from '#core/scan/watch/watch-store.ts'

/** A thread takes 14 MB, and people have few libraries. */
const LIBRARIES_MAX = 32
/** Each scan of a part reads the list of all folders first; more of them are one scan of the whole library. */
const PARTS_MAX = 20
/** While another scan of the library runs, or the database is unreachable. */
const AGAIN_MS = 500
/** History of use to people. */
const PART_SCANS_KEPT_DAYS = 7
/** A thread in a system call of a hanging disk ends only when that call ends. */
const CLOSE_MS_MAX = 1_000

const THREAD_OPTIONS = {
  program: new URL('./watch-thread.ts', import.meta.url),
  // 100,000 folders take 110 MB.
  memoryMbMax: 256,
  youngMbMax: 4,
  idleMs: 1_000,
  jobMsMax: null,
  queueMax: 1,
}

interface Dependencies {
  database: Knex
  scans: Pick<Scans, 'start'>
  log: Log
  /** Identifies this node, see core/cluster/presence-store.ts. */
  nodeLock: number
  /** How long a file must be without an event before its folder is scanned. */
  quietMs: number
}

/** One library that this node watches: its thread, and what is to be scanned. */
class LibraryWatch {
  readonly key: string
  readonly #library: WatchableLibrary
  readonly #dependencies: Dependencies
  readonly #host = new ThreadHost<WatchOrder, never, WatchReport>(THREAD_OPTIONS)
  readonly #stop = new AbortController()
  #parts: readonly string[] = []
  #isGathering = false
  /** Changes may have been missed before the watch began. */
  #isLate: boolean
  #scanning: Promise<void> | null = null
  #recording: Promise<void> = Promise.resolve()
  /** Set when the thread was lost. */
  isLost = false

  constructor(dependencies: Dependencies, library: WatchableLibrary, { isLate }: { isLate: boolean }) {
    this.#dependencies = dependencies
    this.#library = library
    this.key = keyOf(library)
    const { path, excludedPatterns, allowedFormats, isForced, hasLinks } = library
    const order = { root: path, excludedPatterns, allowedFormats, isForced, hasLinks, quietMs: dependencies.quietMs }
    this.#isLate = isLate
    this.#record({ folders: null, silent: 0, problem: null })
    this.#host.run(order, { onPart: (report) => this.#receive(report) }).catch((error: unknown) => this.#lose(error))
  }

  /** Whether changes are known that are not scanned yet. */
  get isBehind(): boolean {
    return this.#isLate || this.#isGathering || this.#parts.length > 0
  }

  async close(): Promise<void> {
    this.#stop.abort()
    const closing = this.#host.close()
    await Promise.all([this.#scanning, this.#recording])
    await Promise.race([closing, sleep(CLOSE_MS_MAX, undefined, { ref: false })])
  }

  #lose(error: unknown): void {
    const { id, name } = this.#library
    if (error instanceof ThreadLost && error.reason === 'closed') return
    // It would need as much again.
    const isTooLarge = error instanceof ThreadLost && error.reason === 'memory'
    if (isTooLarge) this.#receive({ kind: 'unavailable', problem: 'Its folders take more memory than a watch may have.' })
    this.isLost = !isTooLarge
    if (this.isLost)
      this.#dependencies.log.warn({ err: error, libraryId: id }, `The thread that watches "${name}" has ended; it is started again`)
  }

  #receive(report: WatchReport): void {
    if (report.kind === 'gathering') this.#isGathering = true
    else if (report.kind === 'changed') {
      this.#isGathering = report.isGathering
      this.#add(report.isWhole ? [''] : report.folders)
    } else if (report.kind === 'watching') {
      this.#record({ folders: report.folders, silent: report.silent, problem: null })
      if (this.#isLate) this.#add([''])
      this.#isLate = false
    } else {
      const { id, name } = this.#library
      this.#dependencies.log.warn({ libraryId: id }, `"${name}" is not watched: ${report.problem}`)
      this.#record({ folders: null, silent: 0, problem: report.problem })
    }
  }

  #record(state: WatchState): void {
    const { database, nodeLock, log } = this.#dependencies
    const { id } = this.#library
    this.#recording = this.#recording
      .then(() => recordWatch(database, nodeLock, { libraryId: id, ...state }))
      .catch((error) => log.warn({ err: error, libraryId: id }, 'Could not record how a library is watched'))
  }

  #add(folders: readonly string[]): void {
    const parts = [...this.#parts, ...folders]
    const isRest = (folder: string, at: number) =>
      !parts.some((part, other) => other !== at && isInPart(part, folder) && (part !== folder || other < at))
    this.#parts = parts.length > PARTS_MAX ? [''] : parts.filter(isRest)
    this.#scanning ??= this.#scanParts().finally(() => {
      this.#scanning = null
    })
  }

  /** Starts a scan for each part, one after the other. */
  async #scanParts(): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      const [part] = this.#parts
      if (part === undefined || signal.aborted) return
      if (await this.#scan(part)) this.#parts = this.#parts.filter((one) => one !== part)
      else await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** False if it must be tried again. */
  async #scan(part: string): Promise<boolean> {
    const { scans, database, log } = this.#dependencies
    const { id } = this.#library
    try {
      await scans.start(id, 'normal', null, part === '' ? {} : { path: part })
      await deleteOldPartScans(database, id, PART_SCANS_KEPT_DAYS)
      return true
    } catch (error) {
      if (error instanceof AppError && error.code === 'scan_running') return false
      // The library was deleted or disabled, or the folder is gone, was never scanned, or is left out.
      if (error instanceof AppError && ['not_found', 'conflict', 'invalid_value'].includes(error.code)) return true
      if (!this.#stop.signal.aborted)
        log.warn({ err: error, libraryId: id }, 'Could not start a scan of changed folders; it will be tried again')
      return false
    }
  }
}

const keyOf = (library: WatchableLibrary) =>
  JSON.stringify([library.path, library.excludedPatterns, library.allowedFormats, library.isForced, library.hasLinks])

/** Watches the libraries that want it, each on one node of the cluster, and scans the folders in which something has changed. */
export class LibraryWatches {
  readonly #dependencies: Dependencies
  readonly #watches = new Register<LibraryWatch>()
  #looking: ReturnType<RegularJobs['start']> | undefined

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  start(jobs: RegularJobs): void {
    this.#looking ??= jobs.start('watch libraries', () => this.refresh())
  }

  /** Begins and ends watches as the libraries want it now. */
  async refresh(): Promise<void> {
    const { database, nodeLock } = this.#dependencies
    const claimed = await claimWatches(database, nodeLock)
    const wanted = new Map(claimed.map((library) => [library.id, library]))
    const ended = [...this.#watches.keys()].filter((id) => !wanted.has(id))
    for (const id of ended) await this.#end(id)
    if (ended.length > 0) await releaseWatches(database, nodeLock, ended)
    for (const library of claimed) {
      const before = this.#watches.get(library.id)
      if (before && !before.isLost && before.key === keyOf(library)) continue
      const isLate = library.isTakenOver || before !== undefined
      if (before) await this.#end(library.id)
      if (this.#watches.size >= LIBRARIES_MAX) {
        const problem = `At most ${LIBRARIES_MAX} libraries are watched.`
        await recordWatch(database, nodeLock, { libraryId: library.id, folders: null, silent: 0, problem })
      } else this.#watches.set(library.id, new LibraryWatch(this.#dependencies, library, { isLate }))
    }
  }

  /** Ends all watches. A library with changes that are not scanned yet keeps its claim, so that the next node scans it. */
  async close(): Promise<void> {
    await this.#looking?.stop()
    const settled = [...this.#watches].filter(([, watch]) => !watch.isBehind).map(([id]) => id)
    await Promise.all([...this.#watches.keys()].map((id) => this.#end(id)))
    await releaseWatches(this.#dependencies.database, this.#dependencies.nodeLock, settled).catch((error: unknown) =>
      this.#dependencies.log.debug({ err: error }, 'Could not release the watches of libraries'),
    )
  }

  async #end(libraryId: string): Promise<void> {
    const watch = this.#watches.get(libraryId)
    this.#watches.delete(libraryId)
    await watch?.close()
  }
}
