import { didYouMean } from '#core/setting/nearest-name.ts'
import { shown } from '#plugins/manifest/plain-json.ts'

/** What a check against a schema complains of. */
interface SchemaFault {
  instancePath: string
  message: string
  params?: unknown
}

/** What is wrong in words that say what is allowed: a check alone says "must be equal to one of the allowed values". */
export function describeFault(root: unknown, { instancePath, message, params }: SchemaFault): string {
  const { allowedValues, allowedValue, requiredProperties } = (params ?? {}) as Record<string, unknown>
  const value = valueAt(root, instancePath)
  if (Array.isArray(allowedValues)) return `${given(value)} is not allowed; ${oneOf(value, allowedValues.map(String))}`
  if (allowedValue !== undefined) return `${given(value)} is not allowed; it must be ${JSON.stringify(allowedValue)}`
  if (Array.isArray(requiredProperties)) {
    const names = requiredProperties.map(String)
    const has = value !== null && typeof value === 'object' ? Object.keys(value) : []
    const slip = has.find((name) => didYouMean(name, names) !== '')
    return `it has no ${names.join(', ')}${slip === undefined ? '' : `; "${shown(slip)}" may be meant as that`}`
  }
  return message
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
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
