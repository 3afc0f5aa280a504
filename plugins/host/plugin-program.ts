import { LOAD } from '#plugins/packages/budgets.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { type Permissions, requestedPermissions } from '#plugins/packages/permissions.ts'
import type { Program } from '#plugins/runtime/program.ts'

/** Functions that every plugin may define besides those of its manifest. */
export const LIFECYCLE: readonly string[] = ['setup', 'migrate']

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
  const { manifest, code, place, granted = requestedPermissions(manifest), methods } = given
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
