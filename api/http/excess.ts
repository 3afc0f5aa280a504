import { escapePointer } from '#api/http/body.ts'
import { cutText } from '#core/foundation/text.ts'

/** A schema as JSON Schema has it; only what says how much a value may hold. */
interface Shape {
  type?: string
  maxItems?: number
  uniqueItems?: boolean
  maxProperties?: number
  additionalProperties?: unknown
  items?: Shape
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  anyOf?: Shape[]
}

/** What is too much, as the check of the schema would have told it. */
interface Excess {
  path: string
  message: string
  code: 'invalid_request' | 'invalid_value'
}

/** Names are strangers' own, as long as the body; more of one is not told. */
const NAME_LENGTH_MAX = 100
/** Whoever misspells members has a few of them, and is told each. */
const UNKNOWN_NAMES_MAX = 100

/**
 * The first list or map of a body that holds more than its schema lets it, or an entry twice; null where none does. To be asked before the schema is:
 * that checks every entry of a list that is too long, and gathers each fault, which takes seconds for the 100,000 values of a body. Here each value
 * is looked at once. Of a choice, the branches that take values of this kind are asked, and one that has room will do.
 */
export function excessOf(schema: Shape, value: unknown, path = ''): Excess | null {
  if (typeof value !== 'object' || value === null) return null
  const kind = Array.isArray(value) ? 'array' : 'object'
  if (schema.anyOf !== undefined) {
    const found = schema.anyOf.filter(({ type }) => type === kind).map((branch) => excessOf(branch, value, path))
    return found.includes(null) ? null : (found[0] ?? null)
  }
  if (schema.type !== kind) return null
  return Array.isArray(value) ? excessOfList(schema, value, path) : excessOfMap(schema, value as Record<string, unknown>, path)
}

function excessOfList({ maxItems, uniqueItems, items = {} }: Shape, list: readonly unknown[], path: string): Excess | null {
  if (maxItems !== undefined && list.length > maxItems)
    return { path, message: `must not have more than ${maxItems} items`, code: 'invalid_value' }
  // Lists and objects are never the same as others here; the schema compares what they hold.
  if (uniqueItems && new Set(list).size < list.length) return { path, message: 'must not have duplicate items', code: 'invalid_value' }
  for (const [index, entry] of list.entries()) {
    const excess = excessOf(items, entry, `${path}/${index}`)
    if (excess !== null) return excess
  }
  return null
}

function excessOfMap(schema: Shape, map: Readonly<Record<string, unknown>>, path: string): Excess | null {
  const { properties = {}, patternProperties = {}, maxProperties } = schema
  const names = Object.keys(map)
  if (maxProperties !== undefined && names.length > maxProperties)
    return { path, message: `must not have more than ${maxProperties} properties`, code: 'invalid_value' }
  const [free] = Object.values(patternProperties)
  const isClosed =
    schema.additionalProperties === false && free === undefined && names.length > Object.keys(properties).length + UNKNOWN_NAMES_MAX
  for (const name of names) {
    const member = Object.hasOwn(properties, name) ? properties[name] : free
    const below = `${path}/${escapePointer(cutText(name, NAME_LENGTH_MAX))}`
    if (member === undefined && isClosed) return { path: below, message: 'is not known here', code: 'invalid_request' }
    const excess = member === undefined ? null : excessOf(member, map[name], below)
    if (excess !== null) return excess
  }
  return null
}
