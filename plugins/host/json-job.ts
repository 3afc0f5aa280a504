import { readResult } from '#plugins/host/results.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { type CodePlace, findSource, type KeptMap } from '#plugins/packages/source-map.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { JSON_BOUNDS } from '#plugins/runtime/guest-text.ts'

/** A large text of a plugin, and what it is. */
export type JsonJob =
  | { kind: 'result'; method: string; text: string; leavesOut: boolean }
  | { kind: 'request'; wanted: string; text: string }
  /** A source map as it is kept, and places to find in it. */
  | { kind: 'source'; text: string; places: readonly CodePlace[] }

/**
 * What came of it: JSON that was checked, or why there is none, in words that go on after what it is; `wrong` where that is said whole already. A
 * `value` is the text of one member that nobody has to build again, `leftOut` says which items of a list did not fit.
 */
export type JsonOutcome = { json: string; value?: string; leftOut?: string } | { refused: string } | { wrong: string }

/** Reads one text to its end, in a thread where nobody waits. Everything that it answers is as cheap to build as the bounds say. */
export function readJob(job: JsonJob): JsonOutcome {
  // It was bounded before it was kept.
  if (job.kind === 'source') return { json: JSON.stringify(findSource(JSON.parse(job.text) as KeptMap, job.places)) }
  const excess = jsonExcess(job.text, JSON_BOUNDS)
  if (excess !== null) return { refused: excess }
  try {
    if (job.kind === 'result') {
      let leftOut: string | undefined
      const note = (what: string) => {
        leftOut = what
      }
      const json = JSON.stringify(readResult(job.method, job.text, job.leavesOut ? note : undefined))
      return leftOut === undefined ? { json } : { json, leftOut }
    }
    const { payload } = JSON.parse(job.text) as { payload?: unknown }
    if (job.wanted !== 'storage.set' || payload === null || typeof payload !== 'object') return { json: JSON.stringify(payload ?? null) }
    const { value, ...rest } = payload as Record<string, unknown>
    return { json: JSON.stringify(rest), value: JSON.stringify(value ?? null) }
  } catch (error) {
    return error instanceof GuestError ? { wrong: error.message } : { refused: 'it is no JSON' }
  }
}
