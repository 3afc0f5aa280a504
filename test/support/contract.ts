import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const path = fileURLToPath(new URL('../contract/schemas.json', import.meta.url))

let contract: { ajv: Ajv2020; id: string } | undefined
const checks = new Map<string, (value: unknown) => string[]>()

function readContract(): { ajv: Ajv2020; id: string } {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  formats.default(ajv)
  const schemas = JSON.parse(readFileSync(path, 'utf8')) as { $id: string }
  ajv.addSchema(schemas)
  return { ajv, id: schemas.$id }
}

/**
 * A check for one shape of the wire contract in test/contract. It returns the problems of a value; none when the value is valid.
 * @param shape a name under `$defs`, such as `Book`
 */
export function findContract(shape: string): (value: unknown) => string[] {
  contract ??= readContract()
  const known = checks.get(shape)
  if (known) return known
  const validate = contract.ajv.compile({ $ref: `${contract.id}#/$defs/${shape}` })
  const check = (value: unknown) => {
    // As JSON on the wire: without undefined members.
    validate(JSON.parse(JSON.stringify(value)))
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
  }
  checks.set(shape, check)
  return check
}

/** The members of one shape of the wire contract. */
export function namesInContract(shape: string): string[] {
  const { $defs } = JSON.parse(readFileSync(path, 'utf8')) as { $defs: Record<string, { properties?: object }> }
  return Object.keys($defs[shape]?.properties ?? {})
}
