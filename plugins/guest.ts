import { GuestError, guestErrorCode } from './guest-error.ts'

/** What runs in one isolate. */
export interface Program {
  /** For logs and messages. */
  name: string
  /** Programs of one place share a runner, and die with it. */
  place: string
  /** In the order of their running: classic scripts, of which the last calls `register({ … })`, or one module, whose default export is a plugin. */
  sources: readonly { name: string; code: string; module?: boolean }[]
  /** JavaScript heap. */
  memoryMbMax: number
  load: Budget
  /** Characters of a result as JSON. */
  resultLengthMax: number
  /** Calls at a time. */
  concurrency: number
  /** Calls that wait for their turn; more are refused. */
  queueMax: number
  /** After a call had to be ended the next one waits this long: whoever burns the processor gets a part of it and no more. */
  restMs: number
  /** For plugins: what they may define and ask for. */
  plugin?: PluginLimits
}

export interface PluginLimits {
  /** Paths of the functions that it may define, such as `metadata.series.search`. */
  methods: readonly string[]
  /** Requests of one call to the server, and how many of them at a time. */
  hostCalls: number
  inFlight: number
  /** Lines of one call, and characters in all. */
  logLines: number
  logLength: number
}

export interface Budget {
  cpuMs: number
  wallMs: number
}

export interface Answer {
  /** JSON, as the guest sent it: to be checked before it is believed. */
  text: string
  cpuMs: number
  wallMs: number
}

/** What a call brings along beside its argument. */
export interface CallOptions {
  /** JSON of what the context of a plugin's function is made of. */
  more?: string
  /** Answers a request that the guest makes during the call: what resolves is sent as JSON, a GuestError is told with its code. */
  onRequest?: (kind: string, payload: unknown, signal: AbortSignal) => Promise<unknown>
  /** What the guest says without waiting for an answer; of a shape that nobody has checked. */
  onSay?: (kind: 'log' | 'progress', payload: Record<string, unknown>) => void
}

/** A program in its isolate, which is opened with the first call and again after it was ended. */
export interface Guest {
  /** @param text JSON of the one argument. @throws GuestError */
  call(name: string, text: string, budget: Budget, options?: CallOptions): Promise<Answer>
  /** Opens the isolate if it is not open; answers the paths of the functions that a plugin has defined. @throws GuestError */
  load(): Promise<readonly string[]>
  close(): void
}

/** Where an isolate lives, as its guest sees it. */
export interface Home {
  send(header: object, body?: string): void
  /** Has the runner killed. */
  condemn(): void
  leave(): void
}

/** The side of a guest that its home speaks to. */
export interface Inhabitant {
  onLoaded(defined: unknown): void
  onAnswer(header: { kind: 'done' | 'fail'; id: unknown; cpuMs: unknown; wallMs: unknown }, body: string): void
  onRequest(kind: 'host' | 'log' | 'progress', id: unknown, body: string): void
  onEnded(error: GuestError): void
  isBusy(): boolean
}

/** What a runner may need beyond a call's own deadline to end it by itself. */
const GRACE_MS = 250
/** Starting takes 0.1 s; on a machine that is busy with everything at once, several. */
const START_MS_MAX = 15_000
/** Fits into a frame whatever letters it is made of. */
const ARGUMENT_LENGTH_MAX = 10_000_000
const NO_PLUGIN: PluginLimits = { methods: [], hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 }

interface Waiting {
  name: string
  text: string
  budget: Budget
  options: CallOptions
  resolve: (answer: Answer) => void
  reject: (error: GuestError) => void
}

interface Running extends Waiting {
  deadline: NodeJS.Timeout
  ended: AbortController
  requests: number
}

let lastId = 0
/** Of calls and isolates alike: no runner can answer one by the number of another. */
export const nextId = (): number => ++lastId

