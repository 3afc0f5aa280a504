import type { Log } from '#core/foundation/log.ts'

interface Timing {
  everyMs: number
  /** The first time; `everyMs` by default. */
  firstMs?: number
  /** Up to this share later, so that servers that start together do not all ask somebody at the same time. */
  spread?: number
}

const HOUR_MS = 3_600_000

/** Everything that the server does again and again without being asked: its test runs each with its real statements. */
export const REGULAR_JOBS = {
  // Signals wake workers at once; this finds due tasks and lost signals, with one index look-up per type.
  'start due tasks': { everyMs: 1_000 },
  'queue tasks of dead nodes again': { everyMs: 5_000 },
  // A check of all waiting tasks takes some tenths of a second for a hundred thousand, and rarely finds anything.
  'repair waiting tasks': { everyMs: 60_000 },
  'delete finished tasks': { everyMs: HOUR_MS },
  'write the progress of tasks': { everyMs: 300 },
  // A killed server loses no more than this.
  'write the metrics of tasks': { everyMs: 10_000 },
  'delete old metrics of tasks': { everyMs: HOUR_MS, firstMs: 10_000 },
  'record when API keys and sessions were last used': { everyMs: 60_000 },
  'delete old sessions': { everyMs: HOUR_MS },
  // Files are stored for days; an extra hour harms nobody.
  'delete old exports': { everyMs: HOUR_MS },
  // Schedules have a resolution of minutes, so half a minute is enough.
  'start due library jobs': { everyMs: 30_000 },
  'start due scans': { everyMs: 30_000 },
  // So soon after a change of its settings, or the end of another node, a library is watched.
  'watch libraries': { everyMs: 10_000, firstMs: 0 },
  // Revocations arrive within six hours; after a start, other work comes first.
  'refresh plugin repositories': { everyMs: 6 * HOUR_MS, firstMs: 60_000, spread: 0.25 },
} as const satisfies Record<string, Timing>

type RegularJobName = keyof typeof REGULAR_JOBS

/** Does one job when it is due: never twice at a time. */
class RegularJob {
  readonly #work: () => Promise<unknown>
  readonly #timing: Timing
  #running: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  readonly #onFailure: (error: unknown) => void

  constructor(work: () => Promise<unknown>, timing: Timing, onFailure: (error: unknown) => void) {
    this.#work = work
    this.#timing = timing
    this.#onFailure = onFailure
    this.#plan(timing.firstMs ?? timing.everyMs)
  }

  /** Does it now, after the run that may be under way. */
  now(): Promise<void> {
    this.#running = this.#running.then(() => this.#run())
    return this.#running
  }

  /** Waits for the run that may be under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      await this.#work()
    } catch (error) {
      // While its server stops, what it needs may be closed.
      if (!this.#isStopped) this.#onFailure(error)
    }
  }

  #plan(waitMs: number): void {
    if (this.#isStopped) return
    const lateMs = waitMs * Math.random() * (this.#timing.spread ?? 0)
    this.#timer = setTimeout(() => this.now().then(() => this.#plan(this.#timing.everyMs)), waitMs + lateMs).unref()
  }
}

/** The regular jobs of one server. A job that fails is logged, and done again when it is due again. */
export class RegularJobs {
  readonly started = new Map<RegularJobName, RegularJob>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  start(name: RegularJobName, work: () => Promise<unknown>, timing: Partial<Timing> = {}): RegularJob {
    const onFailure = (error: unknown) => this.#log.warn({ err: error }, `Could not ${name}; it will be tried again`)
    const job = new RegularJob(work, { ...REGULAR_JOBS[name], ...timing }, onFailure)
    this.started.set(name, job)
    return job
  }
}
