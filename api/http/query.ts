import type { TSchema } from 'typebox'
import { readId } from '#api/http/trim.ts'
import { refuse } from '#core/foundation/errors.ts'
import { boundMarks } from '#core/foundation/text.ts'

type Json = Record<string, unknown>

/**
 * Turns path or query parameters, which are all text, into the types that the schema names; parameters it does not name are left out.
 * An array may be repeated (`a=1&a=2`). Text that is not of the type stays text, so that the schema refuses it.
 * @throws invalid_request when a parameter that takes one value is given twice
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
      refuse('invalid_request', `The ${place} parameter ${name} is given ${texts.length} times; it takes one value.`)
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

/** Plain decimal notation only: no `1e3`, `0x10`, ` 1` or `Infinity`. */
function isNumber(text: string, type: 'integer' | 'number'): boolean {
  return (type === 'integer' ? /^-?\d{1,16}$/ : /^-?\d{1,16}(\.\d{1,16})?$/).test(text) && Number.isFinite(Number(text))
}