/** @param moveIn finds a home for an isolate of this number */
export function openGuest(program: Program, moveIn: (sandbox: number, inhabitant: Inhabitant) => Home): Guest {
  const waiting: Waiting[] = []
  const running = new Map<number, Running>()
  const loading: { resolve: (defined: readonly string[]) => void; reject: (error: GuestError) => void }[] = []
  const sources = JSON.stringify(program.sources)
  const plugin = program.plugin ?? NO_PLUGIN
  let home: { home: Home; sandbox: number; defined: readonly string[] | null } | null = null
  let startDeadline: NodeJS.Timeout | undefined
  let restUntil = 0
  let gone = false

  const inhabitant: Inhabitant = {
    isBusy: () => running.size > 0 || (home !== null && home.defined === null),
    onLoaded(defined) {
      if (home === null || home.defined !== null) return
      clearTimeout(startDeadline)
      const names = Array.isArray(defined) ? defined.filter((name): name is string => plugin.methods.includes(name)) : []
      home.defined = names
      for (const one of loading.splice(0)) one.resolve(names)
      next()
    },
    onAnswer({ kind, id, cpuMs, wallMs }, body) {
      // An answer to what was not asked, or not any more.
      const call = finish(id)
      if (call === undefined) return
      if (kind === 'done') call.resolve({ text: body, cpuMs: Number(cpuMs) || 0, wallMs: Number(wallMs) || 0 })
      else call.reject(readFailure(body))
      next()
    },
    onRequest(kind, id, body) {
      if (kind === 'host') void answer(id, body)
      else running.get(id as number)?.options.onSay?.(kind, readRecord(body))
    },
    onEnded(error) {
      const wasLoaded = home !== null && home.defined !== null
      home = null
      clearTimeout(startDeadline)
      if (running.size > 0) restUntil = performance.now() + program.restMs
      // A program that cannot be started serves nobody: all who wait hear why.
      else if (!wasLoaded) for (const call of waiting.splice(0)) call.reject(error)
      for (const id of [...running.keys()]) finish(id)?.reject(error)
      for (const one of loading.splice(0)) one.reject(error)
      next()
    },
  }

  function finish(id: unknown): Running | undefined {
    const call = running.get(id as number)
    if (call === undefined) return undefined
    running.delete(id as number)
    clearTimeout(call.deadline)
    call.ended.abort()
    return call
  }

  /** The server counts what the prelude counts already, for a prelude that was overcome would not. */
  async function answer(id: unknown, body: string): Promise<void> {
    const { call: callId, kind, payload } = readRecord(body)
    const call = running.get(callId as number)
    const { onRequest } = call?.options ?? {}
    if (call === undefined || onRequest === undefined || typeof kind !== 'string') return
    const at = home
    const reply = (outcome: 'ok' | 'error', value: unknown) => {
      if (at !== null && at === home && running.get(callId as number) === call)
        at.home.send({ kind: 'reply', sandbox: at.sandbox, id, outcome }, JSON.stringify(value ?? null))
    }
    call.requests += 1
    if (call.requests > plugin.hostCalls) {
      reply('error', { code: 'limit', message: `A call may ask the server ${plugin.hostCalls} times.` })
      return
    }
    try {
      reply('ok', await onRequest(kind, payload, call.ended.signal))
    } catch (error) {
      if (error instanceof GuestError) reply('error', { code: error.own ?? error.code, message: error.message })
      // A fault of ours, and none of the guest's business.
      else reply('error', { code: 'server', message: 'The server could not do this.' })
    }
  }

  const move = (): void => {
    const sandbox = nextId()
    const found = moveIn(sandbox, inhabitant)
    home = { home: found, sandbox, defined: null }
    startDeadline = setTimeout(() => found.condemn(), START_MS_MAX)
    const limits = {
      memoryMbMax: program.memoryMbMax,
      loadCpuMs: program.load.cpuMs,
      loadWallMs: program.load.wallMs,
      resultLength: program.resultLengthMax,
      ...plugin,
    }
    found.send({ kind: 'load', sandbox, limits }, sources)
  }

  const next = (): void => {
    if (gone || (waiting.length === 0 && loading.length === 0)) return
    const restMs = restUntil - performance.now()
    if (restMs > 0) {
      setTimeout(next, restMs)
      return
    }
    if (home === null) move()
    while (home !== null && home.defined !== null && waiting.length > 0 && running.size < program.concurrency) {
      const { home: at, sandbox } = home
      const call = waiting.shift() as Waiting
      const id = nextId()
      const deadline = setTimeout(() => at.condemn(), call.budget.wallMs + GRACE_MS)
      running.set(id, { ...call, deadline, ended: new AbortController(), requests: 0 })
      at.send({ kind: 'call', sandbox, id, name: call.name, budget: call.budget, more: call.options.more }, call.text)
    }
  }

  const closed = () => new GuestError('closed', `${program.name} was closed.`)
  return {
    call: (name, text, budget, options = {}) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(closed())
        if (text.length > ARGUMENT_LENGTH_MAX)
          return reject(
            new GuestError(
              'invalid_argument',
              `An argument of ${text.length} characters is too large; ${ARGUMENT_LENGTH_MAX} are allowed.`,
            ),
          )
        if (waiting.length >= program.queueMax)
          return reject(new GuestError('busy', `${waiting.length} calls already wait for ${program.name}; try again shortly.`))
        waiting.push({ name, text, budget, options, resolve, reject })
        next()
      }),
    load: () =>
      new Promise((resolve, reject) => {
        if (gone) return reject(closed())
        if (home !== null && home.defined !== null) return resolve(home.defined)
        loading.push({ resolve, reject })
        next()
      }),
    close() {
      if (gone) return
      gone = true
      if (home) {
        home.home.leave()
        home.home.send({ kind: 'close', sandbox: home.sandbox })
      }
      inhabitant.onEnded(closed())
      for (const call of waiting.splice(0)) call.reject(closed())
    },
  }
}

/** What a guest sent, of whatever shape. */
function readRecord(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What the prelude says of a failure; it is the guest's word. */
function readFailure(body: string): GuestError {
  const { code, message, own } = readRecord(body)
  return new GuestError(guestErrorCode(code), typeof message === 'string' ? message : '', typeof own === 'string' ? own : null)
}
