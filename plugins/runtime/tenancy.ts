import type { InspectedIsolate, Inspector } from '#plugins/runtime/inspection.ts'
import { GuestError } from './guest-error.ts'
import {
  FAILURE_LENGTH_MAX,
  JsonText,
  LINE_LENGTH_MAX,
  MAIN_LENGTH_MAX,
  REQUEST_LENGTHS,
  REQUESTED_LENGTH_MAX,
  readEnding,
  readFailure,
  readRecord,
  readSaid,
  requestLengthMax,
  STACK_BYTES_MAX,
} from './guest-text.ts'
import { type Answer, type Budget, type CallOptions, fileOf, type Program } from './program.ts'

/** A runner, as one of the isolates in it sees it. */
export interface Home {
  send(header: object, body?: string): void
  /** Has the runner killed: a call is overdue, and the runner did not end it itself. */
  condemn(): void
  /** Has the runner killed for what no runner says that is still in its own hands. */
  accuse(what: string): void
  leave(): void
}

/** The side of an isolate that its runner speaks to. What comes is not to be trusted; false says that nobody had asked for it. */
export interface Inhabitant {
  onHome(home: Home): void
  /** Characters that the body of a message may have, asked before it is read; null where nobody waits for such a message. */
  lengthMaxOf(header: Readonly<Record<string, unknown>>): number | null
  onLoaded(defined: unknown): boolean
  onAnswer(header: { kind: 'done' | 'fail'; id: unknown; cpuMs: unknown; wallMs: unknown }, body: string): boolean
  onSay(kind: 'log' | 'progress' | 'uncaught', id: unknown, body: string): boolean
  onRequest(header: { id: unknown; call: unknown; wanted: unknown }, body: string): boolean
  /** What the debugger of an isolate says, where there is one. */
  onInspect(body: string): boolean
  /** Its runner says that it has ended, and how. */
  onOver(said: Record<'code' | 'message' | 'stack', unknown>): void
  /** @param again it was not to blame: what it was at is done once more */
  onEnded(error: GuestError, again: boolean): void
  /** It is to live somewhere else from its next call on. */
  onUnwanted(): void
  isBusy(): boolean
}

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

/** One isolate from its start to its end: the calls that run in it, and what they ask for. */
export interface Tenancy {
  /** Paths of the functions that a plugin has defined; null until it is loaded. */
  readonly defined: readonly string[] | null
  /** Loaded, and set up where it has to be. */
  readonly isReady: boolean
  readonly isUnwanted: boolean
  /** Calls that run now. */
  readonly running: number
  /** Calls that were begun. */
  readonly calls: number
  readonly since: number
  seek(): void
  begin(call: Call): void
  /** Its landlord hears nothing of it. @param error for the calls that run still */
  close(error?: GuestError): void
}

export interface Ending {
  error: GuestError
  again: boolean
  wasReady: boolean
  wasRunning: boolean
}

export interface Landlord {
  onLoaded(): void
  onAnswer(): void
  /** The isolate is gone; its calls have been told or handed back. */
  onEnded(ending: Ending): void
  /** Calls that are to be done once more, the oldest first. */
  onRepeat(calls: Call[]): void
  /** The call that stands before all others. */
  beginWith(): Pick<Call, 'text' | 'budget' | 'options'> | null
}

interface Running extends Call {
  deadline: NodeJS.Timeout | undefined
  /** Made with its first request: aborting costs more than the rest of a call that asks for nothing. */
  ended: AbortController | null
  requests: number
  inFlight: number
  said: number
  hasUncaught: boolean
  /** Characters of its requests. */
  requested: number
}

/** What a runner may need beyond a call's own deadline to end it by itself. */
const GRACE_MS = 250
/** Starting takes 0.1 s; on a machine that is busy with everything at once, several. */
const START_MS_MAX = 15_000
/** What the debugger of an isolate may say at once, with room for what is cut off before; see the runner. */
const INSPECTED_LENGTH_MAX = 11_000_000
/** The function of a plugin that is called before all others. */
export const SETUP = 'setup'
const NO_PLUGIN = { methods: [] as readonly string[], hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 }

const TOO_LARGE = JSON.stringify({ code: 'too_large', message: 'The answer is larger than what can be sent.' })

let lastId = 0
/** Of calls and isolates alike: no runner can answer one by the number of another. */
const nextId = (): number => ++lastId

