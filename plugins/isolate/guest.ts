import type { Inspector } from '#plugins/isolate/inspection.ts'
import { GuestError } from './guest-error.ts'
import { type Call, type Inhabitant, openTenancy, SETUP, type Tenancy } from './tenancy.ts'

/** The name by which stacks speak of what a program does: that of its last source, the others being the server's own. */
export const fileOf = ({ sources }: Pick<Program, 'sources'>): string => sources.at(-1)?.name ?? ''

/** What runs in one isolate. */
export interface Program {
  /** For logs and messages. */
  name: string
  /** Programs of one place share a runner, and die with it; where plugins are grouped, those of several places do. */
  place: string
  /** Shares its runner with no other place in any case, and the runner goes soon after it: for code that nobody has agreed to yet. */
  alone?: boolean
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
  /** Lets its author debug it; see there. Such a program is `alone`: an isolate with a debugger in it may take its process along. */
  inspect?: Inspector
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
  /**
   * Reads a request of more than 64 K characters beside this thread, and answers its payload. Without it there are none.
   * @throws GuestError
   */
  readLarge?: (kind: string, body: string) => Promise<unknown>
  /** What the guest says without waiting for an answer; of a shape that nobody has checked. */
  onSay?: (kind: 'log' | 'progress', payload: Record<string, unknown>) => void
  /** Told once, of the first promise of the call that was rejected while nothing waited for it. The call itself goes on. */
  onUncaught?: (error: GuestError) => void
}

/**
 * A program in its isolate, which is opened with the first call and again after it was ended or has become old. A call of `setup` that succeeded is
 * made again in every isolate that takes the place of the first, before any other call.
 */
export interface Guest {
  /** @param text JSON of the one argument. @throws GuestError */
  call(name: string, text: string, budget: Budget, options?: CallOptions): Promise<Answer>
  /** Opens the isolate if it is not open; answers the paths of the functions that a plugin has defined. @throws GuestError */
  load(): Promise<readonly string[]>
  close(): void
}

/** After so many calls, or so long, another isolate takes over: whatever the code has gathered goes with the old one. */
const CALLS_MAX = 1_000
const AGE_MS_MAX = 60 * 60_000
/** Fits into a frame whatever letters it is made of. */
const ARGUMENT_LENGTH_MAX = 10_000_000
/** Two configurations of 32 KB and what else a context is made of. */
const MORE_LENGTH_MAX = 72 * 1024

/** @param moveIn finds a home for a tenancy, at once or later, and returns how to stop looking */
export function openGuest(
  program: Program,
  moveIn: (sandbox: number, inhabitant: Inhabitant) => () => void,
  { callsMax = CALLS_MAX, ageMsMax = AGE_MS_MAX } = {},
): Guest {
  const waiting: Call[] = []
  const loading: { resolve: (defined: readonly string[]) => void; reject: (error: GuestError) => void }[] = []
  const sources = JSON.stringify(program.sources)
  /** The call of `setup` that every further isolate begins with. */
  let setup: Pick<Call, 'text' | 'budget' | 'options'> | null = null
  let current: Tenancy | null = null
  /** What an old isolate has begun it also ends. */
  let retiring: Tenancy | null = null
  let restUntil = 0
  let gone = false

  const open = (): Tenancy => {
    const tenancy: Tenancy = openTenancy(program, sources, moveIn, {
      onLoaded() {
        for (const one of loading.splice(0)) one.resolve(tenancy.defined ?? [])
        next()
      },
      onAnswer() {
        if (retiring !== null && retiring.running === 0) retire(retiring)
        next()
      },
      onEnded({ error, again, wasReady, wasRunning }) {
        if (retiring === tenancy) retiring = null
        if (current === tenancy) current = null
        if (wasRunning) restUntil = performance.now() + program.restMs
        // A program that cannot be started serves nobody: all who wait hear why.
        if (!wasReady && !again) for (const one of [...waiting.splice(0), ...loading.splice(0)]) one.reject(error)
        next()
      },
      onRepeat: (calls) => waiting.unshift(...calls),
      beginWith: () => setup,
    })
    return tenancy
  }

  const retire = (tenancy: Tenancy): void => {
    if (retiring === tenancy) retiring = null
    tenancy.close()
  }

  const renewIfOld = (): void => {
    if (current === null || !current.isReady || retiring !== null) return
    if (current.calls < callsMax && performance.now() - current.since < ageMsMax && !current.isUnwanted) return
    const old = current
    current = null
    if (old.running === 0) old.close()
    else retiring = old
  }

  const next = (): void => {
    if (gone || (waiting.length === 0 && loading.length === 0)) return
    const restMs = restUntil - performance.now()
    if (restMs > 0) {
      setTimeout(next, restMs)
      return
    }
    renewIfOld()
    if (current === null) {
      const opened = open()
      current = opened
      // It may find a home at once, and one that is refused at once is no more.
      opened.seek()
    }
    while (current?.isReady && waiting.length > 0 && current.running < program.concurrency) {
      current.begin(waiting.shift() as Call)
      renewIfOld()
      if (current === null) next()
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
        if ((options.more?.length ?? 0) > MORE_LENGTH_MAX)
          return reject(
            new GuestError(
              'invalid_argument',
              `The configuration that the call brings along is too large; ${MORE_LENGTH_MAX} are allowed.`,
            ),
          )
        if (waiting.length >= program.queueMax)
          return reject(new GuestError('busy', `${waiting.length} calls already wait for ${program.name}; try again shortly.`))
        const succeed = (answer: Answer) => {
          if (name === SETUP && program.plugin) setup = { text, budget, options }
          resolve(answer)
        }
        waiting.push({ name, text, budget, options, resolve: succeed, reject, isRepeated: false })
        next()
      }),
    load: () =>
      new Promise((resolve, reject) => {
        if (gone) return reject(closed())
        if (current?.isReady) return resolve(current.defined ?? [])
        loading.push({ resolve, reject })
        next()
      }),
    close() {
      if (gone) return
      gone = true
      for (const tenancy of [current, retiring]) tenancy?.close(closed())
      for (const one of [...waiting.splice(0), ...loading.splice(0)]) one.reject(closed())
    },
  }
}
