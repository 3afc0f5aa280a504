import { partsOf } from '#core/foundation/json-pointer.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { formOf, type Shape, shapeAt } from '#plugins/packages/manifest-form.ts'

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
}

/** An error that says what is allowed: the check itself says only "must be equal to one of the allowed values", or "must be array". */
export function describeManifestProblem(
  root: unknown,
  { instancePath, message, params }: SchemaProblem,
  { schema, patterns }: Rules,
): string {
  const shape = shapeAt(schema, instancePath)
  const form = shape === undefined ? null : formOf(shape, patterns)
  const { allowedValues, allowedValue, requiredProperties } = (params ?? {}) as Record<string, unknown>
  const value = valueAt(root, instancePath)
  if (Array.isArray(allowedValues)) return `${given(value)} is not allowed; ${oneOf(value, allowedValues.map(String))}`
  if (allowedValue !== undefined) return `${given(value)} is not allowed; it must be ${JSON.stringify(allowedValue)}`
  if (Array.isArray(requiredProperties)) {
    const names = requiredProperties.map(String)
    const has = value !== null && typeof value === 'object' ? Object.keys(value) : []
    const slip = has.find((name) => didYouMean(name, names) !== '')
    if (slip !== undefined) return `it has no ${names.join(', ')}; "${briefText(slip)}" may be a misspelling`
    return `it has no ${names.join(', ')}${form === null ? '' : `; it must be ${form}`}`
  }
  return form === null ? message : `must be ${form}; it is ${given(value)}`
}

/** "it must be one of a, b. Did you mean b?" without the last period. */
export const oneOf = (value: unknown, names: readonly string[]): string =>
  `it must be one of ${names.join(', ')}${typeof value === 'string' ? ending(didYouMean(value, names)) : ''}`

/** Puts the question in parentheses, because it ends with a question mark and the sentence continues. */
const ending = (question: string): string => (question === '' ? '' : ` (${question.trim().replace(/^D/, 'd')})`)

const given = (value: unknown): string => briefText(JSON.stringify(value) ?? 'nothing').slice(0, 60)

/** The value at a JSON pointer; undefined when there is none. */
function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const name of partsOf(pointer)) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