export function openTenancy(
  program: Program,
  sources: string,
  moveIn: (sandbox: number, inhabitant: Inhabitant) => () => void,
  landlord: Landlord,
): Tenancy {
  const sandbox = nextId()
  const running = new Map<number, Running>()
  const plugin = program.plugin ?? NO_PLUGIN
  const file = fileOf(program)
  let home: Home | null = null
  let stopSeeking = () => {}
  let startDeadline: NodeJS.Timeout | undefined
  let defined: readonly string[] | null = null
  let isReady = false
  let isUnwanted = false
  /** Somebody debugs: until that is over, nothing is late. */
  let isDebugged = false
  let debugging: ReturnType<Inspector['onIsolate']> | null = null
  let ended = false
  let calls = 0
  const since = performance.now()

  const inhabitant: Inhabitant = {
    isBusy: () => running.size > 0 || !isReady,
    onHome(found) {
      home = found
      const limits = {
        memoryMbMax: program.memoryMbMax,
        loadCpuMs: program.load.cpuMs,
        loadWallMs: program.load.wallMs,
        resultLength: program.resultLengthMax,
        requestLengths: REQUEST_LENGTHS,
        isPlugin: program.plugin !== undefined,
        ...(program.inspect && { isInspected: true }),
        ...plugin,
      }
      if (!deliver({ kind: 'load', sandbox, limits }, sources)) return end(new GuestError('load', 'The program is too large to be sent.'))
      debugging = program.inspect?.onIsolate(inspectedBy(found)) ?? null
      wind()
    },
    lengthMaxOf({ kind, id, call, wanted }) {
      if (kind === 'host') return running.has(call as number) ? requestLengthMax(wanted) : null
      if (kind === 'inspect') return debugging === null ? null : INSPECTED_LENGTH_MAX
      if (kind === 'loaded') return 0
      if (kind === 'ended') return STACK_BYTES_MAX
      if (!running.has(id as number)) return null
      if (kind === 'done') return program.resultLengthMax
      return kind === 'fail' || kind === 'uncaught' ? FAILURE_LENGTH_MAX : kind === 'log' || kind === 'progress' ? LINE_LENGTH_MAX : null
    },
    onLoaded(names) {
      if (ended || defined !== null) return false
      clearTimeout(startDeadline)
      defined = Array.isArray(names) ? names.filter((name): name is string => plugin.methods.includes(name)) : []
      const first = landlord.beginWith()
      if (first === null) {
        isReady = true
        landlord.onLoaded()
        return true
      }
      const resolve = () => {
        isReady = true
        landlord.onLoaded()
      }
      begin({ ...first, name: SETUP, resolve, reject: (error) => end(error), isRepeated: true })
      return true
    },
    onAnswer({ kind, id, cpuMs, wallMs }, body) {
      if (!running.has(id as number)) return false
      const lengthMax = kind === 'done' ? program.resultLengthMax : FAILURE_LENGTH_MAX
      if (body.length > lengthMax) return blame(`an answer of ${body.length} characters`)
      const call = finish(id) as Running
      if (kind === 'done') call.resolve({ text: body, cpuMs: Number(cpuMs) || 0, wallMs: Number(wallMs) || 0 })
      else call.reject(readFailure(body, file))
      landlord.onAnswer()
      return true
    },
    onSay(kind, id, body) {
      const call = running.get(id as number)
      if (call === undefined) return false
      // The server counts what the prelude counts already: one that goes beyond was overcome.
      if (kind === 'uncaught') {
        if (call.hasUncaught) return blame('more failures of one call than are told')
        call.hasUncaught = true
        call.options.onUncaught?.(readFailure(body, file))
        return true
      }
      call.said += 1
      if (call.said > plugin.logLines) return blame('more lines than a call may write')
      call.options.onSay?.(kind, readSaid(body))
      return true
    },
    onRequest({ id, call: callId, wanted }, body) {
      const call = running.get(callId as number)
      if (call === undefined) return false
      call.requests += 1
      call.inFlight += 1
      if (call.requests > plugin.hostCalls || call.inFlight > plugin.inFlight) return blame('more requests than a call may make')
      if (typeof wanted !== 'string') return blame('a request that asks for nothing')
      call.requested += body.length
      void answer(call, id, wanted, body)
      return true
    },
    onInspect(body) {
      debugging?.onMessage(body)
      return debugging !== null
    },
    onOver: (said) => end(readEnding(said, file)),
    onEnded: (error, again) => end(error, again),
    onUnwanted() {
      isUnwanted = true
      if (isReady && running.size === 0) end(closed(), true)
    },
  }

  /** Sets all deadlines, or takes them away. */
  function wind(): void {
    clearTimeout(startDeadline)
    if (defined === null && !isDebugged) startDeadline = setTimeout(() => home?.condemn(), START_MS_MAX)
    for (const [id, call] of running) setDeadline(id, call)
  }

  function setDeadline(id: number, call: Running): void {
    clearTimeout(call.deadline)
    if (!isDebugged) call.deadline = setTimeout(overdue, call.budget.wallMs + GRACE_MS, id, call)
  }

  function overdue(id: number, call: Running): void {
    // After what has come already was read: this process may have been busy itself.
    setImmediate(() => {
      if (!running.has(id) || isDebugged) return
      // Its time is used up, whoever was to blame.
      call.isRepeated = true
      home?.condemn()
    })
  }

  const inspectedBy = (at: Home): InspectedIsolate => {
    const debug = (isOn: boolean) => {
      if (ended || isDebugged === isOn) return
      isDebugged = isOn
      at.send({ kind: 'inspect', sandbox, act: isOn ? 'attach' : 'detach' })
      wind()
    }
    return {
      attach: () => debug(true),
      detach: () => debug(false),
      send: (text) => at.send({ kind: 'inspect', sandbox, act: 'send' }, text),
      begin: () => at.send({ kind: 'inspect', sandbox, act: 'begin' }),
    }
  }

  const blame = (what: string): boolean => {
    home?.accuse(what)
    return true
  }

  function finish(id: unknown): Running | undefined {
    const call = running.get(id as number)
    if (call === undefined) return undefined
    running.delete(id as number)
    clearTimeout(call.deadline)
    call.ended?.abort()
    return call
  }

  async function answer(call: Running, id: unknown, kind: string, body: string): Promise<void> {
    call.ended ??= new AbortController()
    const { signal } = call.ended
    const reply = (outcome: 'ok' | 'error', value: unknown) => {
      call.inFlight -= 1
      if (signal.aborted) return
      const text = value instanceof JsonText ? value.text : JSON.stringify(value ?? null)
      // What cannot be sent is told to whoever asked: he alone has to do with it.
      if (!deliver({ kind: 'reply', sandbox, id, outcome }, text)) deliver({ kind: 'reply', sandbox, id, outcome: 'error' }, TOO_LARGE)
    }
    try {
      const { onRequest } = call.options
      if (onRequest === undefined) throw new GuestError('thrown', 'There is nothing to ask for here.', 'permission')
      if (call.requested > REQUESTED_LENGTH_MAX)
        throw new GuestError('thrown', `A call may send the server ${REQUESTED_LENGTH_MAX} characters in all.`, 'limit')
      reply('ok', await onRequest(kind, await readRequest(call, kind, body), signal))
    } catch (error) {
      if (error instanceof GuestError) reply('error', { code: error.own ?? error.code, message: error.message })
      // A fault of ours, and none of the guest's business.
      else reply('error', { code: 'server', message: 'The server could not do this.' })
    }
  }

  async function readRequest({ options }: Running, kind: string, body: string): Promise<unknown> {
    if (body.length > requestLengthMax(kind))
      throw new GuestError('thrown', 'What was sent to the server is too large.', 'invalid_argument')
    if (body.length <= MAIN_LENGTH_MAX) return readRecord(body)['payload']
    if (options.readLarge === undefined) throw new GuestError('thrown', 'Nothing of that size is taken here.', 'invalid_argument')
    return await options.readLarge(kind, body)
  }

  /** @returns false where that is too large to be sent; then nothing was */
  function deliver(header: object, body?: string): boolean {
    try {
      home?.send(header, body)
      return true
    } catch (error) {
      if (error instanceof RangeError) return false
      throw error
    }
  }

  function begin(call: Call): void {
    const id = nextId()
    const one: Running = { ...call, ended: null, requests: 0, inFlight: 0, said: 0, hasUncaught: false, requested: 0, deadline: undefined }
    const { more } = call.options
    calls += 1
    const header = { kind: 'call', sandbox, id, name: call.name, budget: call.budget, moreLength: more?.length }
    setDeadline(id, one)
    running.set(id, one)
    if (deliver(header, more === undefined ? call.text : more + call.text)) return
    finish(id)
    call.reject(new GuestError('invalid_argument', 'What the call is made with is too large to be sent.'))
  }

  const closed = () => new GuestError('closed', `${program.name} was closed.`)

  function end(error: GuestError, again = false, isTold = true): void {
    if (ended) return
    ended = true
    const [wasReady, wasRunning] = [isReady, running.size > 0]
    isReady = false
    clearTimeout(startDeadline)
    stopSeeking()
    debugging?.onEnded()
    if (home) {
      home.leave()
      home.send({ kind: 'close', sandbox })
    }
    const repeated: Call[] = []
    for (const id of [...running.keys()]) {
      const call = finish(id) as Running
      if (again && !call.isRepeated) repeated.push({ ...call, isRepeated: true })
      else call.reject(error)
    }
    if (!isTold) return
    landlord.onRepeat(repeated)
    landlord.onEnded({ error, again, wasReady, wasRunning })
  }

  return {
    get defined() {
      return defined
    },
    get isReady() {
      return isReady
    },
    get isUnwanted() {
      return isUnwanted
    },
    get running() {
      return running.size
    },
    get calls() {
      return calls
    },
    since,
    seek() {
      stopSeeking = moveIn(sandbox, inhabitant)
      if (ended) stopSeeking()
    },
    begin,
    close: (error = closed()) => end(error, false, false),
  }
}
