import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { GuestError } from './guest-error.ts'

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
