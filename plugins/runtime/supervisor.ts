import type { Log } from '#core/foundation/log.ts'
import type { Confinement } from './confinement.ts'
import { Guest, type Renewal } from './guest.ts'
import { GuestError } from './guest-error.ts'
import type { IsolateSession } from './isolate-session.ts'
import { type Isolation, Placement, pauseMs } from './placement.ts'
import type { Program } from './program.ts'
import { exitError, type PlacedSession, Runner, type RunnerEnding, type RunnerOwner } from './runner.ts'
import { culpritOf, IDLE_MS, isIdle, isWorthRepeating, ROOM_WAIT_MS_MAX, RUNNERS_MAX } from './runner-limits.ts'
import { confinementOf } from './runner-process.ts'

export interface SupervisorOptions {
  log: Log
  /** Default `strict`. */
  isolation?: Isolation
  /** Disables V8's compilers: code takes up to ten times as long, and there is less to attack. */
  hardened?: boolean
  /** For one runner, instead of the default of its kind; an isolate's own limit does not cover all memory. */
  residentMbMax?: number
  /** Whether to keep a spare runner while another is in use; default true. Tools that run only one plugin do not need it. */
  spare?: boolean
  /** Idle runners end after this time. */
  idleMs?: number
  /** A program to run instead of the runner, such as a compromised one in tests. */
  runnerPath?: string
  /** When to replace the isolate of a program. */
  renewal?: Renewal
}

/** Interval for checking the memory of busy runners: all tested memory bombs stayed under 302 MB with a limit of 256. */
const CHECK_EVERY_MS = 50
const PING_EVERY_MS = 1_000

interface WaitingSession extends PlacedSession {
  since: number
}

