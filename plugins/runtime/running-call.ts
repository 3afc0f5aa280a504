import { GuestError, refuseGuest } from './guest-error.ts'
import { MAIN_LENGTH_MAX, REQUESTED_LENGTH_MAX, readRecord, type readUnawaited, requestLengthMax } from './guest-text.ts'
import type { Answer, Budget, CallOptions, PluginLimits } from './program.ts'

/** A queued or running call. */
export interface GuestCall {
  name: string
  text: string
  budget: Budget
  options: CallOptions
  resolve: (answer: Answer) => void
  reject: (error: GuestError) => void
  /** Already repeated once, because its first runner died of another cause. */
  isRepeated: boolean
}

export type FirstCall = Pick<GuestCall, 'text' | 'budget' | 'options'>

/** Time beyond the deadline of a call for its runner to terminate it, also on a machine that stands still for a moment: a runner that is ended knows no place. */
const GRACE_MS = 1_000

type OutputLimits = Pick<PluginLimits, 'hostCalls' | 'inFlight' | 'logLines'>

/** A call in its isolate: its deadline, host calls and messages. */
export class RunningCall {
  readonly call: GuestCall
  /** It has exceeded its time once, for whatever reason: it is not repeated. */
  isOverdue = false
  readonly #limits: OutputLimits
  #deadline: NodeJS.Timeout | undefined
  /** Created with its first host call: it costs more than the rest of a call without any. */
  #ended: AbortController | null = null
  #requests = 0
  #inFlight = 0
  #lines = 0
  #hasUncaught = false
  #requestedLength = 0
  /** The oldest host call that its code did not wait for, and where it was made. */
  #unawaited: ReturnType<typeof readUnawaited> = null
  /** Host calls that failed, by id: the call may have been answered before it learned of that. */
  readonly #failed = new Map<unknown, { kind: string; error: unknown }>()

  constructor(call: GuestCall, limits: OutputLimits) {
    this.call = call
    this.#limits = limits
  }

  setDeadline(onOverdue: () => void): void {
    this.#deadline = setTimeout(onOverdue, this.call.budget.wallMs + GRACE_MS)
  }

  clearDeadline(): void {
    clearTimeout(this.#deadline)
  }

  /** @param unawaited the oldest host call without an answer, of a call that was answered */
  end(unawaited: ReturnType<typeof readUnawaited>): void {
    this.clearDeadline()
    this.#unawaited = unawaited
    const failed = this.#failed.get(unawaited?.id)
    if (failed !== undefined) this.#reportUnawaited(unawaited?.id, failed.kind, failed.error)
    this.#ended?.abort()
  }

  /** The prelude counts too, so a runner that exceeds the limit is compromised. @returns what is wrong, or null */
  countLine(): string | null {
    this.#lines += 1
    return this.#lines > this.#limits.logLines ? 'too many log lines in one call' : null
  }

  /** @returns what is wrong, or null */
  countUncaught(): string | null {
    if (this.#hasUncaught) return 'more than one failure of a call'
    this.#hasUncaught = true
    return null
  }

  /** @returns what is wrong, or null */
  countRequest(wanted: unknown, length: number): string | null {
    this.#requests += 1
    this.#inFlight += 1
    if (this.#requests > this.#limits.hostCalls || this.#inFlight > this.#limits.inFlight) return 'too many host calls in one call'
    if (typeof wanted !== 'string') return 'a host call without a kind'
    this.#requestedLength += length
    return null
  }

  /** @param reply called once, unless the call has ended by then */
  async answer(
    { id, kind, body }: { id: unknown; kind: string; body: string },
    reply: (outcome: 'ok' | 'error', value: unknown) => void,
  ): Promise<void> {
    this.#ended ??= new AbortController()
    const { signal } = this.#ended
    const replyOnce = (outcome: 'ok' | 'error', value: unknown) => {
      this.#inFlight -= 1
      if (!signal.aborted) reply(outcome, value)
    }
    try {
      const { onRequest } = this.call.options
      if (onRequest === undefined) return refuseGuest('permission', 'This program has no host functions.')
      if (this.#requestedLength > REQUESTED_LENGTH_MAX)
        refuseGuest('limit', `A call may send the server at most ${REQUESTED_LENGTH_MAX} characters in total.`)
      replyOnce('ok', await onRequest(kind, await readRequest(this.call.options, kind, body), signal))
    } catch (error) {
      if (signal.aborted) this.#reportUnawaited(id, kind, error)
      else this.#failed.set(id, { kind, error })
      if (error instanceof GuestError) replyOnce('error', { code: error.own ?? error.code, message: error.message })
      // A bug of the server, whose details the guest must not see.
      else replyOnce('error', { code: 'server', message: 'The server failed to handle this call.' })
    }
  }

  /** The guest never learns that a host call failed whose answer it did not wait for. Its author does, once for a call. */
  #reportUnawaited(id: unknown, kind: string, error: unknown): void {
    const { onUnawaited } = this.call.options
    if (onUnawaited === undefined || this.#unawaited === null || this.#hasUncaught || !(error instanceof GuestError)) return
    // It was ended with its call.
    if ((error.own ?? error.code) === 'closed') return
    this.#hasUncaught = true
    const places = this.#unawaited.id === id ? this.#unawaited.places : []
    onUnawaited(
      new GuestError('thrown', `ctx.${kind} failed after the answer, because nothing awaited it: ${error.message}`, null, null, places),
    )
  }
}

async function readRequest({ readLarge }: CallOptions, kind: string, body: string): Promise<unknown> {
  if (body.length <= MAIN_LENGTH_MAX && body.length <= requestLengthMax(kind)) return readRecord(body)['payload']
  if (readLarge === undefined || body.length > requestLengthMax(kind))
    return refuseGuest('invalid_argument', 'The value sent to the server is too large.')
  return await readLarge(kind, body)
}
