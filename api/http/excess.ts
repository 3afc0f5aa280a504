import { escapePointer } from '#core/foundation/json-pointer.ts'
import { cutText } from '#core/foundation/text.ts'

/** The keywords of JSON Schema that limit the size of a value. */
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

/** What exceeds a limit, in the form of a schema error. */
interface Excess {
  path: string
  message: string
  code: 'invalid_request' | 'invalid_value'
}

/** Limits how much of a client's own name is repeated in an error. */
const NAME_LENGTH_MAX = 100
/** Limits how many unknown members are reported; a client that misspells members has a few. */
const UNKNOWN_NAMES_MAX = 100

/**
 * The first list or map of a body that has more entries than its schema allows, or a duplicate; null if there is none. Runs before schema
 * validation, which would check every entry of a list that is too long and collect an error for each: seconds for the 100,000 values of a
 * body. This check visits each value once. For `anyOf`, it is enough that one branch of the right type allows the size.
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
  // Lists and objects are never equal by identity; the schema compares their contents.
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
