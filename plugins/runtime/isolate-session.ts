import type { InspectedIsolate, Inspector } from '#plugins/runtime/inspection.ts'
import { GuestError } from './guest-error.ts'
import {
  FAILURE_LENGTH_MAX,
  JsonText,
  LINE_LENGTH_MAX,
  REQUEST_LENGTHS,
  readEnding,
  readFailure,
  readOutput,
  readPendingTimers,
  readUnawaited,
  requestLengthMax,
  type SaidEnding,
  STACK_BYTES_MAX,
} from './guest-text.ts'
import { fileOf, type PluginLimits, type Program } from './program.ts'
import { type FirstCall, type GuestCall, RunningCall } from './running-call.ts'

/** A runner, as its sessions see it. */
export interface RunnerHandle {
  send(header: object, body?: string): void
  /** Kills the runner: a call is overdue, and the runner did not terminate it itself. */
  terminate(): void
  /** Kills the runner: its message proves that its code was changed from inside. */
  reportViolation(what: string): void
  leave(): void
}

/** Of a message with the answer of a call, untrusted. */
export interface AnswerHeader {
  kind: 'done' | 'fail'
  id: unknown
  cpuMs: unknown
  wallMs: unknown
  /** Of traced programs. */
  pending?: unknown
  /** If a host call has no answer yet. */
  unawaited?: unknown
}

/** Of a message with a host call, untrusted. */
export interface RequestHeader {
  id: unknown
  call: unknown
  wanted: unknown
}

/** Finds a runner for a session, at once or later. @returns a function that cancels the wait */
export type PlaceSession = (id: number, handler: IsolateSession) => () => void

export interface SessionEnding {
  error: GuestError
  again: boolean
  wasReady: boolean
  wasRunning: boolean
}

interface SessionOwner {
  onLoaded(): void
  onAnswer(): void
  /** The isolate is gone; its calls have failed or are handed back. */
  onEnded(ending: SessionEnding): void
  /** Calls to repeat, the oldest first. */
  onRepeat(calls: GuestCall[]): void
  /** The call that must come first. */
  firstCall(): FirstCall | null
}

/** Starting takes 0.1 s; on a busy machine, several. */
const START_MS_MAX = 15_000
/** Characters of one message of a debugger, with room for a truncation; see the runner. */
const INSPECTED_LENGTH_MAX = 11_000_000
/** The function of a plugin that is called first. */
export const SETUP_FUNCTION = 'setup'
const NO_PLUGIN: PluginLimits = { methods: [], hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 }

const TOO_LARGE = JSON.stringify({ code: 'too_large', message: 'The answer is too large to send.' })

let lastId = 0
/** Unique across calls and sessions: a runner cannot answer one with the id of another. */
const nextId = (): number => ++lastId

/** The limits of a program, for the runner. */
const limitsOf = (program: Program) => ({
  memoryMbMax: program.memoryMbMax,
  loadCpuMs: program.load.cpuMs,
  loadWallMs: program.load.wallMs,
  resultLength: program.resultLengthMax,
  requestLengths: REQUEST_LENGTHS,
  isPlugin: program.plugin !== undefined,
  ...(program.inspect && { isInspected: true }),
  ...(program.isTraced && { isTraced: true }),
  ...(program.plugin ?? NO_PLUGIN),
})

/** Maximum characters of a message of a running call; null for unknown kinds. */
function sentLengthMax(kind: unknown, resultLengthMax: number): number | null {
  if (kind === 'done') return resultLengthMax
  return kind === 'fail' || kind === 'uncaught' ? FAILURE_LENGTH_MAX : kind === 'log' || kind === 'progress' ? LINE_LENGTH_MAX : null
}

/** The methods of a session for its debugger. */
function inspectedBy(runner: RunnerHandle, sandbox: number, debug: (isOn: boolean) => void): InspectedIsolate {
  return {
    attach: () => debug(true),
    detach: () => debug(false),
    send: (text) => runner.send({ kind: 'inspect', sandbox, act: 'send' }, text),
    begin: () => runner.send({ kind: 'inspect', sandbox, act: 'begin' }),
  }
}

/**
 * One isolate from start to end: its calls and their host calls. Its runner calls the methods `on…` with messages, which are untrusted; false means that
 * the message was unexpected.
 */
export class IsolateSession {
  readonly since = performance.now()
  readonly #id = nextId()
  readonly #program: Program
  readonly #sources: string
  readonly #owner: SessionOwner
  readonly #plugin: PluginLimits
  /** The file name of the code. */
  readonly #file: string
  readonly #running = new Map<number, RunningCall>()
  #runner: RunnerHandle | null = null
  #stopWaiting = () => {}
  #startDeadline: NodeJS.Timeout | undefined
  #defined: readonly string[] | null = null
  #isReady = false
  #isToBeReplaced = false
  /** A debugger is attached: there are no deadlines. */
  #isDebugged = false
  #debugging: ReturnType<Inspector['onIsolate']> | null = null
  #hasEnded = false
  #calls = 0

