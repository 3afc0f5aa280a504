import type { Log } from '#core/foundation/log.ts'
import { GuestError } from './guest-error.ts'
import { type SaidEnding, UTF8_BYTES_MAX } from './guest-text.ts'
import type { AnswerHeader, IsolateSession, RequestHeader, RunnerHandle } from './isolate-session.ts'
import type { Program } from './program.ts'
import {
  EXIT_MESSAGES,
  type ExitReason,
  isSilent,
  memoryExcess,
  type RunnerUse,
  residentBytesMax,
  UNEXPECTED_MAX,
  unexpectedCount,
} from './runner-limits.ts'
import { type RunnerOptions, RunnerProcess } from './runner-process.ts'

/** A session that has a runner, or waits for one. */
export interface PlacedSession {
  id: number
  program: Program
  handler: IsolateSession
}

export interface RunnerEnding {
  reason: ExitReason
  /** It exited before it was ready. */
  isFailedStart: boolean
  /** The place that was seen to cause it; empty when it was closed before, null when unknown. */
  culprit: string | null
  sessions: readonly PlacedSession[]
}

export interface RunnerOwner {
  onReady(): void
  /** A call was answered. @returns whether to replace its session */
  onAnswer(program: Program): boolean
  /** Called once, when it is being killed or has exited: the owner notifies its sessions. */
  onEnding(runner: Runner, ending: RunnerEnding): void
  /** Its process has exited. */
  onExit(runner: Runner): void
}

/** A runner process and its sessions. Its messages are untrusted. */
export class Runner {
  place: string | null = null
  /** Whether it counts towards the maximum, and ends when idle. */
  isCounted = false
  /** Whether it ends soon after its last session. */
  isTemporary = false
  lastUsed = performance.now()
  readonly #startedAt = this.lastUsed
  readonly #process: RunnerProcess
  readonly #log: Log
  readonly #owner: RunnerOwner
  readonly #sessions = new Map<number, PlacedSession>()
  /** Infinity until the process is ready. */
  #lastHeard = Number.POSITIVE_INFINITY
  #unexpected = 0
  #culprit: string | null = null
  #isEnding = false

