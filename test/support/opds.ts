import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import { RelaxNGValidator, XmlDocument, type XmlElement, XmlLibError } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'

const contract = fileURLToPath(new URL('../contract/opds/', import.meta.url))

export const ATOM = { a: 'http://www.w3.org/2005/Atom' }

/** Parses an XML document and frees it after `use`. */
export function withXml<T>(bytes: Uint8Array, use: (root: XmlElement) => T): T {
  const document = XmlDocument.fromBuffer(bytes)
  try {
    return use(document.root)
  } finally {
    document.dispose()
  }
}

let grammar: RelaxNGValidator | undefined

function readGrammar(): RelaxNGValidator {
  // It includes the grammar of Atom, which is in the same folder.
  xmlRegisterFsInputProviders()
  const path = `${contract}opds12/opds-1.2-fixed-pse.rng`
  return RelaxNGValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path), { url: path }))
}

/** The errors of a feed or an entry by the grammar of OPDS 1.2; none when it is valid. */
export function atomComplaints(bytes: Uint8Array): string[] {
  grammar ??= readGrammar()
  let document: XmlDocument | undefined
  try {
    document = XmlDocument.fromBuffer(bytes)
    grammar.validate(document)
    return []
  } catch (error) {
    if (error instanceof XmlLibError) return [error.message]
    throw error
  } finally {
    document?.dispose()
  }
}

/** Documents of OPDS 2.0 with a schema. */
export type Opds2Document = 'feed' | 'publication' | 'authentication'

/** The contract has the schemas twice, and they refer to each other by two hosts. Each set is compiled separately, under one host. */
const compilers = new Map<string, Ajv>()

function findCompiler(set: 'opds2' | 'opds2-specs-repo'): Ajv {
  const known = compilers.get(set)
  if (known) return known
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  formats.default(ajv)
  for (const path of [...globSync(`${contract}${set}/*.json`), ...globSync(`${contract}readium-webpub/schema/**/*.json`)])
    ajv.addSchema(JSON.parse(readFileSync(path, 'utf8').replaceAll('https://specs.opds.io/', 'https://drafts.opds.io/')))
  compilers.set(set, ajv)
  return ajv
}

function findValidator(set: 'opds2' | 'opds2-specs-repo', document: Opds2Document): ValidateFunction {
  const validate = findCompiler(set).getSchema(`https://drafts.opds.io/schema/${document}.schema.json`)
  if (!validate) throw new Error(`There is no schema ${set}/${document}.`)
  return validate
}

/** The errors of a document by the schemas of OPDS 2.0 and Readium; none when it is valid. */
export function opds2Complaints(value: unknown, document: Opds2Document): string[] {
  const sets = document === 'authentication' ? (['opds2'] as const) : (['opds2', 'opds2-specs-repo'] as const)
  return sets.flatMap((set) => {
    const validate = findValidator(set, document)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message} (${set})`)
  })
}

export const attribute = (node: object, name: string, prefix?: string): string => (node as XmlElement).attr(name, prefix)?.value ?? ''
