import { is as matches, selectAll, selectOne } from 'css-select'
import { DomHandler, Parser } from 'htmlparser2'

/** Parses web pages, for services without an API. The parser is in this module; it runs in the sandbox, under its limits. */

/** The limit of a server. */
const HTML_LENGTH_MAX = 5 * 1024 * 1024
/**
 * Typical pages have a few thousand elements, and 10,000 take 0.15 s of CPU time. This many fit into the 64 MB of a sandbox; twice as many do not, and
 * no code can catch an out-of-memory error there.
 */
const ELEMENTS_MAX = 50_000
/** Elements typically have three; they take memory as elements do. */
const ATTRIBUTES_MAX = 200_000
/** Real pages nest below 50; deeper ones only break recursive code. */
const DEPTH_MAX = 500
/** Selectors are compiled; a longer one is an error. */
const SELECTOR_LENGTH_MAX = 1_000

/** The page cannot be parsed: it is too long, nested too deeply, or has too many elements. */
export class HtmlError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'HtmlError'
  }
}

/** A node with child elements. */
export interface HtmlParent {
  /** Descendants that match a CSS selector, in document order. @throws for an invalid selector */
  select(selector: string): HtmlElement[]
  /** The first of them, or null. */
  first(selector: string): HtmlElement | null
  /** Child elements. */
  readonly children: HtmlElement[]
  /**
   * The visible text: white space collapsed, a line for each paragraph, list item, row and similar element, without empty lines, scripts, styles and
   * templates.
   */
  readonly text: string
}

export interface HtmlElement extends HtmlParent {
  /** In lower case. */
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** The value of an attribute, '' for one without a value; null if it does not exist. */
  attribute(name: string): string | null
  matches(selector: string): boolean
  /** The parent element; null at the top. */
  readonly parent: HtmlElement | null
}

/**
 * Parses a page nearly as tolerantly as browsers do: unclosed elements end with their parent, but no elements are moved or added.
 * @throws HtmlError for a page that is too long, nested too deeply or has too many elements
 */
export function parseHtml(text: string): HtmlParent {
  if (text.length > HTML_LENGTH_MAX) throw new HtmlError(`The page has ${text.length} characters; the limit is ${HTML_LENGTH_MAX}.`)
  const handler = new BoundedHandler()
  new Parser(handler).end(text)
  return parentOf(handler.root)
}

type Root = DomHandler['root']
type Node = Root['childNodes'][number]
type Element = Extract<Node, { attribs: unknown }>

class BoundedHandler extends DomHandler {
  #elements = 0
  #attributes = 0
  #depth = 0

  override onopentag(name: string, attributes: Record<string, string>): void {
    this.#elements += 1
    this.#depth += 1
    if (this.#elements > ELEMENTS_MAX) throw new HtmlError(`The page has more than ${ELEMENTS_MAX} elements.`)
    if (this.#depth > DEPTH_MAX) throw new HtmlError(`The elements of the page are nested more than ${DEPTH_MAX} deep.`)
    super.onopentag(name, attributes)
  }

  onattribute(): void {
    this.#attributes += 1
    if (this.#attributes > ATTRIBUTES_MAX) throw new HtmlError(`The page has more than ${ATTRIBUTES_MAX} attributes.`)
  }

  // Comments are not accessible, and would take memory.
  override oncomment(): void {}
  override oncommentend(): void {}
  override onprocessinginstruction(): void {}

  override onclosetag(): void {
    this.#depth -= 1
    super.onclosetag()
  }
}

const isElement = (node: Node): node is Element => 'attribs' in node

function checked(selector: string): string {
  if (selector.length > SELECTOR_LENGTH_MAX) throw new HtmlError(`A selector may have at most ${SELECTOR_LENGTH_MAX} characters.`)
  return selector
}

function parentOf(node: Root | Element): HtmlParent {
  return {
    select: (selector) => selectAll<Node, Element>(checked(selector), node).map(elementOf),
    first: (selector) => {
      const found = selectOne<Node, Element>(checked(selector), node)
      return found === null ? null : elementOf(found)
    },
    get children() {
      return node.childNodes.filter(isElement).map(elementOf)
    },
    get text() {
      return readText(node)
    },
  }
}

function elementOf(element: Element): HtmlElement {
  // Not a spread: it would call the lazy getters.
  return Object.defineProperties(parentOf(element), {
    name: { value: element.name, enumerable: true },
    attributes: { value: element.attribs, enumerable: true },
    attribute: {
      value: (name: string) => (Object.hasOwn(element.attribs, name.toLowerCase()) ? (element.attribs[name.toLowerCase()] ?? null) : null),
    },
    matches: { value: (selector: string) => matches<Node, Element>(element, checked(selector)) },
    parent: { get: () => (element.parent !== null && isElement(element.parent as Node) ? elementOf(element.parent as Element) : null) },
  }) as HtmlElement
}

const SILENT = new Set(['script', 'style', 'template', 'noscript'])
/** Elements that begin a new line. */
const BLOCKS = new Set(
  (
    'address article aside blockquote br body caption center dd details dialog div dl dt fieldset figcaption figure footer form ' +
    'h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section summary table tbody tfoot thead title tr ul'
  ).split(' '),
)
const CELLS = new Set(['td', 'th'])

function readText(top: Root | Element): string {
  const pieces: string[] = []
  // A stack instead of recursion: depth costs nothing here.
  const waiting: (Node | string)[] = [...top.childNodes].reverse()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') pieces.push(next)
    else if (isElement(next)) {
      if (SILENT.has(next.name)) continue
      const around = BLOCKS.has(next.name) ? '\n' : CELLS.has(next.name) ? ' ' : ''
      pieces.push(around)
      waiting.push(around)
      for (let index = next.childNodes.length - 1; index >= 0; index--) waiting.push(next.childNodes[index] as Node)
    } else if ('data' in next && next.nodeType === 3) pieces.push(next.data.replace(/\s+/g, ' '))
  }
  return pieces
    .join('')
    .split('\n')
    .map((line) => line.replace(/[^\S\n]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}