  constructor(log: Log, owner: RunnerOwner, options: RunnerOptions) {
    this.#log = log
    this.#owner = owner
    const listener = {
      isWanted: (header: unknown, bodyBytes: number) => this.#isWanted(header, bodyBytes),
      onFrame: (header: unknown, body: string) => this.#onFrame(header, body),
      onExit: (reason: ExitReason) => {
        owner.onExit(this)
        this.#end(reason)
      },
    }
    this.#process = new RunnerProcess(log, listener, options)
    this.#process.ready.then(
      () => {
        this.#lastHeard = performance.now()
        owner.onReady()
      },
      () => {},
    )
  }

  /** Being killed: accepts no more sessions. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  get isBusy(): boolean {
    for (const { handler } of this.#sessions.values()) if (handler.isBusy()) return true
    return false
  }

  get residentBytes(): number {
    return this.#process.residentBytes()
  }

  use(): RunnerUse {
    return {
      isBusy: this.isBusy,
      startedAt: this.#startedAt,
      lastUsed: this.lastUsed,
      lastHeard: this.#lastHeard,
      isTemporary: this.isTemporary,
      sessions: this.#sessions.size,
    }
  }

  /** It gets work: its silence counts from now, because a spare sends nothing. */
  noteUse(now: number): void {
    this.lastUsed = now
    if (this.#lastHeard !== Number.POSITIVE_INFINITY) this.#lastHeard = now
  }

  add(session: PlacedSession): void {
    this.#sessions.set(session.id, session)
    const handle: RunnerHandle = {
      send: (header, body) => {
        this.lastUsed = performance.now()
        this.#process.send(header, body)
      },
      terminate: () => this.terminate('timeout'),
      reportViolation: (what) => this.#onViolation(session.program.place, what),
      leave: () => this.#sessions.delete(session.id),
    }
    session.handler.onRunner(handle)
  }

  terminate(reason: ExitReason): void {
    if (this.#isEnding) return
    this.#process.kill(reason)
    this.#end(reason)
  }

  ping(): void {
    this.#unexpected = 0
    this.#process.send({ kind: 'ping', id: 0 })
  }

  /**
   * Kills it when it does not respond or exceeds its memory limit.
   * @param lateMs for which this process read nothing: silence in that time does not count
   */
  check(now: number, options: { lateMs: number; isMemoryDue: boolean; isShared: boolean; residentMbMax: number | undefined }): void {
    this.#lastHeard += options.lateMs
    const use = this.use()
    if (use.isBusy) this.lastUsed = now
    if (isSilent(use, now)) {
      this.#log.warn({ pid: this.#process.pid, place: this.place }, 'A plugin runner did not respond and was terminated')
      this.terminate('timeout')
    } else if (use.isBusy || options.isMemoryDue) this.#checkMemory(residentBytesMax(options.isShared, options.residentMbMax), use.isBusy)
  }

  #checkMemory(bytesMax: number, isBusy: boolean): void {
    const bytes = this.residentBytes
    const excess = memoryExcess(bytes, bytesMax)
    if (excess !== null) for (const { handler } of this.#sessions.values()) if (!handler.isBusy()) handler.onReplace()
    if (excess !== 'hard') return
    this.#log.warn(
      { pid: this.#process.pid, place: this.place, bytes, bytesMax },
      'A plugin runner exceeded its memory limit and was terminated',
    )
    this.terminate(isBusy ? 'memory' : 'closed')
  }

  #end(reason: ExitReason): void {
    if (this.#isEnding) return
    this.#isEnding = true
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    const isFailedStart = reason !== 'closed' && this.#lastHeard === Number.POSITIVE_INFINITY
    this.#owner.onEnding(this, { reason, isFailedStart, culprit: this.#culprit, sessions })
  }

  /** It has sent a message that an intact runner never sends. */
  #onViolation(culprit: string | null, what: string): void {
    if (this.#isEnding) return
    this.#culprit ??= culprit
    this.#log.warn({ pid: this.#process.pid, place: this.place, what }, 'A plugin runner violated the protocol and was terminated')
    this.terminate('crash')
  }

  /** Called before a body is read, with its header; the body is never longer than announced. */
  #isWanted(header: unknown, bodyBytes: number): boolean {
    if (this.#isEnding || header === null || typeof header !== 'object') return false
    const said = header as Record<string, unknown>
    const session = this.#sessionOf(said['sandbox'])
    const lengthMax = session?.handler.lengthMaxOf(said) ?? null
    // Bodies of unexpected messages are skipped, up to the limit for unexpected messages.
    if (session === undefined || lengthMax === null) {
      this.#unexpected += unexpectedCount(bodyBytes)
      return false
    }
    if (bodyBytes <= lengthMax * UTF8_BYTES_MAX) return true
    this.#onViolation(session.program.place, `a message of ${bodyBytes} bytes; the limit is ${lengthMax} characters`)
    return false
  }

  #onFrame(header: unknown, body: string): void {
    if (this.#isEnding) return
    this.#lastHeard = performance.now()
    if (this.#dispatch(header, body)) return
    this.#unexpected += 1
    if (this.#unexpected > UNEXPECTED_MAX) this.#onViolation(null, 'too many unexpected messages')
  }

  #sessionOf(id: unknown): PlacedSession | undefined {
    return typeof id === 'number' ? this.#sessions.get(id) : undefined
  }

  /** @returns whether the message was expected */
  #dispatch(header: unknown, body: string): boolean {
    if (header === null || typeof header !== 'object') return false
    const { kind, sandbox, id, stuck, defined } = header as Record<string, unknown>
    // At most one for each ping: see the count of unexpected messages.
    if (kind === 'pong') return false
    const session = this.#sessionOf(sandbox)
    if (session === undefined) {
      // It was closed inside an uninterruptible function; the other sessions are not to blame.
      if (kind === 'ended' && stuck === true) this.#onStuck('')
      return false
    }
    const { handler } = session
    if (kind === 'loaded') return handler.onLoaded(defined)
    if (kind === 'done' || kind === 'fail') {
      const isExpected = handler.onAnswer(header as AnswerHeader, body)
      if (isExpected && this.#owner.onAnswer(session.program)) handler.onReplace()
      return isExpected
    }
    if (kind === 'host') return handler.onRequest(header as RequestHeader, body)
    if (kind === 'log' || kind === 'progress' || kind === 'uncaught') return handler.onOutput(kind, id, body)
    if (kind === 'inspect') return handler.onInspect(body)
    if (kind !== 'ended') return false
    this.#onSessionEnded(session, header as Omit<SaidEnding, 'stack'> & { stuck: unknown }, body)
    return true
  }

  #onSessionEnded({ id, program, handler }: PlacedSession, said: Omit<SaidEnding, 'stack'> & { stuck: unknown }, stack: string): void {
    this.#sessions.delete(id)
    if (said.stuck === true) this.#onStuck(program.place)
    // A program that is alone because it may damage its process must not reuse that process after it has broken a limit there.
    if (program.alone && this.#sessions.size === 0) this.terminate('closed')
    handler.onEnded({ code: said.code, message: said.message, shares: said.shares, stack })
  }

  /** The isolate cannot be stopped, and uses a core until the process is killed. */
  #onStuck(culprit: string): void {
    this.#culprit ??= culprit
    this.terminate('crash')
  }
}

export const exitError = (reason: ExitReason): GuestError => new GuestError(reason, EXIT_MESSAGES[reason])
