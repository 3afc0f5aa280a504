import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'

const root = fileURLToPath(new URL('../contract/opds', import.meta.url))
const PUBLICATION = 'https://readium.org/webpub-manifest/schema/publication.schema.json'
const LOCATOR = 'https://readium.org/architecture/schema/locator.schema.json'

let compiled: { publication: ValidateFunction; locator: ValidateFunction } | undefined

function findSchemas() {
  compiled ??= compile()
  return compiled
}

/** The schemas of Readium web publications and, for additional members of links, of OPDS 2. */
function compile() {
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  formats.default(ajv)
  const add = (path: string) => ajv.addSchema(JSON.parse(readFileSync(path, 'utf8')))
  const webpub = join(root, 'readium-webpub/schema')
  for (const entry of readdirSync(webpub, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) add(join(entry.parentPath, entry.name))
  // The schema of links refers to that of OPDS 2 by its original address.
  for (const name of ['properties', 'acquisition-object']) add(join(root, 'opds2', `${name}.schema.json`))
  add(join(dirname(webpub), '../readium-architecture/locator.fixed.schema.json'))
  const get = (id: string) => ajv.getSchema(id) ?? ajv.compile({ $ref: id })
  return { publication: get(PUBLICATION), locator: get(LOCATOR) }
}

const complaints = (validate: ValidateFunction, value: unknown): string[] => {
  validate(JSON.parse(JSON.stringify(value)))
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

/** The errors of a web publication manifest; none when it is valid. */
export const manifestComplaints = (value: unknown): string[] => complaints(findSchemas().publication, value)

/** The same for a locator. */
export const locatorComplaints = (value: unknown): string[] => complaints(findSchemas().locator, value)
