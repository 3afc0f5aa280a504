/** The members of a JSON Schema that limit its values. */
interface Shape {
  type?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  maxItems?: number
  maxProperties?: number
  items?: Shape
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: boolean | Shape
  anyOf?: Shape[]
  oneOf?: Shape[]
  allOf?: Shape[]
  $ref?: string
  'x-limited-by'?: string
}

/** Formats with a fixed maximum length. */
const FIXED_FORMATS = new Set(['uuid', 'date'])
const NUMBERS = new Set(['number', 'integer'])
const SCALARS = new Set(['boolean', 'null'])

/**
 * Describes every place of a schema that accepts values of any size: texts without `maxLength`, numbers without a minimum and a maximum, lists without
 * `maxItems`, maps without `maxProperties`, values of any type, and references, which may be circular.
 */
export function unboundedIn(schema: unknown, path: string): string[] {
  const shape = schema as Shape
  if (shape.enum !== undefined || shape.const !== undefined || shape['x-limited-by'] !== undefined) return []
  if (shape.$ref !== undefined) return [`${path} refers to ${shape.$ref}`]
  const choices = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])]
  if (choices.length > 0) return choices.flatMap((choice) => unboundedIn(choice, path))
  if (shape.type === 'string')
    return shape.maxLength !== undefined || FIXED_FORMATS.has(shape.format ?? '') ? [] : [`${path} is a text of any length`]
  if (shape.type === 'array') {
    const below = shape.items === undefined ? [`${path} is a list of anything`] : unboundedIn(shape.items, `${path}[]`)
    return shape.maxItems === undefined ? [`${path} is a list of any length`, ...below] : below
  }
  if (NUMBERS.has(shape.type ?? '')) return isBounded(shape) ? [] : [`${path} is a number without a minimum or a maximum`]
  if (shape.type === 'object') return unboundedMembers(shape, path)
  return shape.type !== undefined && SCALARS.has(shape.type) ? [] : [`${path} may be anything`]
}

const isBounded = ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Shape): boolean =>
  (minimum ?? exclusiveMinimum) !== undefined && (maximum ?? exclusiveMaximum) !== undefined

function unboundedMembers(shape: Shape, path: string): string[] {
  const maps = Object.values(shape.patternProperties ?? {})
  const more = shape.additionalProperties
  if (typeof more === 'object') maps.push(more)
  const isOpen = maps.length > 0 || more === true || (shape.properties === undefined && more !== false)
  return [
    ...(isOpen && shape.maxProperties === undefined ? [`${path} has any number of members`] : []),
    ...maps.flatMap((member) => unboundedIn(member, `${path}.*`)),
    ...Object.entries(shape.properties ?? {}).flatMap(([name, member]) => unboundedIn(member, `${path}.${name}`)),
  ]
}
