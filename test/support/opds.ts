import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import { RelaxNGValidator, XmlDocument, type XmlElement, XmlLibError } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'
import { get } from '#test/support/server.ts'

const contract = fileURLToPath(new URL('../contract/opds/', import.meta.url))

export const ATOM = { a: 'http://www.w3.org/2005/Atom' }

/** One document of XML, for as long as `use` takes. */
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
  // It includes the grammar of Atom beside it.
  xmlRegisterFsInputProviders()
  const path = `${contract}opds12/opds-1.2-fixed-pse.rng`
  return RelaxNGValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path), { url: path }))
}

/** What the grammar of OPDS 1.2 says against a feed or an entry; nothing where it is valid. */
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

/** Documents of OPDS 2.0 for which there is a schema. */
export type Opds2Document = 'feed' | 'publication' | 'authentication'

/** The schemas stand twice in the contract, and name each other by two hosts: each set is compiled by itself, all under one host. */
const validators = new Map<string, ValidateFunction>()

function findValidator(set: 'opds2' | 'opds2-specs-repo', document: Opds2Document): ValidateFunction {
  const key = `${set}/${document}`
  const known = validators.get(key)
  if (known) return known
  const ajv = new Ajv({ strict: false, allErrors: true })
  formats.default(ajv)
  for (const path of [...globSync(`${contract}${set}/*.json`), ...globSync(`${contract}readium-webpub/schema/**/*.json`)])
    ajv.addSchema(JSON.parse(readFileSync(path, 'utf8').replaceAll('https://specs.opds.io/', 'https://drafts.opds.io/')))
  const validate = ajv.getSchema(`https://drafts.opds.io/schema/${document}.schema.json`)
  if (!validate) throw new Error(`There is no schema ${key}.`)
  validators.set(key, validate)
  return validate
}

/** What the schemas of OPDS 2.0 and of Readium say against a document; nothing where it is valid. */
export function opds2Complaints(value: unknown, document: Opds2Document): string[] {
  const sets = document === 'authentication' ? (['opds2'] as const) : (['opds2', 'opds2-specs-repo'] as const)
  return sets.flatMap((set) => {
    const validate = findValidator(set, document)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message} (${set})`)
  })
}

export interface WalkedDocument {
  path: string
  mediaType: string
  text: string
  complaints: string[]
}

/** How a document of each media type is checked, and where it leads. */
function examine(bytes: Buffer, mediaType: string): { complaints: string[]; links: string[] } {
  if (mediaType.startsWith('application/atom+xml')) {
    const links = withXml(bytes, (root) =>
      root
        .find('//a:link', ATOM)
        .filter((link) => /^application\/atom\+xml/.test(attribute(link, 'type')))
        .map((link) => attribute(link, 'href')),
    )
    return { complaints: [...atomComplaints(bytes), ...kindComplaints(bytes, mediaType)], links }
  }
  const value = JSON.parse(bytes.toString())
  const document = mediaType === 'application/opds+json' ? 'feed' : 'publication'
  return { complaints: opds2Complaints(value, document), links: feedLinks(value) }
}

/** Addresses of feeds and publications, wherever they stand. */
function feedLinks(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(feedLinks)
  if (typeof node !== 'object' || node === null) return []
  const { href, type, templated } = node as { href?: unknown; type?: unknown; templated?: unknown }
  const isFeed = typeof href === 'string' && !templated && String(type).startsWith('application/opds')
  return [...(isFeed ? [href] : []), ...Object.values(node).flatMap(feedLinks)]
}

export const attribute = (node: object, name: string, prefix?: string): string => (node as XmlElement).attr(name, prefix)?.value ?? ''

/** Feeds of navigation have no books, those of books lead nowhere else (OPDS 1.2, section 2). */
function kindComplaints(bytes: Buffer, mediaType: string): string[] {
  const kind = /kind=(\w+)/.exec(mediaType)?.[1]
  if (kind === undefined) return []
  return withXml(bytes, (root) => {
    const rels = (entries: string) => root.find(`${entries}/a:link`, ATOM).map((link) => attribute(link, 'rel'))
    const hasBooks = rels('/a:feed/a:entry').some((rel) => rel.startsWith('http://opds-spec.org/acquisition'))
    const leads = rels('/a:feed/a:entry').includes('subsection')
    const facets = rels('/a:feed').includes('http://opds-spec.org/facet')
    if (kind === 'navigation') return hasBooks || facets ? ['a navigation feed holds books, or facets'] : []
    return leads ? ['an acquisition feed leads to other feeds'] : []
  })
}

/** Follows every link of a catalog to its other feeds and entries, each once, and checks all of them. @param most how many documents */
export async function walkCatalog(url: string, start: string, headers: Record<string, string>, most = 400): Promise<WalkedDocument[]> {
  const waiting = [start]
  const seen = new Set(waiting)
  const walked: WalkedDocument[] = []
  for (let path = waiting.shift(); path !== undefined && walked.length < most; path = waiting.shift()) {
    const { status, headers: answered, bytes } = await get(url + path, { headers })
    const mediaType = String(answered['content-type'])
    if (status !== 200) {
      walked.push({ path, mediaType, text: bytes.toString(), complaints: [`answered ${status}: ${bytes.toString().slice(0, 300)}`] })
      continue
    }
    const { complaints, links } = examine(bytes, mediaType)
    walked.push({ path, mediaType, text: bytes.toString(), complaints })
    for (const link of links) {
      if (link.includes('{') || seen.has(link)) continue
      seen.add(link)
      waiting.push(link)
    }
  }
  return walked
}
