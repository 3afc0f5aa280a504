import type { TSchema } from 'typebox'
import { readId } from '#api/http/trim.ts'
import { refuse } from '#core/foundation/errors.ts'
import { boundMarks } from '#core/foundation/text.ts'

type Json = Record<string, unknown>

/**
 * Converts path or query parameters, which are text, to the types of the schema; ignores parameters that the schema does not have.
 * An array may be repeated (`a=1&a=2`). Text that does not match the type stays text, so that validation refuses it.
 * @throws invalid_request if a single-valued parameter is given twice
 */
export function readParameters(schema: TSchema, given: URLSearchParams, place: 'path' | 'query'): Record<string, unknown> {
  const properties = ((schema as Json)['properties'] ?? {}) as Record<string, Json>
  const result: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    const texts = given.getAll(name)
    if (texts.length === 0) continue
    if (member['type'] === 'array') {
      result[name] = texts.map((text) => readText(text, (member['items'] ?? {}) as Json))
    } else if (texts.length > 1) {
      refuse('invalid_request', `The ${place} parameter ${name} occurs ${texts.length} times; give it once.`)
    } else {
      result[name] = readText(texts[0] ?? '', member)
    }
  }
  return result
}

function readText(text: string, schema: Json): unknown {
  const branches = (schema['anyOf'] ?? [schema]) as Json[]
  for (const { type } of branches) {
    if ((type === 'integer' || type === 'number') && isNumber(text, type)) return Number(text)
    if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  }
  return readId(schema, boundMarks(text))
}

/** A flag as Java servers read it, in any case: Python writes `True`. Null for any other text. */
export function readFlag(text: string): boolean | null {
  const word = text.trim().toLowerCase()
  if (['true', 'on', 'yes', '1'].includes(word)) return true
  return ['false', 'off', 'no', '0'].includes(word) ? false : null
}

/** Plain decimal notation only: not `1e3`, `0x10`, ` 1` or `Infinity`. */
function isNumber(text: string, type: 'integer' | 'number'): boolean {
  return (type === 'integer' ? /^-?\d{1,16}$/ : /^-?\d{1,16}(\.\d{1,16})?$/).test(text) && Number.isFinite(Number(text))
}
