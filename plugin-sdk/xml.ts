import { XMLParser, XMLValidator } from 'fast-xml-parser'

/** Parses XML, such as feeds. The parser is in this module; it runs in the sandbox, under its limits. It expands no entities and fetches nothing. */

/** The limit of a server. */
const XML_LENGTH_MAX = 5 * 1024 * 1024
/**
 * A feed with 500 entries has 10,000 elements, which take 0.3 s of CPU time. This many fit into the 64 MB of a sandbox; twice as many do not, and
 * no code can catch an out-of-memory error there.
 */
const ELEMENTS_MAX = 50_000
/** Each element has two, each comment and each text section one; all of them become objects. */
const TAGS_MAX = 2 * ELEMENTS_MAX + 20_000
/** Real documents nest below 30; deeper ones only break recursive code. */
const DEPTH_MAX = 100

/** The text cannot be parsed as XML; the message has the reason and the position. */
export class XmlError extends Error {
  constructor(message: string) {
    // The parser quotes its input, which may be all of it.
    super(message.slice(0, 300))
    this.name = 'XmlError'
  }
}

export interface XmlElement {
  /** As written, with its prefix: `dc:title`. */
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** The value of an attribute; null if it does not exist. */
  attribute(name: string): string | null
  /** Child elements, in document order. */
  readonly children: readonly XmlElement[]
  /** All text in it, without markup; white space is kept except at both ends. */
  readonly text: string
  /** The first child element with this name; several names descend: `first('author', 'name')`. Null if one is missing. */
  first(...path: readonly [string, ...string[]]): XmlElement | null
  /** Child elements with this name. */
  all(name: string): XmlElement[]
}

/**
 * Parses a document. Entities that a DOCTYPE declares are never expanded and stay as they are written; predefined entities and character references
 * are resolved. Elements and attributes called `__proto__`, `constructor` or `prototype` are refused.
 * @returns the root element
 * @throws XmlError for a document that is not well formed, too long, nested too deeply, or has too many elements
 */
export function parseXml(text: string): XmlElement {
  if (text.length > XML_LENGTH_MAX) throw new XmlError(`It has ${text.length} characters; the limit is ${XML_LENGTH_MAX}.`)
  const plain = withoutDoctype(text.replace(/^\uFEFF/, '').trimStart())
  let tags = 0
  for (let at = plain.indexOf('<'); at !== -1; at = plain.indexOf('<', at + 1)) tags += 1
  if (tags > TAGS_MAX) throw new XmlError(`It has more than ${TAGS_MAX} tags, comments and sections.`)
  const verdict = XMLValidator.validate(plain)
  if (verdict !== true) throw new XmlError(`Line ${verdict.err.line}: ${verdict.err.msg}`)
  const [root, second] = elementsOf(parseTree(plain))
  if (root === undefined) throw new XmlError('It has no root element.')
  if (second !== undefined) throw new XmlError(`It has a second root element, ${second.name}.`)
  return root
}

/** Removes entity declarations, so that the parser never sees one. The DOCTYPE precedes the first element; quotes in it may contain anything. */
function withoutDoctype(text: string): string {
  const before = /^(?:\s|<\?[\s\S]*?\?>|<!--[\s\S]*?-->)*/.exec(text)?.[0].length ?? 0
  if (!/^<!doctype/i.test(text.slice(before, before + 9))) return text
  let inSubset = false
  for (let at = before + 9; at < text.length; at++) {
    const letter = text[at]
    if (letter === '"' || letter === "'") at = skipTo(text, letter, at + 1)
    else if (inSubset && text.startsWith('<!--', at)) at = skipTo(text, '-->', at + 4) + 2
    else if (inSubset && text.startsWith('<?', at)) at = skipTo(text, '?>', at + 2) + 1
    else if (letter === '[') inSubset = true
    else if (letter === ']') inSubset = false
    else if (letter === '>' && !inSubset) return text.slice(0, before) + text.slice(at + 1)
  }
  throw new XmlError('Its DOCTYPE is not closed.')
}

function skipTo(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? text.length : at
}

function parseTree(text: string): unknown {
  let elements = 0
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    trimValues: false,
    processEntities: false,
    cdataPropName: CDATA,
    ignoreDeclaration: true,
    ignorePiTags: true,
    maxNestedTags: DEPTH_MAX,
    jPath: false,
    // Keeps names such as toString, which the parser would change: nothing here looks them up on a prototype.
    onDangerousProperty: (name) => name,
    updateTag: (name) => {
      elements += 1
      if (elements > ELEMENTS_MAX) throw new XmlError(`It has more than ${ELEMENTS_MAX} elements.`)
      return name
    },
  })
  try {
    return parser.parse(text)
  } catch (error) {
    throw error instanceof XmlError ? error : new XmlError(error instanceof Error ? error.message : String(error))
  }
}

const TEXT = '#text'
const CDATA = '#cdata'

/** The parser's ordered form: an array of objects with one key, the name, and attributes under ':@'. */
type Ordered = Record<string, unknown>
const nodesOf = (list: unknown): Ordered[] => (Array.isArray(list) ? (list as Ordered[]) : [])
const nameOf = (node: Ordered): string | undefined => Object.keys(node).find((key) => key !== ':@')

function elementsOf(list: unknown): XmlElement[] {
  const found: XmlElement[] = []
  for (const node of nodesOf(list)) {
    const name = nameOf(node)
    if (name !== undefined && name !== TEXT && name !== CDATA) found.push(elementOf(name, node))
  }
  return found
}

function elementOf(name: string, node: Ordered): XmlElement {
  const attributes = Object.fromEntries(Object.entries((node[':@'] ?? {}) as Ordered).map(([key, value]) => [key, resolve(String(value))]))
  const children = elementsOf(node[name])
  const all = (wanted: string) => children.filter((child) => child.name === wanted)
  return {
    name,
    attributes,
    children,
    attribute: (wanted) => (Object.hasOwn(attributes, wanted) ? (attributes[wanted] as string) : null),
    get text() {
      return textOf(node[name]).trim()
    },
    all,
    first: (...[wanted, ...rest]) => {
      const child = children.find((one) => one.name === wanted) ?? null
      const [next, ...others] = rest
      return next === undefined || child === null ? child : child.first(next, ...others)
    },
  }
}

const textOf = (list: unknown): string =>
  nodesOf(list)
    .map((node) => {
      const name = nameOf(node)
      if (name === undefined) return ''
      if (name === TEXT) return resolve(String(node[name]))
      if (name === CDATA)
        return nodesOf(node[name])
          .map((part) => String(part[TEXT] ?? ''))
          .join('')
      return textOf(node[name])
    })
    .join('')

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Resolves character references and the five names of XML; the meaning of other names is in the DOCTYPE, which is ignored. */
const resolve = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (written, hexadecimal, decimal, name) => {
    if (name !== undefined) return NAMED[String(name)] ?? written
    const code = hexadecimal === undefined ? Number.parseInt(String(decimal), 10) : Number.parseInt(String(hexadecimal), 16)
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : '\uFFFD'
  })
