/** One request of a debugger to an isolate. */
export interface DebuggerRequest {
  id: number
  method: string
  params: Record<string, unknown>
}

/**
 * Remembers the settings of a debugger and repeats them in the next isolate: every call and every build has its own isolate, and breakpoints that
 * vanish each time would be useless.
 */
interface DebugMemory {
  note(request: DebuggerRequest): void
  /** @param result of the request with this id */
  noteAnswer(id: number, result: unknown): void
  /** In the order in which to repeat them. */
  all(): { method: string; params: Record<string, unknown> }[]
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

export function openDebugMemory(): DebugMemory {
  const settings = new Map<string, Record<string, unknown>>()
  /** By breakpoint id, which is the same in every isolate. */
  const breakpoints = new Map<string, Record<string, unknown>>()
  const request = new Map<number, Record<string, unknown>>()
  return {
    note({ id, method, params }) {
      const [domain = '', act] = method.split('.')
      if (SETTINGS.has(method)) settings.set(method, params)
      else if (act === 'disable') {
        for (const setting of settings.keys()) if (setting.startsWith(`${domain}.`)) settings.delete(setting)
        if (domain === 'Debugger') breakpoints.clear()
      } else if (method === 'Debugger.removeBreakpoint') breakpoints.delete(String(params.breakpointId))
      else if (method === 'Debugger.setBreakpointByUrl' && breakpoints.size + request.size < BREAKPOINTS_MAX) request.set(id, params)
    },
    noteAnswer(id, result) {
      const params = request.get(id)
      request.delete(id)
      const { breakpointId } = (result ?? {}) as { breakpointId?: unknown }
      if (params !== undefined && typeof breakpointId === 'string') breakpoints.set(breakpointId, params)
    },
    all: () => [
      ...[...settings].map(([method, params]) => ({ method, params })),
      ...[...breakpoints.values()].map((params) => ({ method: 'Debugger.setBreakpointByUrl', params })),
    ],
  }
}
