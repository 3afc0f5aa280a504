import { escapePointer, partsOf } from '#core/foundation/json-pointer.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { briefJson, briefText } from '#core/foundation/stranger-text.ts'
import type { Advice } from '#plugins/packages/manifest-advice.ts'
import { formOf, type Shape, shapeAt, shapesAt } from '#plugins/packages/manifest-form.ts'

/** An error of a schema check. */
interface SchemaProblem {
  instancePath: string
  message: string
  params?: unknown
}

/** The schema of the check. */
interface Rules {
  schema: Shape
  /** Descriptions of patterns, by pattern, each beginning with "must be". */
  patterns: Readonly<Record<string, string>>
  /** What is wrong with texts that a pattern refuses, by pattern. */
  advice?: Readonly<Record<string, Advice>>
}

/**
 * An error that says what is allowed, and what was given: the check itself says only "must be equal to one of the allowed values", or "must be array".
 * @param root the value that was checked, none of which is a secret
 */
export function describeSchemaProblem(root: unknown, { instancePath, message, params }: SchemaProblem, rules: Rules): string {
  const { allowedValues, allowedValue, requiredProperties } = (params ?? {}) as Record<string, unknown>
  const value = valueAt(root, instancePath)
  if (Array.isArray(allowedValues)) return `${briefJson(value)} is not allowed; ${oneOf(value, allowedValues.map(String))}`
  if (allowedValue !== undefined) return `${briefJson(value)} is not allowed; it must be ${JSON.stringify(allowedValue)}`
  const shape = shapeAt(rules.schema, instancePath)
  if (Array.isArray(requiredProperties) && requiredProperties.every((name) => isAlwaysRequired(shape, String(name))))
    return requiredProperties.map((name) => missing(value, instancePath, { name: String(name), ...rules })).join('; ')
  if (shape === undefined) return message
  const more = typeof value === 'string' && shape.pattern !== undefined ? (rules.advice?.[shape.pattern]?.(value) ?? '') : ''
  return `must be ${formOf(shape, rules.patterns)}; it is ${briefJson(value)}${more}`
}

/** False where another form of the value does without it. */
const isAlwaysRequired = (shape: Shape | undefined, name: string): boolean =>
  shape?.anyOf?.every(({ type, required = [] }) => type === 'null' || required.includes(name)) ?? true

/** A member that the schema does not know may be the missing one. */
function missing(value: unknown, place: string, { name, schema, patterns }: Rules & { name: string }): string {
  const has = value !== null && typeof value === 'object' ? Object.keys(value) : []
  const slip = has.find((one) => shapeAt(schema, memberOf(place, one)) === undefined && didYouMean(one, [name]) !== '')
  if (slip !== undefined) return `it has no ${name}; "${briefText(slip)}" may be a misspelling`
  const form = shapesAt(schema, memberOf(place, name)).map((shape) => formOf(shape, patterns))
  return `it has no ${name}${form.length === 0 ? '' : `, which must be ${[...new Set(form)].join(', or ')}`}`
}

const memberOf = (place: string, name: string): string => `${place}/${escapePointer(name)}`

/** "it must be one of a, b. Did you mean b?" without the last period. */
export const oneOf = (value: unknown, names: readonly string[]): string =>
  names.length === 1
    ? `it must be ${names[0]}`
    : `it must be one of ${names.join(', ')}${typeof value === 'string' ? ending(didYouMean(value, names)) : ''}`

/** Puts the question in parentheses, because it ends with a question mark and the sentence continues. */
const ending = (question: string): string => (question === '' ? '' : ` (${question.trim().replace(/^D/, 'd')})`)

/** The value at a JSON pointer; undefined when there is none. */
export function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const name of partsOf(pointer)) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
