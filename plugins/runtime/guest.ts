import { GuestError } from './guest-error.ts'
import { IsolateSession, type PlaceSession, SETUP_FUNCTION, type SessionEnding } from './isolate-session.ts'
import type { Answer, Budget, CallOptions, Program } from './program.ts'
import type { FirstCall, GuestCall } from './running-call.ts'

/** When to replace the isolate of a program. */
export interface Renewal {
  callsMax?: number
  ageMsMax?: number
}

/** After so many calls, or so long, a new isolate replaces the old one and frees whatever the code has accumulated. */
const CALLS_MAX = 1_000
const AGE_MS_MAX = 60 * 60_000
/** Fits into a frame with any characters. */
const ARGUMENT_LENGTH_MAX = 10_000_000
/** Two configurations of 32 KB and the rest of a context. */
const MORE_LENGTH_MAX = 72 * 1024

/** Why a call is refused; null when it is accepted. */
function refusalOf(program: Program, { text, more }: { text: string; more: string | undefined }, waiting: number): GuestError | null {
  if (text.length > ARGUMENT_LENGTH_MAX)
    return new GuestError('invalid_argument', `An argument of ${text.length} characters is too large; the limit is ${ARGUMENT_LENGTH_MAX}.`)
  if ((more?.length ?? 0) > MORE_LENGTH_MAX)
    return new GuestError('invalid_argument', `The configuration for the call is too large; the limit is ${MORE_LENGTH_MAX}.`)
  return waiting >= program.queueMax
    ? new GuestError('busy', `${waiting} calls are already queued for ${program.name}. Try again shortly.`)
    : null
}

/**
 * A program in its isolate. The isolate opens with the first call, and again after it was terminated or has become old. After a successful call of
 * `setup`, every new isolate repeats that call before any other.
 */
export class Guest {
  readonly #program: Program
  readonly #place: PlaceSession
  readonly #renewal: Required<Renewal>
  readonly #sources: string
  readonly #waiting: GuestCall[] = []
  readonly #loading: { resolve: (defined: readonly string[]) => void; reject: (error: GuestError) => void }[] = []
  /** The call of `setup` with which every new isolate starts. */
  #setup: FirstCall | null = null
  #current: IsolateSession | null = null
  /** An old isolate, which finishes its running calls. */
  #retiring: IsolateSession | null = null
  #restUntil = 0
  #isClosed = false

  /** @param place finds a runner for a session, at once or later, and returns a function that cancels the wait */
  constructor(program: Program, place: PlaceSession, { callsMax = CALLS_MAX, ageMsMax = AGE_MS_MAX }: Renewal = {}) {
    this.#program = program
    this.#place = place
    this.#renewal = { callsMax, ageMsMax }
    this.#sources = JSON.stringify(program.sources)
  }

  /** @param text the argument as JSON. @throws GuestError */
  call(name: string, text: string, budget: Budget, options: CallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const refusal = this.#isClosed ? this.#closedError() : refusalOf(this.#program, { text, more: options.more }, this.#waiting.length)
      if (refusal !== null) return reject(refusal)
      const succeed = (answer: Answer) => {
        if (name === SETUP_FUNCTION && this.#program.plugin) this.#setup = { text, budget, options }
        resolve(answer)
      }
      this.#waiting.push({ name, text, budget, options, resolve: succeed, reject, isRepeated: false })
      this.#next()
    })
  }

  /** Opens the isolate if necessary; returns the paths of the functions that a plugin has defined. @throws GuestError */
  load(): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(this.#closedError())
      if (this.#current?.isReady) return resolve(this.#current.defined ?? [])
      this.#loading.push({ resolve, reject })
      this.#next()
    })
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const session of [this.#current, this.#retiring]) session?.close(this.#closedError())
    this.#rejectWaiting(this.#closedError())
  }

  #open(): IsolateSession {
    const session: IsolateSession = new IsolateSession(this.#program, this.#sources, {
      onLoaded: () => {
        for (const one of this.#loading.splice(0)) one.resolve(session.defined ?? [])
        this.#next()
      },
      onAnswer: () => {
        if (this.#retiring?.running === 0) {
          const retired = this.#retiring
          this.#retiring = null
          retired.close()
        }
        this.#next()
      },
      onEnded: (ending) => this.#onEnded(session, ending),
      onRepeat: (calls) => void this.#waiting.unshift(...calls),
      firstCall: () => this.#setup,
    })
    return session
  }

  #onEnded(session: IsolateSession, { error, again, wasReady, wasRunning }: SessionEnding): void {
    if (this.#retiring === session) this.#retiring = null
    if (this.#current === session) this.#current = null
    if (wasRunning) this.#restUntil = performance.now() + this.#program.restMs
    // If the program cannot start, all queued calls fail with that error.
    if (!wasReady && !again) this.#rejectWaiting(error)
    this.#next()
  }

  #rejectWaiting(error: GuestError): void {
    for (const one of [...this.#waiting.splice(0), ...this.#loading.splice(0)]) one.reject(error)
  }

  #renewIfOld(): void {
    const old = this.#current
    if (old === null || !old.isReady || this.#retiring !== null) return
    const { callsMax, ageMsMax } = this.#renewal
    if (old.calls < callsMax && performance.now() - old.since < ageMsMax && !old.isToBeReplaced) return
    this.#current = null
    if (old.running === 0) old.close()
    else this.#retiring = old
  }

  /** Starts as many queued calls as the limit allows. */
  #next(): void {
    if (this.#isClosed || (this.#waiting.length === 0 && this.#loading.length === 0)) return
    const restMs = this.#restUntil - performance.now()
    if (restMs > 0) {
      setTimeout(() => this.#next(), restMs)
      return
    }
    this.#renewIfOld()
    if (this.#current === null) {
      const opened = this.#open()
      this.#current = opened
      // It may get a runner at once, and may be refused at once.
      opened.start(this.#place)
    }
    while (this.#current?.isReady && this.#waiting.length > 0 && this.#current.running < this.#program.concurrency) {
      this.#current.begin(this.#waiting.shift() as GuestCall)
      this.#renewIfOld()
      if (this.#current === null) this.#next()
    }
  }

  #closedError(): GuestError {
    return new GuestError('closed', `${this.#program.name} was closed.`)
  }
}
