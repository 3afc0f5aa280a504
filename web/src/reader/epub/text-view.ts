import type { FixedLayout } from 'foliate-js/fixed-layout.js'
import type { Paginator } from 'foliate-js/paginator.js'
import { loadPart } from '#parts/load-part.ts'
import { addSheet } from './plain-styles.ts'
import { parseAddress, type TextBook, type TextTarget } from './text-book.ts'
import { showsEnd } from './text-map.ts'
import { Turns } from './turns.ts'

/** Where the reader is: the range on screen, or null in a fixed layout. */
export interface ShownPlace {
  index: number
  /** In the chapter, from 0 to 1. */
  fraction: number
  range: Range | null
  doc: Document | null
  /** Whether the chapter shows its end. */
  isChapterEnd: boolean
  /** Whether a finger turned the page. */
  isSwipe: boolean
  /** Whether a person went there: opening a book and laying it out again move the text too. */
  isTurn: boolean
}

/** What words of a chapter are selected. */
export interface SelectedWords {
  index: number
  doc: Document
  range: Range
}

export interface TextViewActions {
  relocated(place: ShownPlace): void
  /** @param fraction across the screen */
  tapped(fraction: number): void
  /** Out of the book. */
  followed(address: string): void
  /** A link to a note, by its text in the chapter. */
  noted(target: TextTarget, at: DOMRect): void
  /** @returns whether there is a highlight at the point that was tapped */
  marked(doc: Document, event: MouseEvent): boolean
  /** Words are selected; null when they are not any more. @param at on screen */
  selected(words: SelectedWords | null, at: DOMRect | null): void
  /** A picture was tapped. */
  pictured(picture: BookPicture): void
  keyed(event: KeyboardEvent): void
  loaded(doc: Document, index: number): void
}

export interface BookPicture {
  address: string
  alt: string
}

/** What the renderers of foliate tell. */
interface Relocation {
  reason?: string | null
  index: number
  fraction?: number
  range: Range | null
  /** Of a page, as a part of the chapter. */
  size?: number
}

type Anchor = number | ((doc: Document) => Range | Element | number)

/** After the last move of a handle of a selection. */
const SELECTED_MS = 200
/** Smaller pictures are ornaments, in CSS pixels. */
const PICTURE_SIZE_MIN = 48

/** Trackpads send many wheel events for one move of the fingers. */
const WHEEL_PAUSE_MS = 250

const XHTML = 'http://www.w3.org/1999/xhtml'
const SVG = 'http://www.w3.org/2000/svg'

/** Shows the chapters of a book with a renderer of foliate. `close` removes it. */
export class TextView {
  readonly #book: TextBook
  readonly #actions: () => TextViewActions
  readonly #renderer: Paginator | FixedLayout
  readonly isFixed: boolean
  #wheeledAt = 0
  #shown = { index: -1, fraction: 0 }
  /** The chapters by what their frames show. */
  readonly #indexes = new WeakMap<Document, number>()
  /** Made after that of the renderer, and so told after the renderer has placed the pages anew. */
  readonly #sizes = new ResizeObserver(() => this.#resized())
  readonly #turns = new Turns()
  /** Whether a person selects: what a search shows is selected too. */
  #isSelecting = false
  #selecting: ReturnType<typeof setTimeout> | undefined

