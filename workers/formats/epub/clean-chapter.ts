import { Parser } from 'htmlparser2'
import { type ChapterOutcome, type CleanChapter, HTML_TYPES, XHTML_TYPE } from '#core/reading/publication.ts'
import { BookProblem } from '../../book-problem.ts'
import { cutDoctype, decodeXmlText, resolveReferences } from '../../metadata/xml-text.ts'
import { Namespaces, XHTML_NAMESPACE } from './chapter-namespaces.ts'
import { type Attributes, allowsAttribute, isRelativeAddress, localName, ruleOfElement } from './chapter-rules.ts'

/** Browsers nest HTML no deeper. */
const DEPTH_MAX = 512
/** Elements and attributes. A text of 5 MB with an element and a class for each word has 400,000; browsers take many seconds for more. */
const PARTS_MAX = 600_000
/** Instructions for style sheets have two addresses at most. */
const INSTRUCTION_LENGTH_MAX = 4_000

/**
 * Writes a chapter anew: without scripts, forms, frames, and whatever else could run, send, or contact another site. The result is well-formed
 * XML in UTF-8, also if the chapter is not: elements end where their parents end. Entities that only a DOCTYPE declares remain as written.
 * Takes time and memory in proportion to its size, which the caller limits.
 */
export function cleanChapter({ bytes, mediaType, isFlowing = false }: Parameters<CleanChapter>[0]): ChapterOutcome {
  try {
    const text = cutDoctype(decodeXmlText(bytes))
    if (text === undefined) throw new BookProblem('parser', 'Its DOCTYPE is not closed.')
    const isHtml = HTML_TYPES.has(mediaType)
    const isXhtml = isHtml || isFlowing || mediaType === XHTML_TYPE
    const writer = new ChapterWriter({ isHtml, isXhtml })
    new Parser(writer, { xmlMode: !isHtml, decodeEntities: isHtml }).end(text)
    return { bytes: new TextEncoder().encode(writer.finish()), mediaType: isXhtml ? XHTML_TYPE : mediaType }
  } catch (error) {
    if (error instanceof BookProblem) return { problem: error.problem }
    throw error
  }
}

/** An element of the chapter that is not closed yet. */
interface OpenElement {
  /** What its end writes. */
  end: string
  /** Prefixes that it declares. */
  declared: readonly string[]
  /** Nothing is written until it ends. */
  isRemoved: boolean
}

const PASSED: OpenElement = { end: '', declared: [], isRemoved: false }

/** Receives the markup of a chapter in order, and writes what may remain. */
class ChapterWriter {
  readonly #options: { isHtml: boolean; isXhtml: boolean }
  readonly #namespaces = new Namespaces()
  readonly #open: OpenElement[] = []
  readonly #written: string[] = []
  /** Ends the document, so that what follows its root, as in joined files, is still in it. Undefined before the root. */
  #rootEnd: string | undefined
  #removed = 0
  #parts = 0
  #isLiteral = false

  /** @param options.isXhtml a root other than `html` is put into one, with a head for the styles of readers */
  constructor(options: { isHtml: boolean; isXhtml: boolean }) {
    this.#options = options
  }

  onprocessinginstruction(name: string, data: string): void {
    if (name !== '?xml-stylesheet' || this.#rootEnd !== undefined) return
    const members = new Map<string, string>()
    for (const [, key = '', value = ''] of data.slice(0, INSTRUCTION_LENGTH_MAX).matchAll(/\s(href|type|media)=("[^"]*"|'[^']*')/g))
      members.set(key, decodeReferences(value.slice(1, -1)))
    // Those of other types are transformations: programs that write documents.
    if (members.get('type') !== 'text/css' || !isRelativeAddress(members.get('href') ?? '')) return
    this.#written.push(`<?xml-stylesheet${attributesOf(members)}?>`)
  }

  onopentag(name: string, attributes: Attributes): void {
    if (this.#open.length >= DEPTH_MAX)
      throw new BookProblem('parser', `Its elements are nested more than ${DEPTH_MAX} deep.`, { depthMax: DEPTH_MAX })
    this.#parts += 1 + Object.keys(attributes).length
    if (this.#parts > PARTS_MAX)
      throw new BookProblem('parser', `It has more than ${PARTS_MAX} elements and attributes.`, { partsMax: PARTS_MAX })
    const element = this.#removed > 0 ? PASSED : this.#start(name, this.#options.isHtml ? attributes : decodeValues(attributes))
    this.#open.push(element)
    if (element.isRemoved) this.#removed++
  }

  #start(name: string, attributes: Attributes): OpenElement {
    const local = localName(name)
    const rule = ruleOfElement(local, attributes)
    if (rule === 'remove') return { ...PASSED, isRemoved: true }
    if (rule === 'unwrap') return PASSED
    const isRoot = this.#rootEnd === undefined
    const entered = this.#namespaces.enter(name, attributes, isRoot)
    if (entered === null) return PASSED
    const isWrapped = isRoot && this.#options.isXhtml && local !== 'html'
    if (isWrapped) this.#written.push(`<html xmlns="${XHTML_NAMESPACE}"><head><title></title></head><body>`)
    const isEmpty = rule === 'empty' && (!isRoot || isWrapped)
    const kept = entered.attributes.filter(([key, value]) => allowsAttribute(local, { name: key, value }))
    if (isWrapped && local === 'svg') kept.push(...viewBoxOf(attributes))
    this.#written.push(`<${name}${attributesOf(kept)}${isEmpty ? '/' : ''}>`)
    const end = isEmpty ? '' : `</${name}>`
    if (isRoot) this.#rootEnd = isWrapped ? '</body></html>' : end
    // The root ends with the document, and its prefixes too.
    return isRoot && !isWrapped ? PASSED : { end, declared: entered.declared, isRemoved: false }
  }

  onclosetag(): void {
    const element = this.#open.pop()
    if (element === undefined) return
    if (element.isRemoved) this.#removed--
    this.#namespaces.leave(element.declared)
    this.#written.push(element.end)
  }

  oncdatastart(): void {
    this.#isLiteral = true
  }

  oncdataend(): void {
    this.#isLiteral = false
  }

  ontext(text: string): void {
    if (this.#removed > 0 || this.#rootEnd === undefined) return
    this.#written.push(escapeXml(this.#options.isHtml || this.#isLiteral ? text : decodeReferences(text)))
  }

  /** @throws BookProblem for a document without any element */
  finish(): string {
    if (this.#rootEnd === undefined) throw new BookProblem('parser', 'It has no element that can be shown.')
    return this.#written.join('') + this.#rootEnd
  }
}

/** Of a drawing that names only its size: without one, browsers cut off what is larger than the page instead of fitting it in. */
function viewBoxOf({ viewBox, width = '', height = '' }: Attributes): [name: string, value: string][] {
  const isSized = [width, height].every((size) => /^\d{1,9}(?:\.\d{1,9})?(?:px)?$/.test(size))
  return viewBox === undefined && isSized ? [['viewBox', `0 0 ${Number.parseFloat(width)} ${Number.parseFloat(height)}`]] : []
}

const decodeReferences = (text: string): string => resolveReferences(text, () => {})

const decodeValues = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, decodeReferences(value)]))

const attributesOf = (attributes: Iterable<readonly [string, string]>): string =>
  [...attributes].map(([name, value]) => ` ${name}="${escapeXml(value)}"`).join('')

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Also leaves out what is no character of XML (XML 1.0 production 2). */
const escapeXml = (text: string): string =>
  text.replace(/[&<>"]|[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, (character) => ESCAPED[character] ?? '')
