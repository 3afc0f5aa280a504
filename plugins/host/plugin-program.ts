import type { Manifest } from '#plugins/packages/manifest.ts'
import { type Permissions, permissionsOf } from '#plugins/packages/permissions.ts'
import type { Budget, Program } from '#plugins/runtime/program.ts'

/** Functions that every plugin may have beside those of its manifest. */
export const LIFECYCLE: readonly string[] = ['setup', 'migrate']

/** A bundle of 2 MB compiles in 50 ms; the rest is for what it prepares. */
export const LOAD: Budget = { cpuMs: 500, wallMs: 5_000 }
/** It may ask its service for something before it answers. */
export const SETUP: Budget = { cpuMs: 500, wallMs: 10_000 }
/** Work in the background over all that a reader has; migrating what is kept is of the same kind. */
export const REFRESH: Budget = { cpuMs: 5_000, wallMs: 120_000 }

/** What a call of this method may use, as it was granted. */
export const budgetOf = ({ cpuMs, wallMs }: Permissions, method: string): Budget =>
  method.endsWith('.refresh') ? REFRESH : { cpuMs, wallMs }

/** A hundred results with all that is known of them have half of it. */
export const RESULT_LENGTH_MAX = 1024 * 1024
/** Of one call. A library of 20,000 series is read in 100 pages; 8 at a time keep a service's rate busy, and so many lines are read by nobody. */
const ASKING = { hostCalls: 200, inFlight: 8, logLines: 200, logLength: 64 * 1024 }
/** At a time, and waiting: whoever comes after those is told to come later. */
const CALLS = { concurrency: 4, queueMax: 64 }

/** A plugin as a program for an isolate. */
export function pluginProgram(given: {
  manifest: Manifest
  code: string
  place: string
  granted?: Permissions
  /** Which functions it may define. */
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
    plugin: { methods: [...LIFECYCLE, ...methods], ...ASKING },
  }
}
