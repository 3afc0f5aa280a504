import { GuestError } from './guest-error.ts'
import { MAIN_LENGTH_MAX, REQUESTED_LENGTH_MAX, readRecord, requestLengthMax } from './guest-text.ts'
import type { Answer, Budget, CallOptions, PluginLimits } from './program.ts'

/** A call that waits or runs. */
export interface Call {
  name: string
  text: string
  budget: Budget
  options: CallOptions
  resolve: (answer: Answer) => void
  reject: (error: GuestError) => void
  /** Has been done a second time, because its first runner died of something else. */
  isRepeated: boolean
}

export type FirstCall = Pick<Call, 'text' | 'budget' | 'options'>

/** What a runner may need beyond a call's own deadline to end it by itself. */
const GRACE_MS = 250

type Said = Pick<PluginLimits, 'hostCalls' | 'inFlight' | 'logLines'>

/** A call in its isolate: its deadline, and what it has asked for and said. */
export class RunningCall {
  readonly call: Call
  /** Its time was used up once, whatever was to blame: it is not done again. */
  isOverdue = false
  readonly #limits: Said
  #deadline: NodeJS.Timeout | undefined
  /** Made with its first request: aborting costs more than the rest of a call that asks for nothing. */
  #ended: AbortController | null = null
  #requests = 0
  #inFlight = 0
  #lines = 0
  #hasUncaught = false
  #requestedLength = 0

  constructor(call: Call, limits: Said) {
    this.call = call
    this.#limits = limits
  }

  setDeadline(onOverdue: () => void): void {
    this.#deadline = setTimeout(onOverdue, this.call.budget.wallMs + GRACE_MS)
  }

  clearDeadline(): void {
    clearTimeout(this.#deadline)
  }

  end(): void {
    this.clearDeadline()
    this.#ended?.abort()
  }

  /** The server counts what the prelude counts already: one that goes beyond was overcome. @returns what is wrong, or null */
  countLine(): string | null {
    this.#lines += 1
    return this.#lines > this.#limits.logLines ? 'more lines than a call may write' : null
  }

  /** @returns what is wrong, or null */
  countUncaught(): string | null {
    if (this.#hasUncaught) return 'more failures of one call than are told'
    this.#hasUncaught = true
    return null
  }

  /** @returns what is wrong, or null */
  countRequest(wanted: unknown, length: number): string | null {
    this.#requests += 1
    this.#inFlight += 1
    if (this.#requests > this.#limits.hostCalls || this.#inFlight > this.#limits.inFlight) return 'more requests than a call may make'
    if (typeof wanted !== 'string') return 'a request that asks for nothing'
    this.#requestedLength += length
    return null
  }

  /** @param reply told once, unless the call has ended by then */
  async answer(kind: string, body: string, reply: (outcome: 'ok' | 'error', value: unknown) => void): Promise<void> {
    this.#ended ??= new AbortController()
    const { signal } = this.#ended
    const replyOnce = (outcome: 'ok' | 'error', value: unknown) => {
      this.#inFlight -= 1
      if (!signal.aborted) reply(outcome, value)
    }
    try {
      const { onRequest } = this.call.options
      if (onRequest === undefined) throw new GuestError('thrown', 'There is nothing to ask for here.', 'permission')
      if (this.#requestedLength > REQUESTED_LENGTH_MAX)
        throw new GuestError('thrown', `A call may send the server ${REQUESTED_LENGTH_MAX} characters in all.`, 'limit')
      replyOnce('ok', await onRequest(kind, await readRequest(this.call.options, kind, body), signal))
    } catch (error) {
      if (error instanceof GuestError) replyOnce('error', { code: error.own ?? error.code, message: error.message })
      // A bug of ours, and none of the guest's business.
      else replyOnce('error', { code: 'server', message: 'The server could not do this.' })
    }
  }
}

async function readRequest({ readLarge }: CallOptions, kind: string, body: string): Promise<unknown> {
  if (body.length > requestLengthMax(kind)) throw new GuestError('thrown', 'What was sent to the server is too large.', 'invalid_argument')
  if (body.length <= MAIN_LENGTH_MAX) return readRecord(body)['payload']
  if (readLarge === undefined) throw new GuestError('thrown', 'Nothing of that size is taken here.', 'invalid_argument')
  return await readLarge(kind, body)
}