/**
 * Manages runner processes and their isolates. This process never runs code of guests itself; whatever a guest does, at worst its runner is
 * killed and another one handles the next call. A spare is kept ready while any runner is in use.
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #log: Log
  readonly #isolation: Isolation
  readonly #idleMs: number
  readonly #placement: Placement
  readonly #runners = new Set<Runner>()
  readonly #waiting: WaitingSession[] = []
  readonly #timer: NodeJS.Timeout
  readonly #runnerOwner: RunnerOwner
  /** Runners in a row that exited before they were ready. */
  #failedStarts = 0
  #startsFrom = 0
  #spare: Runner | null = null
  #isSpareDue = false
  /** How runners start. Found before the first one, while its session waits; null until then. */
  #confinement: Confinement | null = null
  #isFindingConfinement = false
  #isPlacing = false
  #isClosed = false
  #checkedAt = performance.now()
  #pingedAt = 0

  constructor(options: SupervisorOptions) {
    const { log, isolation = 'strict', idleMs = IDLE_MS } = options
    this.#options = options
    this.#log = log
    this.#isolation = isolation
    this.#idleMs = idleMs
    this.#placement = new Placement(isolation)
    this.#runnerOwner = {
      onReady: () => {
        this.#failedStarts = 0
      },
      onAnswer: (program) => {
        // Not before: starting a process takes this thread some milliseconds, for which the first call would wait.
        this.#isSpareDue = true
        // It ran alone and answered, so another program ended the shared runner.
        return this.#placement.clear(program)
      },
      onEnding: (runner, ending) => this.#onEnding(runner, ending),
      onExit: (runner) => void this.#runners.delete(runner),
    }
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS)
    this.#timer.unref()
  }

  open(program: Program): Guest {
    return new Guest(program, (id, handler) => this.#place({ id, program, handler }), this.#options.renewal)
  }

  /** The number of live runners, their resident memory in bytes, and the number of isolates that wait for one. */
  state(): { runners: number; residentBytes: number; waiting: number } {
    return {
      runners: this.#runners.size,
      residentBytes: [...this.#runners].reduce((sum, { residentBytes }) => sum + residentBytes, 0),
      waiting: this.#waiting.length,
    }
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const { handler } of this.#waiting.splice(0)) handler.end(exitError('closed'), false)
    for (const runner of this.#runners) runner.terminate('closed')
  }

  /** @returns a function that cancels the wait for a runner */
  #place(session: PlacedSession): () => void {
    if (this.#isClosed) {
      session.handler.end(exitError('closed'), false)
      return () => {}
    }
    const waiting = { ...session, since: performance.now() }
    this.#waiting.push(waiting)
    this.#placeWaiting()
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  /** Places waiting sessions in order of arrival, as far as there is room. */
  #placeWaiting(): void {
    // A session that ends to make room may want to come back at once.
    if (this.#isPlacing) return
    this.#isPlacing = true
    const now = performance.now()
    for (let isPlaced = true; isPlaced; ) {
      isPlaced = false
      for (const session of [...this.#waiting]) if (this.#waiting.includes(session)) isPlaced = this.#tryPlace(session, now) || isPlaced
    }
    this.#isPlacing = false
    // The timer must keep this process alive while sessions wait.
    if (this.#waiting.length > 0) this.#timer.ref()
    else this.#timer.unref()
  }

  /** @returns whether it no longer waits: it has a runner, or has waited too long */
  #tryPlace(session: WaitingSession, now: number): boolean {
    const runner = this.#runnerOf(session.program, now)
    if (runner === null && now - session.since <= ROOM_WAIT_MS_MAX) return false
    this.#waiting.splice(this.#waiting.indexOf(session), 1)
    if (runner !== null) runner.add(session)
    else session.handler.end(new GuestError('busy', 'All processes for plugins are busy. Try again shortly.'), false)
    return true
  }

  /** The runner for a program: the one of its place, the spare, or a new one; null while there is no room. */
  #runnerOf(program: Program, now: number): Runner | null {
    const place = this.#placement.placeOf(program, now)
    let runner = [...this.#runners].find((candidate) => candidate.place === place && !candidate.isEnding)
    if (runner === undefined) {
      if (this.#placement.waitsUntil(program) > now || (this.#spare === null && this.#startsFrom > now)) return null
      const confinement = this.#confinement
      if (confinement === null) return this.#findConfinement()
      // The server's own programs neither wait nor count.
      const isCounted = program.plugin !== undefined
      if (isCounted && !this.#makeRoom()) return null
      runner = this.#spare ?? this.#start(confinement)
      if (runner === this.#spare) this.#spare = null
      runner.place = place
      runner.isCounted = isCounted
      runner.isTemporary = program.alone === true || (this.#isolation === 'grouped' && isCounted && !this.#placement.isShared(place))
    }
    runner.noteUse(now)
    return runner
  }

  /** @returns whether there is room for another runner */
  #makeRoom(): boolean {
    const counted = [...this.#runners].filter((runner) => runner.isCounted && !runner.isEnding)
    if (counted.length < RUNNERS_MAX[this.#isolation]) return true
    const [oldest] = counted.filter((runner) => !runner.isBusy).sort((a, b) => a.lastUsed - b.lastUsed)
    oldest?.terminate('closed')
    return oldest !== undefined
  }

  /** @returns null: there is no runner yet */
  #findConfinement(): null {
    if (this.#isFindingConfinement) return null
    this.#isFindingConfinement = true
    confinementOf(this.#log, this.#options.runnerPath).then((found) => {
      this.#confinement = found
      this.#placeWaiting()
    })
    return null
  }

  #start(confinement: Confinement): Runner {
    const { hardened = false, runnerPath: path } = this.#options
    const runner = new Runner(this.#log, this.#runnerOwner, { confinement, hardened, path })
    this.#runners.add(runner)
    return runner
  }

  /** While a program runs, a spare runner is ready in case its runner has to be killed. */
  #keepSpare(): void {
    if (!this.#isSpareDue || this.#startsFrom > performance.now()) return
    this.#isSpareDue = false
    if (this.#options.spare !== false && this.#spare === null && this.#confinement !== null) this.#spare = this.#start(this.#confinement)
  }

  /** Notifies all sessions of an ended runner, and determines which program was to blame. */
  #onEnding(runner: Runner, { reason, isFailedStart, culprit: known, sessions }: RunnerEnding): void {
    const now = performance.now()
    if (this.#spare === runner) this.#spare = null
    if (isFailedStart) {
      this.#failedStarts += 1
      this.#startsFrom = now + pauseMs(this.#failedStarts + 1)
    }
    const suspects = suspectsOf(sessions)
    const culprit = culpritOf(known, suspects, isFailedStart)
    if (reason !== 'closed' && !isFailedStart) this.#placement.blame(culprit === null ? { suspects } : { culprit }, now)
    if (suspects.length > 1 && culprit === null)
      this.#log.warn({ places: suspects }, 'One of several plugins may have ended their runner; each now runs alone')
    const isWorthAgain = !this.#isClosed && isWorthRepeating(isFailedStart, this.#failedStarts)
    for (const { handler, program } of sessions) handler.end(exitError(reason), isWorthAgain && program.place !== culprit)
    this.#placeWaiting()
  }

  #check(): void {
    const now = performance.now()
    // Messages from the time when this process was busy itself are read after this.
    const lateMs = Math.max(now - this.#checkedAt - 2 * CHECK_EVERY_MS, 0)
    this.#checkedAt = now
    const isPing = now - this.#pingedAt > PING_EVERY_MS
    if (isPing) this.#pingedAt = now
    let isUsed = false
    for (const runner of this.#runners) {
      if (runner.isEnding) continue
      const isShared = runner.place !== null && this.#placement.isShared(runner.place)
      runner.check(now, { lateMs, isMemoryDue: isPing, isShared, residentMbMax: this.#options.residentMbMax })
      if (isPing) runner.ping()
      if (runner === this.#spare) continue
      if (isIdle(runner.use(), now, this.#idleMs)) runner.terminate('closed')
      else isUsed = true
    }
    if (isUsed) this.#keepSpare()
    else this.#spare?.terminate('closed')
    if (isPing) this.#placement.tidy(now)
    if (this.#waiting.length > 0) this.#placeWaiting()
  }
}

/** Places with running code in a runner. */
const suspectsOf = (sessions: readonly { program: Program; handler: IsolateSession }[]): string[] => [
  ...new Set(sessions.filter(({ handler }) => handler.isBusy()).map(({ program }) => program.place)),
]
