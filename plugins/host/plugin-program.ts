import type { Manifest } from '#plugins/packages/manifest.ts'
import { type Permissions, permissionsOf } from '#plugins/packages/permissions.ts'
import type { Budget, Program } from '#plugins/runtime/program.ts'

/** Functions that every plugin may define besides those of its manifest. */
export const LIFECYCLE: readonly string[] = ['setup', 'migrate']

/** A bundle of 2 MB compiles in 50 ms; the rest is for its initialization. */
export const LOAD: Budget = { cpuMs: 500, wallMs: 5_000 }
/** The setup may send a request to its service. */
export const SETUP: Budget = { cpuMs: 500, wallMs: 10_000 }
/** Background work over the whole library of a user; also for migrations of stored data. */
export const REFRESH: Budget = { cpuMs: 5_000, wallMs: 120_000 }

/** The granted budget for a call of this method. */
export const budgetOf = ({ cpuMs, wallMs }: Permissions, method: string): Budget =>
  method.endsWith('.refresh') ? REFRESH : { cpuMs, wallMs }

/** A hundred complete results take half of it. */
const RESULT_LENGTH_MAX = 1024 * 1024
/** Limits of one call. A library of 20,000 series has 100 pages; 8 concurrent host calls use a service's rate fully, and nobody reads more lines. */
const CALL_LIMITS = { hostCalls: 200, inFlight: 8, logLines: 200, logLength: 64 * 1024 }
/** Concurrent and queued calls; further ones are refused with a retry time. */
const CALLS = { concurrency: 4, queueMax: 64 }

/** A plugin as a program for an isolate. */
export function pluginProgram(given: {
  manifest: Manifest
  code: string
  place: string
  granted?: Permissions
  /** The functions that it may define. */
  methods: readonly string[]
}): Program {
  const { manifest, code, place, granted = permissionsOf(manifest), methods } = given
  return {
    name: `the plugin ${manifest.id}`,
    place,
    sources: [{ name: `${manifest.id}.js`, code, module: true }],
    memoryMbMax: granted.heapMB,
    load: LOAD,
    resultLengthMax: RESULT_LENGTH_MAX,
    ...CALLS,
    restMs: 0,
    plugin: { methods: [...LIFECYCLE, ...methods], ...CALL_LIMITS },
  }
}