  constructor(program: Program, sources: string, owner: SessionOwner) {
    this.#program = program
    this.#sources = sources
    this.#owner = owner
    this.#plugin = program.plugin ?? NO_PLUGIN
    this.#file = fileOf(program)
  }

  /** Paths of the functions that a plugin has defined; null until it is loaded. */
  get defined(): readonly string[] | null {
    return this.#defined
  }

  /** Loaded, and set up if necessary. */
  get isReady(): boolean {
    return this.#isReady
  }

  get isToBeReplaced(): boolean {
    return this.#isToBeReplaced
  }

  /** The number of running calls. */
  get running(): number {
    return this.#running.size
  }

  /** The number of started calls. */
  get calls(): number {
    return this.#calls
  }

  isBusy(): boolean {
    return this.#running.size > 0 || !this.#isReady
  }

  start(place: PlaceSession): void {
    this.#stopWaiting = place(this.#id, this)
    if (this.#hasEnded) this.#stopWaiting()
  }

  begin(call: GuestCall): void {
    const id = nextId()
    const { more } = call.options
    this.#calls += 1
    const header = { kind: 'call', sandbox: this.#id, id, name: call.name, budget: call.budget, moreLength: more?.length }
    const running = new RunningCall(call, this.#plugin)
    this.#setDeadline(id, running)
    this.#running.set(id, running)
    if (this.#send(header, more === undefined ? call.text : more + call.text)) return
    this.#finish(id)
    call.reject(new GuestError('invalid_argument', 'The input of the call is too large to send.'))
  }

  /** Without notice to its owner. @param error for running calls */
  close(error: GuestError = this.#closedError()): void {
    this.#end(error, false)
  }

  onRunner(runner: RunnerHandle): void {
    this.#runner = runner
    if (!this.#send({ kind: 'load', sandbox: this.#id, limits: limitsOf(this.#program) }, this.#sources))
      return void this.end(new GuestError('load', 'The program is too large to send.'), false)
    this.#debugging = this.#program.inspect?.onIsolate(inspectedBy(runner, this.#id, (isOn) => this.#debug(isOn))) ?? null
    this.#setDeadlines()
  }

  /** Maximum characters of the body of a message, checked before it is read; null when the message is unexpected. */
  lengthMaxOf({ kind, id, call, wanted }: Readonly<Record<string, unknown>>): number | null {
    if (kind === 'host') return this.#running.has(call as number) ? requestLengthMax(wanted) : null
    if (kind === 'inspect') return this.#debugging === null ? null : INSPECTED_LENGTH_MAX
    if (kind === 'loaded') return 0
    if (kind === 'ended') return STACK_BYTES_MAX
    return this.#running.has(id as number) ? sentLengthMax(kind, this.#program.resultLengthMax) : null
  }

  onLoaded(names: unknown): boolean {
    if (this.#hasEnded || this.#defined !== null) return false
    clearTimeout(this.#startDeadline)
    this.#defined = Array.isArray(names) ? names.filter((name): name is string => this.#plugin.methods.includes(name)) : []
    const first = this.#owner.firstCall()
    const onReady = () => {
      this.#isReady = true
      this.#owner.onLoaded()
    }
    if (first === null) onReady()
    else this.begin({ ...first, name: SETUP_FUNCTION, resolve: onReady, reject: (error) => this.end(error, false), isRepeated: true })
    return true
  }

  onAnswer({ kind, id, cpuMs, wallMs, pending, unawaited }: AnswerHeader, body: string): boolean {
    if (!this.#running.has(id as number)) return false
    const lengthMax = kind === 'done' ? this.#program.resultLengthMax : FAILURE_LENGTH_MAX
    if (body.length > lengthMax) return this.#reportViolation(`an answer of ${body.length} characters`)
    const { call } = this.#finish(id, readUnawaited(unawaited, this.#file)) as RunningCall
    const pendingTimers = readPendingTimers(pending, this.#file)
    if (kind === 'done') call.resolve({ text: body, cpuMs: Number(cpuMs) || 0, wallMs: Number(wallMs) || 0, pendingTimers })
    else call.reject(Object.assign(readFailure(body, this.#file), { cpuMs: Number(cpuMs) || 0 }))
    this.#owner.onAnswer()
    return true
  }

  onOutput(kind: 'log' | 'progress' | 'uncaught', id: unknown, body: string): boolean {
    const running = this.#running.get(id as number)
    if (running === undefined) return false
    const violation = kind === 'uncaught' ? running.countUncaught() : running.countLine()
    if (violation !== null) return this.#reportViolation(violation)
    if (kind === 'uncaught') running.call.options.onUncaught?.(readFailure(body, this.#file))
    else running.call.options.onOutput?.(kind, readOutput(body))
    return true
  }

  onRequest({ id, call, wanted }: RequestHeader, body: string): boolean {
    const running = this.#running.get(call as number)
    if (running === undefined) return false
    const violation = running.countRequest(wanted, body.length)
    if (violation !== null) return this.#reportViolation(violation)
    void running.answer({ id, kind: wanted as string, body }, (outcome, value) => this.#reply(id, outcome, value))
    return true
  }

  /** A message for the debugger of the isolate, if there is one. */
  onInspect(body: string): boolean {
    this.#debugging?.onMessage(body)
    return this.#debugging !== null
  }

  /** The runner reports that the isolate has ended, and how. */
  onEnded(said: SaidEnding): void {
    this.end(readEnding(said, this.#file), false)
  }

  /** Another session handles further calls. */
  onReplace(): void {
    this.#isToBeReplaced = true
    if (this.#isReady && this.#running.size === 0) this.end(this.#closedError(), true)
  }

  /** @param again the session did not cause the exit: its calls are repeated */
  end(error: GuestError, again: boolean): void {
    if (this.#hasEnded) return
    const [wasReady, wasRunning] = [this.#isReady, this.#running.size > 0]
    this.#owner.onRepeat(this.#end(error, again))
    this.#owner.onEnded({ error, again, wasReady, wasRunning })
  }

  /** @returns the calls to repeat */
  #end(error: GuestError, again: boolean): GuestCall[] {
    if (this.#hasEnded) return []
    this.#hasEnded = true
    this.#isReady = false
    clearTimeout(this.#startDeadline)
    this.#stopWaiting()
    this.#debugging?.onEnded()
    this.#runner?.leave()
    this.#runner?.send({ kind: 'close', sandbox: this.#id })
    const repeated: GuestCall[] = []
    for (const id of [...this.#running.keys()]) {
      const { call, isOverdue } = this.#finish(id) as RunningCall
      if (again && !call.isRepeated && !isOverdue) repeated.push({ ...call, isRepeated: true })
      else call.reject(error)
    }
    return repeated
  }

  #closedError(): GuestError {
    return new GuestError('closed', `${this.#program.name} was closed.`)
  }

  #finish(id: unknown, unawaited: ReturnType<typeof readUnawaited> = null): RunningCall | undefined {
    const running = this.#running.get(id as number)
    this.#running.delete(id as number)
    running?.end(unawaited)
    return running
  }

  #reply(id: unknown, outcome: 'ok' | 'error', value: unknown): void {
    const text = value instanceof JsonText ? value.text : JSON.stringify(value ?? null)
    // When the answer is too large to send, the guest gets an error.
    if (!this.#send({ kind: 'reply', sandbox: this.#id, id, outcome }, text))
      this.#send({ kind: 'reply', sandbox: this.#id, id, outcome: 'error' }, TOO_LARGE)
  }

  /** @returns false, and sends nothing, when the message is too large */
  #send(header: object, body?: string): boolean {
    try {
      this.#runner?.send(header, body)
      return true
    } catch (error) {
      if (error instanceof RangeError) return false
      throw error
    }
  }

  #reportViolation(what: string): boolean {
    this.#runner?.reportViolation(what)
    return true
  }

  /** Sets or clears all deadlines. */
  #setDeadlines(): void {
    clearTimeout(this.#startDeadline)
    if (this.#defined === null && !this.#isDebugged) this.#startDeadline = setTimeout(() => this.#runner?.terminate(), START_MS_MAX)
    for (const [id, running] of this.#running) this.#setDeadline(id, running)
  }

  #setDeadline(id: number, running: RunningCall): void {
    running.clearDeadline()
    if (!this.#isDebugged) running.setDeadline(() => this.#onOverdue(id, running))
  }

  #onOverdue(id: number, running: RunningCall): void {
    // After reading what has already arrived: this process may have been busy itself.
    setImmediate(() => {
      if (!this.#running.has(id) || this.#isDebugged) return
      running.isOverdue = true
      this.#runner?.terminate()
    })
  }

  #debug(isOn: boolean): void {
    if (this.#hasEnded || this.#isDebugged === isOn) return
    this.#isDebugged = isOn
    this.#runner?.send({ kind: 'inspect', sandbox: this.#id, act: isOn ? 'attach' : 'detach' })
    this.#setDeadlines()
  }
}
