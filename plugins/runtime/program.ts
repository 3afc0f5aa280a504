import type { CodePosition } from '#plugins/packages/source-map.ts'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { GuestError } from './guest-error.ts'

/** The file name of a program in stack traces: that of its last source; the others are the server's own. */
export const fileOf = ({ sources }: Pick<Program, 'sources'>): string => sources.at(-1)?.name ?? ''

/** The code and limits of one isolate. */
export interface Program {
  /** For logs and messages. */
  name: string
  /** Programs of one place share a runner, and die with it; when plugins are grouped, several places share one. */
  place: string
  /** Never shares its runner, which ends soon after it: for code whose permissions nobody has granted yet. */
  alone?: boolean
  /** In order of execution: classic scripts, of which the last calls `register({ … })`, or one module, whose default export is a plugin. */
  sources: readonly { name: string; code: string; module?: boolean }[]
  /** JavaScript heap. */
  memoryMbMax: number
  load: Budget
  /** Maximum characters of a result as JSON. */
  resultLengthMax: number
  /** Concurrent calls. */
  concurrency: number
  /** Queued calls; more are refused. */
  queueMax: number
  /** Pause after a call that had to be terminated: it limits the processor time of code that loops. */
  restMs: number
  /** For plugins: the functions that they may define, and their limits. */
  plugin?: PluginLimits
  /** Lets the author debug it; see there. Such a program is `alone`: an isolate with a debugger may crash its process. */
  inspect?: Inspector
  /** Finds where the code was when it exceeded a limit, and where timers that are pending at an answer were set, at the price of a debugger while long calls run: for its author. */
  isTraced?: boolean
}

export interface PluginLimits {
  /** Paths of the functions that it may define, such as `metadata.series.search`. */
  methods: readonly string[]
  /** Host calls of one call, and how many of them concurrently. */
  hostCalls: number
  inFlight: number
  /** Log lines of one call, and their total characters. */
  logLines: number
  logLength: number
}

export interface Budget {
  cpuMs: number
  wallMs: number
}

export interface Answer {
  /** JSON from the guest, not validated. */
  text: string
  cpuMs: number
  wallMs: number
  /** For traced programs: timers that never run because they were pending, by the positions of the code that set each. */
  pendingTimers: readonly (readonly CodePosition[])[]
}

/** Options of a call besides its argument. */
export interface CallOptions {
  /** The context of a plugin's function as JSON. */
  more?: string
  /** Handles a host call of the guest: the resolved value is sent as JSON, a GuestError with its code. */
  onRequest?: (kind: string, payload: unknown, signal: AbortSignal) => Promise<unknown>
  /**
   * Parses a host call of more than 64 K characters in another thread, and returns its payload. Without it there are none.
   * @throws GuestError
   */
  readLarge?: (kind: string, body: string) => Promise<unknown>
  /** Handles one-way messages of the guest; not validated. */
  onOutput?: (kind: 'log' | 'progress', payload: Record<string, unknown>) => void
  /** Called once, for the first unhandled rejection during the call, which continues. */
  onUncaught?: (error: GuestError) => void
  /** Called once, after the answer, when a host call fails that the code did not wait for. */
  onUnawaited?: (error: GuestError) => void
}
