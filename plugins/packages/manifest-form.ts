import { partsOf } from '#core/foundation/json-pointer.ts'
import { NUMBER_MAX } from '#core/foundation/schema.ts'

/** The subset of JSON Schema that describes manifests, settings, indexes and answers. */
export interface Shape {
  type?: string
  const?: unknown
  enum?: readonly unknown[]
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  format?: string
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
export const shapeAt = (schema: Shape, pointer: string): Shape | undefined => shapesAt(schema, pointer)[0]

/** The same, with one schema for each alternative that has such a member. */
export function shapesAt(schema: Shape, pointer: string): Shape[] {
  let shapes: Shape[] = [schema]
  for (const part of partsOf(pointer))
    shapes = shapes.flatMap((shape): readonly Shape[] => shape.anyOf ?? [shape]).flatMap((way) => memberOf(way, part) ?? [])
  return shapes
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
  if (shape.enum) return shape.enum.length === 1 ? String(shape.enum[0]) : `one of ${shape.enum.join(', ')}`
  if (shape.type === 'boolean') return 'true or false'
  if (shape.type === 'null') return 'null'
  if (shape.type === 'integer' || shape.type === 'number')
    return `a ${shape.type === 'integer' ? 'whole ' : ''}number${range(shape.minimum, shape.maximum)}`
  if (shape.type === 'array' && shape.items) return listForm(shape, shape.items, patterns)
  if (shape.type === 'object') return objectForm(shape, patterns)
  const known = shape.pattern === undefined ? undefined : patterns[shape.pattern]
  return known === undefined ? textForm(shape) : known.replace(/^must be /, '')
}

/** Texts of settings and indexes whose form is checked. */
const FORMATS: Readonly<Record<string, string>> = {
  uri: 'an address such as https://example.org/',
  email: 'an email address',
  date: 'a date such as 2024-12-31',
}

function textForm({ format = '', minLength = 0, maxLength }: Shape): string {
  const kind = FORMATS[format]
  const least = maxLength === undefined ? `at least ${minLength}` : `${minLength} to ${maxLength}`
  const length = minLength > 0 ? least : maxLength === undefined ? '' : `at most ${maxLength}`
  if (length === '') return kind ?? 'a text'
  return kind === undefined ? `a text of ${length} characters` : `${kind}, with ${length} characters`
}

/** " from 1 to 3", or only the limit that exists. */
function range(least = -NUMBER_MAX, most = NUMBER_MAX): string {
  if (most === NUMBER_MAX) return least === -NUMBER_MAX ? '' : ` of at least ${least}`
  return least === -NUMBER_MAX ? ` of at most ${most}` : ` from ${least} to ${most}`
}

function listForm({ minItems, maxItems, uniqueItems }: Shape, items: Shape, patterns: Readonly<Record<string, string>>): string {
  const count =
    minItems !== undefined && maxItems !== undefined ? `${minItems} to ${maxItems}` : maxItems === undefined ? '' : `at most ${maxItems}`
  return `a list${count === '' ? '' : ` of ${count}`}${uniqueItems ? ', none twice' : ''}, each of them ${formOf(items, patterns)}`
}

/** Longer forms within forms say nothing that anybody reads. */
const FORM_LENGTH_MAX = 150

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
  const form = formOf(value, patterns)
  return `an object; each name in it ${name}${form.length > FORM_LENGTH_MAX ? '' : `, and has ${form}`}`
}
