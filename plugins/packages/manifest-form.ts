import { partsOf } from '#core/foundation/json-pointer.ts'

/** The subset of JSON Schema that describes manifests. */
export interface Shape {
  type?: string
  const?: unknown
  enum?: readonly unknown[]
  pattern?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  items?: Shape
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  anyOf?: readonly Shape[]
  required?: readonly string[]
  description?: string
  /** What an absent value means. */
  default?: unknown
}

/** The schema at a JSON pointer; undefined when there is none. */
export function shapeAt(schema: Shape, pointer: string): Shape | undefined {
  let shape: Shape | undefined = schema
  for (const part of partsOf(pointer)) {
    const ways: readonly Shape[] = shape?.anyOf ?? (shape === undefined ? [] : [shape])
    shape = ways.map((way) => memberOf(way, part)).find((member) => member !== undefined)
  }
  return shape
}

function memberOf({ items, properties = {}, patternProperties = {} }: Shape, name: string): Shape | undefined {
  if (items) return items
  return Object.hasOwn(properties, name) ? properties[name] : Object.values(patternProperties)[0]
}

/**
 * Describes the allowed values, as a phrase that follows "must be".
 * @param patterns descriptions of patterns, by pattern, each beginning with "must be"
 */
export function formOf(shape: Shape, patterns: Readonly<Record<string, string>>): string {
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (shape.anyOf) return shape.anyOf.map((way) => formOf(way, patterns)).join(', or ')
  if (shape.enum) return `one of ${shape.enum.join(', ')}`
  if (shape.type === 'boolean') return 'true or false'
  if (shape.type === 'integer' || shape.type === 'number')
    return `a ${shape.type === 'integer' ? 'whole ' : ''}number${range(shape.minimum, shape.maximum)}`
  if (shape.type === 'array' && shape.items) return listForm(shape, shape.items, patterns)
  if (shape.type === 'object') return objectForm(shape, patterns)
  const known = shape.pattern === undefined ? undefined : patterns[shape.pattern]
  return known === undefined ? `a text${range(undefined, shape.maxLength, 'characters')}` : known.replace(/^must be /, '')
}

/** " from 1 to 3", or only the limit that exists. */
function range(least: number | undefined, most: number | undefined, unit = ''): string {
  const of = unit === '' ? '' : ` ${unit}`
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}${of}`
  return most === undefined ? '' : ` of at most ${most}${of}`
}

function listForm({ minItems, maxItems, uniqueItems }: Shape, items: Shape, patterns: Readonly<Record<string, string>>): string {
  const count =
    minItems !== undefined && maxItems !== undefined ? `${minItems} to ${maxItems}` : maxItems === undefined ? '' : `at most ${maxItems}`
  return `a list${count === '' ? '' : ` of ${count}`}${uniqueItems ? ', none twice' : ''}, each of them ${formOf(items, patterns)}`
}

function objectForm(
  { properties, patternProperties, required = [], description }: Shape,
  patterns: Readonly<Record<string, string>>,
): string {
  if (properties) {
    const more = Object.keys(properties).filter((name) => !required.includes(name))
    const must = required.length === 0 ? 'an object' : `an object with ${required.join(', ')}`
    if (more.length === 0) return must
    return required.length === 0 ? `${must}, which may have ${more.join(', ')}` : `${must}, and perhaps ${more.join(', ')}`
  }
  const [[pattern, value] = []] = Object.entries(patternProperties ?? {})
  const name = pattern === undefined ? undefined : patterns[pattern]
  if (name === undefined || value === undefined)
    return `an object${description === undefined ? '' : ` (${description.replace(/\.$/, '')})`}`
  return `an object; each name in it ${name}, and has ${formOf(value, patterns)}`
}
