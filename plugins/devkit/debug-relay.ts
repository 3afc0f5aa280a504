import type { InspectedIsolate, Inspector } from '#plugins/runtime/inspection.ts'
import { type DebuggerRequest, DebugMemory } from './debug-memory.ts'

/** Debuggers number their requests upwards from one; the relay's own requests use ids beyond this. */
const ID_MAX = 2 ** 31 - 1
/** A debugger sends some dozens of requests when it opens. */
const WAITING_MAX = 1_000
const MESSAGE_LENGTH_MAX = 10_000_000

const INVALID_REQUEST = -32_600
const SERVER_ERROR = -32_000

interface Debugger {
  send(text: string): void
  memory: DebugMemory
  /** Requests that the isolate has not answered. */
  unanswered: Set<number>
  /** Requests from before there was an isolate. */
  early: string[]
  isPaused: boolean
}

/** Connects one debugger, which stays, with isolates, which change with every call and every build. */
export class DebugRelay implements Inspector {
  #isolate: InspectedIsolate | null = null
  #debugger: Debugger | null = null

  get isTaken(): boolean {
    return this.#debugger !== null
  }

  onIsolate(opened: InspectedIsolate): ReturnType<Inspector['onIsolate']> {
    // One at a time: the newer isolate replaces the older one.
    if (this.#isolate !== null) {
      this.#isolate.detach()
      this.#onIsolateEnded()
    }
    this.#isolate = opened
    if (this.#debugger !== null) repeatRequests(opened, this.#debugger)
    opened.begin()
    return {
      onMessage: (text) => {
        if (this.#isolate === opened) this.#onIsolateMessage(text)
      },
      onEnded: () => {
        if (this.#isolate === opened) this.#onIsolateEnded()
      },
    }
  }

  /** @param send to the debugger. @throws Error when one is already connected */
  connect(send: (text: string) => void): { onMessage(text: string): void; onClosed(): void } {
    if (this.#debugger !== null) throw new Error('A debugger is already connected.')
    const opened: Debugger = { send, memory: new DebugMemory(), unanswered: new Set(), early: [], isPaused: false }
    this.#debugger = opened
    this.#isolate?.attach()
    return {
      onMessage: (text) => this.#onDebuggerMessage(opened, text),
      onClosed: () => {
        if (this.#debugger !== opened) return
        this.#debugger = null
        this.#isolate?.detach()
      },
    }
  }

  #onDebuggerMessage(from: Debugger, text: string): void {
    const request = readRequest(text)
    if (typeof request === 'string') refuse(from, null, INVALID_REQUEST, request)
    else if (from.unanswered.size + from.early.length >= WAITING_MAX)
      refuse(from, request.id, SERVER_ERROR, `${WAITING_MAX} requests are already pending.`)
    else if (from.unanswered.has(request.id)) refuse(from, request.id, INVALID_REQUEST, 'The id is in use.')
    else this.#send(from, request, text)
  }

  #send(from: Debugger, request: DebuggerRequest, text: string): void {
    from.memory.note(request)
    if (this.#isolate === null) from.early.push(text)
    else ask(this.#isolate, from, { id: request.id, text })
  }

  #onIsolateMessage(text: string): void {
    const to = this.#debugger
    if (to === null) return
    const { id, method, result } = JSON.parse(text) as { id?: number; method?: string; result?: unknown }
    if (id !== undefined) {
      // Responses to the relay's own requests are ignored: it repeats requests that succeeded before.
      if (!to.unanswered.delete(id)) return
      to.memory.noteAnswer(id, result)
    }
    if (method === 'Debugger.paused') to.isPaused = true
    if (method === 'Debugger.resumed') to.isPaused = false
    to.send(text)
  }

  /** Notifies the debugger as if a page had been left. */
  #onIsolateEnded(): void {
    this.#isolate = null
    const to = this.#debugger
    if (to === null) return
    for (const id of to.unanswered) {
      to.memory.noteAnswer(id, null)
      refuse(to, id, SERVER_ERROR, 'The sandbox was closed.')
    }
    to.unanswered.clear()
    if (to.isPaused) to.send(JSON.stringify({ method: 'Debugger.resumed', params: {} }))
    to.isPaused = false
    to.send(JSON.stringify({ method: 'Runtime.executionContextsCleared', params: {} }))
  }
}

function ask(to: InspectedIsolate, from: Debugger, { id, text }: { id: number; text: string }): void {
  from.unanswered.add(id)
  to.send(text)
}

/** Repeats the debugger's settings in a new isolate. */
function repeatRequests(to: InspectedIsolate, from: Debugger): void {
  to.attach()
  let id = 0
  for (const request of from.memory.all()) {
    id -= 1
    to.send(JSON.stringify({ id, ...request }))
  }
  for (const text of from.early.splice(0)) ask(to, from, { id: (JSON.parse(text) as DebuggerRequest).id, text })
}

/** @returns what is wrong when it is not a valid request */
function readRequest(text: string): DebuggerRequest | string {
  if (text.length > MESSAGE_LENGTH_MAX) return `A message may have at most ${MESSAGE_LENGTH_MAX} characters.`
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'A message must be JSON.'
  }
  const { id, method, params = {} } = (value ?? {}) as Partial<Record<keyof DebuggerRequest, unknown>>
  if (!Number.isInteger(id) || (id as number) < 0 || (id as number) > ID_MAX) return `"id" must be a whole number from 0 to ${ID_MAX}.`
  if (typeof method !== 'string') return '"method" must be a string.'
  if (params === null || typeof params !== 'object' || Array.isArray(params)) return '"params" must be an object.'
  return { id: id as number, method, params: params as Record<string, unknown> }
}

const refuse = ({ send }: Debugger, id: number | null, code: number, message: string): void =>
  send(JSON.stringify({ id, error: { code, message } }))