  private constructor(book: TextBook, renderer: Paginator | FixedLayout, actions: () => TextViewActions) {
    this.#book = book
    this.#actions = actions
    this.#renderer = renderer
    this.isFixed = book.rendition.layout === 'pre-paginated'
    renderer.addEventListener('relocate', (event) => this.#relocated((event as CustomEvent).detail))
    renderer.addEventListener('load', (event) => this.#loaded((event as CustomEvent).detail))
    renderer.open(book)
    if (this.isFixed) this.#sizes.observe(renderer)
  }

  /** Loads the renderer that the book needs and puts it into a place. @param actions the present ones */
  static async open(place: HTMLElement, book: TextBook, actions: () => TextViewActions): Promise<TextView> {
    const isFixed = book.rendition.layout === 'pre-paginated'
    await loadPart<unknown>(() => (isFixed ? import('foliate-js/fixed-layout.js') : import('foliate-js/paginator.js')))
    const renderer = document.createElement(isFixed ? 'foliate-fxl' : 'foliate-paginator') as Paginator | FixedLayout
    const view = new TextView(book, renderer, actions)
    place.replaceChildren(renderer)
    return view
  }

  /** Attributes and styles of the paginator; a fixed layout has its own. */
  dress(attributes: Record<string, string>, styles: [before: string, after: string]): void {
    if (this.isFixed) return
    const paginator = this.#renderer as Paginator
    for (const [name, value] of Object.entries(attributes)) if (paginator.getAttribute(name) !== value) paginator.setAttribute(name, value)
    paginator.setStyles(styles)
  }

  /** The chapters on screen: two in a spread of a fixed layout. */
  get docs(): Document[] {
    return this.#renderer.getContents().flatMap(({ doc }) => doc ?? [])
  }

  /**
   * @param options.selects what the anchor is, so that it is seen
   * @param options.isTurn false where no person asked for it, as when a book is opened
   */
  async goTo(
    index: number,
    anchor: Anchor = 0,
    { selects = false, isTurn = true }: { selects?: boolean; isTurn?: boolean } = {},
  ): Promise<void> {
    this.#isSelecting = false
    this.#turns.going(isTurn)
    // Sent to the other page of a pair, foliate shows it, but tells nobody, and does not know it when the screen gets another size.
    const isOther = this.isFixed && this.docs.some((doc) => isBehind(doc) && this.#indexes.get(doc) === index)
    if (isOther) await (index > this.#shown.index ? this.#renderer.next() : this.#renderer.prev())
    else await this.#renderer.goTo({ index, anchor, select: selects })
  }

  async goToTarget({ index, fragment }: TextTarget, options: { isTurn?: boolean } = {}): Promise<void> {
    await this.goTo(index, fragment ? (doc) => doc.getElementById(fragment) ?? 0 : 0, options)
  }

  async turn(by: 1 | -1): Promise<void> {
    this.#turns.going(true)
    await (by === 1 ? this.#renderer.next() : this.#renderer.prev())
  }

  close(): void {
    clearTimeout(this.#selecting)
    this.#sizes.disconnect()
    this.#renderer.remove()
    // The paginator throws when no chapter has been shown.
    if (this.isFixed || this.docs.length > 0) this.#renderer.destroy()
  }

  get #isScrolled(): boolean {
    return this.#renderer.getAttribute('flow') === 'scrolled'
  }

  #relocated({ reason, index: told, fraction, range, size = 0 }: Relocation): void {
    const index = this.#pageOnScreen() ?? told
    const inChapter = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction ?? 0)) : 0
    const doc = range?.startContainer.ownerDocument ?? null
    const seen = this.#isScrolled && doc ? this.#scrolledPart(doc) : size
    const isMoved = index !== this.#shown.index || inChapter !== this.#shown.fraction
    const isTurn = this.#turns.relocated({ reason, isMoved, faces: doc?.fonts.ready ?? null })
    this.#shown = { index, fraction: inChapter }
    const isSwipe = reason === 'snap' && isTurn
    const isChapterEnd = showsEnd({ fraction: inChapter, seen })
    this.#actions().relocated({ index, fraction: inChapter, range, doc, isChapterEnd, isSwipe, isTurn })
  }

  /**
   * The page of a fixed layout that is on screen, of a pair the later one: foliate names the one on the right, whichever is shown. Null for
   * chapters, and before the first page.
   */
  #pageOnScreen(): number | null {
    if (!this.isFixed) return null
    const pages = this.docs.flatMap((doc) => (isBehind(doc) ? [] : (this.#indexes.get(doc) ?? [])))
    return pages.length > 0 ? Math.max(...pages) : null
  }

  /** A screen that is turned shows one page of a pair, or both. */
  #resized(): void {
    const index = this.#pageOnScreen()
    if (index === null || this.#shown.index === -1 || index === this.#shown.index) return
    this.#relocated({ reason: 'anchor', index, range: null, size: 1 })
  }

  /** How much of the chapter the screen shows; vertical text scrolls to the side. */
  #scrolledPart(doc: Document): number {
    const { width, height } = doc.documentElement.getBoundingClientRect()
    const isVertical = doc.defaultView?.getComputedStyle(doc.body).writingMode.startsWith('vertical')
    return isVertical ? this.#renderer.clientWidth / Math.max(1, width) : this.#renderer.clientHeight / Math.max(1, height)
  }

  #loaded({ doc, index }: { doc: Document; index: number }): void {
    this.#indexes.set(doc, index)
    if (!this.isFixed) addBody(doc)
    const styles = this.#book.sections[index]?.styles
    if (styles) addSheet(doc).replaceSync(styles)
    doc.addEventListener('click', (event) => this.#clicked(event, doc))
    doc.addEventListener('keydown', (event) => this.#actions().keyed(event))
    doc.addEventListener('wheel', (event) => this.#wheeled(event), { passive: true })
    for (const begin of ['pointerdown', 'keydown']) doc.addEventListener(begin, () => (this.#isSelecting = true))
    doc.addEventListener('selectionchange', () => {
      clearTimeout(this.#selecting)
      this.#selecting = setTimeout(() => this.#selected(doc, index), SELECTED_MS)
    })
    this.#actions().loaded(doc, index)
  }

  #selected(doc: Document, index: number): void {
    const selection = doc.getSelection()
    if (!selection || selection.rangeCount === 0 || selection.toString().trim() === '') {
      this.#actions().selected(null, null)
      return
    }
    if (!this.#isSelecting) return
    const range = selection.getRangeAt(0).cloneRange()
    this.#actions().selected({ index, doc, range }, this.rectOf(range))
  }

  /** Where a range is on screen. */
  rectOf(range: Range): DOMRect {
    const doc = range.startContainer.ownerDocument as Document
    const lines = Array.from(range.getClientRects()).filter(({ width, height }) => width > 0 && height > 0)
    const first = lines[0] ?? range.getBoundingClientRect()
    // Words that go on in another column have their place in the first.
    const bottom = Math.max(...lines.filter(({ left }) => left < first.right).map((line) => line.bottom), first.bottom)
    return this.#onScreen(new DOMRect(first.x, first.y, first.width, bottom - first.y), doc)
  }

  #clicked(event: MouseEvent, doc: Document): void {
    const target = event.target === doc ? doc.documentElement : (event.target as Element)
    const link = linkAt(target)
    // Drawings show links of this file or of another a second time (`use`), and those are no elements of the chapter.
    if (link || target.localName === 'use') event.preventDefault()
    if (link) {
      this.#follow(link, doc)
      return
    }
    if (!(doc.getSelection()?.isCollapsed ?? true) || this.#actions().marked(doc, event)) return
    const box = this.#renderer.getBoundingClientRect()
    const { x } = this.#onScreen(new DOMRect(event.clientX, event.clientY), doc)
    const fraction = (x - box.left) / Math.max(1, box.width)
    const picture = pictureOf(target)
    // A picture that fills the screen still turns at its sides.
    if (picture && (Math.abs(fraction - 0.5) < 1 / 6 || picture.width < box.width / 2)) this.#actions().pictured(picture)
    else this.#actions().tapped(fraction)
  }

  #follow(link: Element, doc: Document): void {
    const address = parseAddress(attributeOf(link, 'href'), doc.baseURI)
    if (!address) return
    const target = this.#book.resolve(address.href)
    if (!target) {
      if (/^https?:$/.test(address.protocol) && address.origin !== location.origin) this.#actions().followed(address.href)
      return
    }
    if (isNoteLink(link) && target.fragment !== '') this.#actions().noted(target, this.#onScreen(link.getBoundingClientRect(), doc))
    else void this.goToTarget(target)
  }

  /** A fixed layout is scaled to the screen. */
  #onScreen(rect: DOMRect, doc: Document): DOMRect {
    const frame = doc.defaultView?.frameElement?.getBoundingClientRect()
    if (!frame) return rect
    const scale = this.isFixed ? frame.width / Math.max(1, doc.documentElement.clientWidth) : 1
    return new DOMRect(frame.x + rect.x * scale, frame.y + rect.y * scale, rect.width * scale, rect.height * scale)
  }

  #wheeled(event: WheelEvent): void {
    if (this.#isScrolled || event.ctrlKey || Math.abs(event.deltaY) < 4 || event.timeStamp - this.#wheeledAt < WHEEL_PAUSE_MS) return
    this.#wheeledAt = event.timeStamp
    void this.turn(event.deltaY > 0 ? 1 : -1)
  }
}

/** An attribute of any namespace: links in drawings have theirs, and so have types of EPUB. */
const attributeOf = (element: Element, name: string): string =>
  Array.from(element.attributes).find(({ localName }) => localName === name)?.value ?? ''

/**
 * The link that an element is in. Its address may be of any namespace, and in mathematics any element may have one; in drawings, those that are
 * not `a` name with it what they show. A link that the browser follows by itself leads the frame out of the reader.
 */
function linkAt(target: Element): Element | null {
  for (let element: Element | null = target; element; element = element.parentElement)
    if ((element.namespaceURI !== SVG || element.localName === 'a') && hasAddress(element)) return element
  return null
}

const hasAddress = (element: Element): boolean => Array.from(element.attributes).some(({ localName }) => localName === 'href')

/** foliate puts styles on the body of each chapter, and waits forever for one without a body. */
function addBody(doc: Document): void {
  if (doc.body) return
  const body = doc.createElementNS(XHTML, 'body')
  const root = doc.documentElement
  if (root.namespaceURI === XHTML && root.localName === 'html') {
    for (const node of Array.from(root.childNodes)) if (node !== doc.head) body.append(node)
    root.append(body)
    return
  }
  const html = doc.createElementNS(XHTML, 'html')
  root.replaceWith(html)
  body.append(root)
  html.append(body)
}

/** Whether it is the page of a pair for which an upright screen has no room: foliate hides what is around its frame. */
const isBehind = (doc: Document): boolean => doc.defaultView?.frameElement?.parentElement?.style.display === 'none'

/** Books without types of EPUB 3 set the marks of notes high: a number or a star. */
const isNoteLink = (link: Element): boolean =>
  /\bnoteref\b/.test(attributeOf(link, 'type')) ||
  link.getAttribute('role') === 'doc-noteref' ||
  ((link.closest('sup') ?? link.querySelector('sup')) !== null && (link.textContent ?? '').trim().length <= NOTE_MARK_LETTERS)

const NOTE_MARK_LETTERS = 5

/** The picture that was tapped, with its width on screen; null for text, ornaments and pictures that could not be loaded. */
function pictureOf(target: Element): (BookPicture & { width: number }) | null {
  const picture = target.closest('img, image')
  if (!picture || ('naturalWidth' in picture && picture.naturalWidth === 0)) return null
  const { width, height } = picture.getBoundingClientRect()
  const address = parseAddress(attributeOf(picture, picture.localName === 'img' ? 'src' : 'href'), picture.baseURI)
  if (!address || Math.max(width, height) < PICTURE_SIZE_MIN) return null
  return { address: address.href, alt: picture.getAttribute('alt') ?? '', width }
}
