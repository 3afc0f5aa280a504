import { readResult } from '#plugins/host/results.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { type CodePlaces, findSource, type StoredMap } from '#plugins/packages/source-map.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { JSON_BOUNDS } from '#plugins/runtime/guest-text.ts'

/** A large text of a plugin, and its kind. */
export type JsonJob =
  | { kind: 'result'; method: string; text: string; leavesOut: boolean }
  | { kind: 'request'; wanted: string; text: string }
  /** A stored source map, and places to look up in it. */
  | { kind: 'source'; text: string; places: CodePlaces }

/**
 * The result: checked JSON, or the reason why there is none, as a clause that completes a sentence; `wrong` is a complete message. A
 * `value` is the text of one member that need not be parsed again, `leftOut` describes items of a list that were invalid.
 */
export type JsonOutcome = { json: string; value?: string; leftOut?: string } | { refused: string } | { wrong: string }

/** Parses one text, in a thread that blocks nobody. The limits bound the cost of parsing its output. */
export function readJob(job: JsonJob): JsonOutcome {
  // It was limited before it was stored.
  if (job.kind === 'source') return { json: JSON.stringify(findSource(JSON.parse(job.text) as StoredMap, job.places)) }
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
    return error instanceof GuestError ? { wrong: error.message } : { refused: 'it is not valid JSON' }
  }
}
