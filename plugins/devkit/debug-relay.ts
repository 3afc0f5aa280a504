import type { InspectedIsolate, Inspector } from '#plugins/runtime/inspection.ts'
import { type Asked, openDebugMemory } from './debug-memory.ts'

/** Between one debugger, which stays, and isolates, which come and go with every call and every build. */
export interface DebugRelay extends Inspector {
  readonly isTaken: boolean
  /** @param send to the debugger. @throws Error when there is one already */
  connect(send: (text: string) => void): { onMessage(text: string): void; onClosed(): void }
}

/** Debuggers number from one upwards; what the relay itself asks has numbers that they do not use. */
const ID_MAX = 2 ** 31 - 1
/** A debugger that opens asks some dozens of things at once. */
const WAITING_MAX = 1_000
const MESSAGE_LENGTH_MAX = 10_000_000

const INVALID_REQUEST = -32_600
const SERVER_ERROR = -32_000

interface Debugger {
  send(text: string): void
  memory: ReturnType<typeof openDebugMemory>
  /** Asked of the isolate, which has not answered. */
  unanswered: Set<number>
  /** Asked while there was no isolate. */
  early: string[]
  isPaused: boolean
}

export function openDebugRelay(): DebugRelay {
  let isolate: InspectedIsolate | null = null
  let one: Debugger | null = null

  const hearIsolate = (text: string): void => {
    if (one === null) return
    const { id, method, result } = JSON.parse(text) as { id?: number; method?: string; result?: unknown }
    if (id !== undefined) {
      // An answer to what the relay has asked is of no interest: it repeats what went well before.
      if (!one.unanswered.delete(id)) return
      one.memory.noteAnswer(id, result)
    }
    if (method === 'Debugger.paused') one.isPaused = true
    if (method === 'Debugger.resumed') one.isPaused = false
    one.send(text)
  }

  /** The debugger is told as one of a page is when somebody leaves the page. */
  const forget = (): void => {
    isolate = null
    if (one === null) return
    for (const id of one.unanswered) {
      one.memory.noteAnswer(id, null)
      refuse(one, id, SERVER_ERROR, 'The sandbox has ended.')
    }
    one.unanswered.clear()
    if (one.isPaused) one.send(JSON.stringify({ method: 'Debugger.resumed', params: {} }))
    one.isPaused = false
    one.send(JSON.stringify({ method: 'Runtime.executionContextsCleared', params: {} }))
  }

  const ask = (to: InspectedIsolate, from: Debugger, { id, text }: { id: number; text: string }): void => {
    from.unanswered.add(id)
    to.send(text)
  }

  return {
    get isTaken() {
      return one !== null
    },
    onIsolate(opened) {
      // One at a time: who has opened two debugs the younger.
      if (isolate !== null) {
        isolate.detach()
        forget()
      }
      isolate = opened
      if (one !== null) {
        opened.attach()
        let id = 0
        for (const asked of one.memory.all()) {
          id -= 1
          opened.send(JSON.stringify({ id, ...asked }))
        }
        for (const text of one.early.splice(0)) ask(opened, one, { id: (JSON.parse(text) as Asked).id, text })
      }
      opened.begin()
      return {
        onMessage: (text) => {
          if (isolate === opened) hearIsolate(text)
        },
        onEnded: () => {
          if (isolate === opened) forget()
        },
      }
    },
    connect(send) {
      if (one !== null) throw new Error('Somebody debugs already.')
      const opened: Debugger = { send, memory: openDebugMemory(), unanswered: new Set(), early: [], isPaused: false }
      one = opened
      isolate?.attach()
      return {
        onMessage(text) {
          const asked = readAsked(text)
          if (typeof asked === 'string') return refuse(opened, null, INVALID_REQUEST, asked)
          if (opened.unanswered.size + opened.early.length >= WAITING_MAX)
            return refuse(opened, asked.id, SERVER_ERROR, `${WAITING_MAX} messages wait for an answer already.`)
          if (opened.unanswered.has(asked.id)) return refuse(opened, asked.id, INVALID_REQUEST, 'The number is in use.')
          opened.memory.note(asked)
          if (isolate === null) opened.early.push(text)
          else ask(isolate, opened, { id: asked.id, text })
        },
        onClosed() {
          if (one !== opened) return
          one = null
          isolate?.detach()
        },
      }
    },
  }
}

/** @returns what is wrong where it is no message */
function readAsked(text: string): Asked | string {
  if (text.length > MESSAGE_LENGTH_MAX) return `A message may have ${MESSAGE_LENGTH_MAX} characters.`
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'A message is JSON.'
  }
  const { id, method, params = {} } = (value ?? {}) as Partial<Record<keyof Asked, unknown>>
  if (!Number.isInteger(id) || (id as number) < 0 || (id as number) > ID_MAX) return `"id" is a whole number from 0 to ${ID_MAX}.`
  if (typeof method !== 'string') return '"method" is a text.'
  if (params === null || typeof params !== 'object' || Array.isArray(params)) return '"params" is an object.'
  return { id: id as number, method, params: params as Record<string, unknown> }
}

const refuse = ({ send }: Debugger, id: number | null, code: number, message: string): void =>
  send(JSON.stringify({ id, error: { code, message } }))
