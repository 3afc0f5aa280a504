import { BookProblem } from '../../book-problem.ts'
import { isElement, textOf, type XmlElement } from '../../metadata/xml.ts'
import { decodeXmlText } from '../../metadata/xml-text.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'
import { type Declaration, isForBrowsers, mayApply, parseStyle } from './style-rules.ts'

/** The styles of a page that shows nothing are some lines; a longer one may show something. */
const STYLE_BYTES_MAX = 256 * 1024

/** Properties that show a picture, with the prefixes of browsers. Others name fonts, cursors and what cuts or filters what is there. */
const PICTURE_PROPERTY = /^(?:-[a-z]+-)?(?:background|content|list-style|border-image)/i
const USED_PROPERTY = /^(?:-[a-z]+-)?(?:background|content|list-style|border-image)|^(?:fill|stroke|opacity)/i
const DRAWN = /image-set\(|gradient\(/i
const ADDRESSES = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"']*))/gi

/** The styles of the pages of one book. A style sheet that many pages share is read once. */
export class BookStyles {
  readonly #archive: ZipArchive
  readonly #book: EpubPackage
  readonly #sheets = new Map<ZipEntry, Declaration[]>()

  constructor(archive: ZipArchive, book: EpubPackage) {
    this.#archive = archive
    this.#book = book
  }

  /** Undefined if a style sheet of the page is too long to be read. @param from the archive path of the page */
  of(root: XmlElement, from: string): PageStyles | undefined {
    const elements = withDescendants(root)
    const sheets: Declaration[][] = []
    for (const element of elements) {
      const name = element.name.toLowerCase()
      if ((name !== 'style' && name !== 'link') || !isForBrowsers(element.attributes.get('media') ?? '')) continue
      if (name === 'style') sheets.push(parseStyle(textOf(element), from, USED_PROPERTY))
      const rel = element.attributes.get('rel') ?? ''
      // Browsers apply an alternate sheet only if people choose it.
      if (name === 'style' || !/\bstylesheet\b/i.test(rel) || /\balternate\b/i.test(rel)) continue
      const entry = this.#book.resolve(element.attributes.get('href') ?? '', from)?.entry
      if (entry === undefined) continue
      if (entry.bytes > STYLE_BYTES_MAX) return undefined
      sheets.push(this.#sheetOf(entry))
    }
    return new PageStyles(this.#book, { elements, declarations: sheets.flat(), from })
  }

  /** Without any declaration if it cannot be read. */
  #sheetOf(entry: ZipEntry): Declaration[] {
    const known = this.#sheets.get(entry)
    if (known !== undefined) return known
    let sheet: Declaration[] = []
    try {
      sheet = parseStyle(decodeXmlText(this.#archive.read(entry, STYLE_BYTES_MAX)), entry.name, USED_PROPERTY)
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
    }
    this.#sheets.set(entry, sheet)
    return sheet
  }
}

export class PageStyles {
  readonly #book: EpubPackage
  readonly #elements: readonly XmlElement[]
  readonly #declarations: readonly Declaration[]
  readonly #from: string

  constructor(book: EpubPackage, page: { elements: readonly XmlElement[]; declarations: readonly Declaration[]; from: string }) {
    this.#book = book
    this.#elements = page.elements
    this.#declarations = page.declarations
    this.#from = page.from
  }

  /** Whether an element of the page may have a picture by its style: then the page is not blank, although its elements are empty. */
  mayShowPicture(): boolean {
    return (
      this.#declarations.some((declaration) => this.#isPicture(declaration) && mayApply(declaration, this.#elements, this.#elements)) ||
      this.#elements.some((element) => this.#ownOf(element).some((declaration) => this.#isPicture(declaration)))
    )
  }

  /** The value of a property that an element itself has, by its style, else by the sheets, else by the attribute of this name. */
  valueOf(element: XmlElement, property: string): string | undefined {
    const isOf = (declaration: Declaration) => declaration.property === property
    const found =
      this.#ownOf(element).findLast(isOf) ??
      this.#declarations.findLast((declaration) => isOf(declaration) && mayApply(declaration, [element], this.#elements))
    return found?.value ?? element.attributes.get(property)
  }

  #ownOf(element: XmlElement): Declaration[] {
    const style = element.attributes.get('style')
    return style === undefined ? [] : parseStyle(style, this.#from, USED_PROPERTY)
  }

  /** An address counts if it leads to a file of the book: nothing else is shown. */
  #isPicture({ property, value, from }: Declaration): boolean {
    if (!PICTURE_PROPERTY.test(property)) return false
    if (DRAWN.test(value)) return true
    return [...value.matchAll(ADDRESSES)].some(([, ...written]) => {
      const address = written.find((one) => one !== undefined) ?? ''
      return this.#book.resolve(address, from)?.entry !== undefined
    })
  }
}

function withDescendants(element: XmlElement): XmlElement[] {
  return [element, ...element.children.filter(isElement).flatMap(withDescendants)]
}
