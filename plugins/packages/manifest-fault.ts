import { didYouMean } from '#core/foundation/nearest-name.ts'
import { formOf, partsOf, type Shape, shapeAt } from '#plugins/packages/manifest-form.ts'
import { shown } from '#plugins/packages/plain-json.ts'

/** What a check against a schema complains of. */
interface SchemaFault {
  instancePath: string
  message: string
  params?: unknown
}

/** What the value was checked against. */
export interface Rules {
  schema: Shape
  /** What its patterns say, by the pattern, in words that begin with "must be". */
  patterns: Readonly<Record<string, string>>
}

/** What is wrong in words that say what is allowed: a check alone says "must be equal to one of the allowed values", or "must be array". */
export function describeFault(root: unknown, { instancePath, message, params }: SchemaFault, { schema, patterns }: Rules): string {
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
    if (slip !== undefined) return `it has no ${names.join(', ')}; "${shown(slip)}" may be meant as that`
    return `it has no ${names.join(', ')}${form === null ? '' : `; it must be ${form}`}`
  }
  return form === null ? message : `must be ${form}; it is ${given(value)}`
}

/** "it must be one of a, b. Did you mean b?" without the last full stop. */
export const oneOf = (value: unknown, names: readonly string[]): string =>
  `it must be one of ${names.join(', ')}${typeof value === 'string' ? ending(didYouMean(value, names)) : ''}`

/** What one says who asks back ends with a sign of its own; the sentence goes on, so it stands in brackets. */
const ending = (question: string): string => (question === '' ? '' : ` (${question.trim().replace(/^D/, 'd')})`)

const given = (value: unknown): string => shown(JSON.stringify(value) ?? 'nothing').slice(0, 60)

/** The value that a JSON pointer names; undefined where there is none. */
function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const name of partsOf(pointer)) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
