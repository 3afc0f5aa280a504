/** One request of a debugger to an isolate. */
export interface DebuggerRequest {
  id: number
  method: string
  params: Record<string, unknown>
}

/** Methods of which the last request counts. */
const SETTINGS = new Set([
  'Runtime.enable',
  'Runtime.setAsyncCallStackDepth',
  'Debugger.enable',
  'Debugger.setAsyncCallStackDepth',
  'Debugger.setBlackboxPatterns',
  'Debugger.setBreakpointsActive',
  'Debugger.setPauseOnExceptions',
  'Debugger.setSkipAllPauses',
  'HeapProfiler.enable',
  'Profiler.enable',
])
/** More than anybody sets by hand; further ones apply to their own isolate only. */
const BREAKPOINTS_MAX = 1_000

/**
 * Remembers the settings of a debugger and repeats them in the next isolate: every call and every build has its own isolate, and breakpoints that
 * vanish each time would be useless.
 */
export class DebugMemory {
  readonly #settings = new Map<string, Record<string, unknown>>()
  /** By breakpoint id, which is the same in every isolate. */
  readonly #breakpoints = new Map<string, Record<string, unknown>>()
  /** Requests for breakpoints that the isolate has not answered, by their id. */
  readonly #requests = new Map<number, Record<string, unknown>>()

  note({ id, method, params }: DebuggerRequest): void {
    const [domain = '', act] = method.split('.')
    if (SETTINGS.has(method)) this.#settings.set(method, params)
    else if (act === 'disable') {
      for (const setting of this.#settings.keys()) if (setting.startsWith(`${domain}.`)) this.#settings.delete(setting)
      if (domain === 'Debugger') this.#breakpoints.clear()
    } else if (method === 'Debugger.removeBreakpoint') this.#breakpoints.delete(String(params['breakpointId']))
    else if (method === 'Debugger.setBreakpointByUrl' && this.#breakpoints.size + this.#requests.size < BREAKPOINTS_MAX)
      this.#requests.set(id, params)
  }

  /** @param result of the request with this id */
  noteAnswer(id: number, result: unknown): void {
    const params = this.#requests.get(id)
    this.#requests.delete(id)
    const { breakpointId } = (result ?? {}) as { breakpointId?: unknown }
    if (params !== undefined && typeof breakpointId === 'string') this.#breakpoints.set(breakpointId, params)
  }

  /** In the order in which to repeat them. */
  all(): { method: string; params: Record<string, unknown> }[] {
    return [
      ...[...this.#settings].map(([method, params]) => ({ method, params })),
      ...[...this.#breakpoints.values()].map((params) => ({ method: 'Debugger.setBreakpointByUrl', params })),
    ]
  }
}
