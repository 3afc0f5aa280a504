import { create, GuestError, GuestPromise, indexOf, parse, slice, stackOf, stringify, textOr } from './built-ins.ts'
import { type Call, calls, type HostCall } from './call.ts'
import { limits, post } from './channel.ts'
import { setTimer } from './timers.ts'

const pending: Record<number, HostCall> = create(null)
let lastId = 0

export function problem(code: string, message: string, retryAfterSeconds?: unknown): Error {
  const error = new GuestError(message) as Error & { code?: string; retryAfterSeconds?: number }
  error.code = code
  if (typeof retryAfterSeconds === 'number') error.retryAfterSeconds = retryAfterSeconds
  return error
}

export const closedProblem = (): Error => problem('closed', 'The call has ended.')

/** Sends a host call and returns a promise of its answer. The server checks the limits too; checking them here saves it the work. */
export function ask<Answer>(call: Call, kind: string, payload: unknown): Promise<Answer> {
  return new GuestPromise((resolve, reject) => {
    if (call.ended) return reject(closedProblem())
    call.requests += 1
    if (call.requests > limits.hostCalls)
      return reject(problem('limit', `A call may make at most ${limits.hostCalls} requests to the server.`))
    let text: string
    try {
      text = stringify({ __proto__: null, payload })
    } catch {
      return reject(
        problem(
          'invalid_argument',
          `The arguments of ctx.${kind} must be plain JSON: without BigInt, and without an object that contains itself.`,
        ),
      )
    }
    const lengthMax = limits.requestLengths[kind] as number
    if (text.length > lengthMax)
      return reject(problem('invalid_argument', `The value sent to the server has ${text.length} characters; the limit is ${lengthMax}.`))
    const request: HostCall = { kind, text, call, resolve, reject, next: null, caller: new GuestError() }
    if (call.running < limits.inFlight) return start(request)
    if (call.last === null) call.first = request
    else call.last.next = request
    call.last = request
  })
}

function start(request: HostCall): void {
  const id = ++lastId
  request.call.running += 1
  pending[id] = request
  post('host', id, request.text, request.call.id, request.kind)
}

/** Passes the answer of the server to the code that waits for it. */
export function receiveReply(id: number, outcome: string, text: string): void {
  const request = pending[id]
  if (request === undefined) return
  delete pending[id]
  const { call } = request
  call.running -= 1
  calls.current = call
  const next = call.first
  if (next !== null) {
    call.first = next.next
    if (call.first === null) call.last = null
    start(next)
  }
  const answer = parse(text)
  // The caller of `ask` knows the kind of its answer.
  if (outcome === 'ok') request.resolve(answer as never)
  else request.reject(withStackOf(request.caller, problem(answer.code, answer.message)))
  if (call.end !== null && !isWaiting(call)) call.end()
}

/** Longer than answers from fixtures take. */
const LAST_ANSWERS_MS = 1_000

/** Whether it waits for an answer that may be an error. */
function isWaiting(call: Call): boolean {
  for (const id in pending) if ((pending[id] as HostCall).call === call && (pending[id] as HostCall).kind !== 'sleep') return true
  return false
}

/**
 * Ends a call that has returned. In traced code host calls that nobody waited for are answered first, so that those that fail are reported as unhandled
 * rejections, with their place.
 */
export function endAfterRequests(call: Call, end: () => void): void {
  const isLater = limits.isTraced && isWaiting(call)
  if (isLater) call.end = end
  try {
    if (isLater) setTimer(end, LAST_ANSWERS_MS, true)
    else end()
  } catch {
    // There are too many timers to wait.
    end()
  }
}

/** The oldest request that a call waits for: its kind, and in further lines the stack of its caller. */
export function waitingRequest(callId: number): string | null {
  const id = oldestRequest(callId)
  if (id === null) return null
  const { kind, caller } = pending[id] as HostCall
  return `${kind}\n${stackOf(caller)}`
}

/** The id of the oldest request of a call without an answer. */
export function oldestRequest(callId: number): number | null {
  for (const id in pending) if ((pending[id] as HostCall).call.id === callId) return +id
  return null
}

/** Adds the stack of the caller: the answer itself has none. */
function withStackOf(caller: Error, error: Error): Error {
  try {
    const stack = textOr(caller.stack, '')
    const at = indexOf(stack, '\n')
    if (at !== -1) error.stack = `Error: ${error.message}${slice(stack, at)}`
  } catch {
    // The stack is optional.
  }
  return error
}

/** Sends what has no answer. */
export function tell(call: Call, kind: 'log' | 'progress', payload: object): void {
  if (!call.ended) post(kind, call.id, stringify({ __proto__: null, ...payload }))
}
