import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { cutDoctype, decodeXmlText, mendAmpersands, resolveReferences } from './xml-text.ts'

/** The file cannot be parsed as XML; `message` is the reason, as part of the message of a problem. */
export class XmlError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    // The parser quotes its input, which may be a megabyte.
    super(message.length > 200 ? message.slice(0, 199) + '…' : message, options)
    this.name = 'XmlError'
  }
}

/**
 * One element. `name` and the keys of `attributes` are local names (`opf:role` is `role`) in their original case. If a
 * plain and a prefixed attribute have the same local name, the plain one wins; `xmlns` declarations are dropped.
 * `prefix` is the prefix as written, '' without one.
 */
export interface XmlElement {
  name: string
  prefix: string
  attributes: ReadonlyMap<string, string>
  children: readonly (XmlElement | string)[]
}

export interface XmlDocument {
  root: XmlElement
  /** Names of entity references that were left as written, at most 20: entities of a DOCTYPE are never expanded. */
  unknownEntities: readonly string[]
}

/** The largest package documents in the wild (thousands of files) are below 2 MB; ComicInfo with a 1 MB summary exists. */
export const XML_BYTES_MAX = 8 * 1024 * 1024
/** Real files nest below 30, contents of 120 levels have 250 elements in one another; deeper nesting is an attack on recursive parsers. */
const DEPTH_MAX = 256
/** Keeps the tree of `<a/><a/>…` below about 100 MB; an OPF with 10,000 files has 30,000. */
const ELEMENTS_MAX = 200_000

const OPTIONS = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  allowBooleanAttributes: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  cdataPropName: '#cdata',
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: DEPTH_MAX,
  jPath: false,
} as const

/**
 * The only XML parser of the server. The SDK for plugins wraps the same library (`plugin-sdk/xml.ts`) and shares no code with this one: it runs in
 * isolates, takes text, and refuses errors that are tolerated here.
 *
 * Parses XML of any common encoding into a plain tree, text included, in document order.
 * Removes DOCTYPEs unread and tolerates stray ampersands. Any other document that is not well formed, too large or too deep
 * throws {@link XmlError}.
 */
export function parseXml(bytes: Uint8Array): XmlDocument {
  if (bytes.byteLength > XML_BYTES_MAX) throw new XmlError(`it is larger than ${XML_BYTES_MAX / 1024 / 1024} MB`)
  const text = cutDoctype(decodeXmlText(bytes))
  if (text === undefined) throw new XmlError('its DOCTYPE is not closed')
  if (text === '') throw new XmlError('it is empty')
  const mended = mendAmpersands(text)
  const verdict = XMLValidator.validate(mended, { allowBooleanAttributes: true })
  if (verdict !== true) throw new XmlError(inWords(verdict.err))
  const unknown = new Set<string>()
  const [root] = toChildren(parseTree(mended), (name) => {
    if (unknown.size < 20) unknown.add(name)
  }).filter(isElement)
  if (root === undefined) throw new XmlError('it has no root element')
  return { root, unknownEntities: [...unknown] }
}

/** The validator lists unclosed elements as JSON over several lines: "Invalid '[ "package", … ]' found." */
function inWords(problem: { line: number; msg: string }): string {
  const unclosed = /^Invalid '(\[.*\])' found\.$/s.exec(problem.msg)?.[1]
  const names = [...(unclosed ?? '').matchAll(/"([^"]+)"/g)].map((match) => match[1])
  const message = names.length === 0 ? problem.msg.replace(/\.$/, '') : `elements left open: ${names.join(', ')}`
  return `line ${problem.line}: ${message}`
}

function parseTree(text: string): unknown {
  let elements = 0
  const parser = new XMLParser({
    ...OPTIONS,
    updateTag: (name) => {
      elements++
      if (elements > ELEMENTS_MAX) throw new XmlError(`it has more than ${ELEMENTS_MAX} elements`)
      return name
    },
  })
  try {
    return parser.parse(text)
  } catch (error) {
    if (error instanceof XmlError) throw error
    throw new XmlError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** The parser's ordered form: an array of objects with one key, the tag, and attributes under ':@'. */
function toChildren(nodes: unknown, onUnknown: (name: string) => void): (XmlElement | string)[] {
  if (!Array.isArray(nodes)) return []
  const children: (XmlElement | string)[] = []
  for (const node of nodes as Record<string, unknown>[]) {
    const tag = Object.keys(node).find((key) => key !== ':@')
    if (tag === undefined) continue
    const content = node[tag]
    if (tag === '#text') children.push(resolveReferences(String(content), onUnknown))
    else if (tag === '#cdata') children.push(cdataText(content))
    else {
      const colon = tag.indexOf(':')
      children.push({
        name: tag.slice(colon + 1),
        prefix: colon === -1 ? '' : tag.slice(0, colon),
        attributes: toAttributes(node[':@'], onUnknown),
        children: toChildren(content, onUnknown),
      })
    }
  }
  return children
}

function cdataText(content: unknown): string {
  const [first] = Array.isArray(content) ? (content as Record<string, unknown>[]) : []
  return String(first?.['#text'] ?? '')
}

function toAttributes(written: unknown, onUnknown: (name: string) => void): Map<string, string> {
  const attributes = new Map<string, string>()
  if (typeof written !== 'object' || written === null) return attributes
  const prefixedLast = Object.entries(written).sort(([a], [b]) => Number(a.includes(':')) - Number(b.includes(':')))
  for (const [name, value] of prefixedLast) {
    const colon = name.indexOf(':')
    const local = name.slice(colon + 1)
    if (name === 'xmlns' || name.startsWith('xmlns:') || attributes.has(local)) continue
    attributes.set(local, value === true ? '' : resolveReferences(String(value), onUnknown))
  }
  return attributes
}

export function isElement(node: XmlElement | string): node is XmlElement {
  return typeof node !== 'string'
}

/** Child elements of that local name, in order; case does not matter (`dc:Title` of old files). */
export function childrenNamed(element: XmlElement, name: string): XmlElement[] {
  const wanted = name.toLowerCase()
  return element.children.filter(isElement).filter((child) => child.name.toLowerCase() === wanted)
}

/** The first descendant of that local name in document order, the element itself excluded. */
export function findDescendant(element: XmlElement, name: string): XmlElement | undefined {
  return descendantsNamed(element, name).next().value
}

/** All descendants of that local name, in document order, lazily. */
export function* descendantsNamed(element: XmlElement, name: string): Generator<XmlElement, undefined> {
  const wanted = name.toLowerCase()
  for (const child of element.children.filter(isElement)) {
    if (child.name.toLowerCase() === wanted) yield child
    yield* descendantsNamed(child, name)
  }
  return undefined
}

/** All text in it without markup; white space is unchanged. */
export function textOf(element: XmlElement): string {
  return element.children.map((child) => (isElement(child) ? textOf(child) : child)).join('')
}

/** Folds white space to single spaces and trims it, as for titles and names. */
export function foldSpace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
