import type { FixedLayout } from 'foliate-js/fixed-layout.js'
import type { Paginator } from 'foliate-js/paginator.js'
import type { TextBook, TextTarget } from './text-book.ts'

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
}

export interface TextViewActions {
  relocated(place: ShownPlace): void
  /** @param fraction across the screen */
  tapped(fraction: number): void
  /** Out of the book. */
  followed(address: string): void
  /** A note of this chapter. */
  noted(note: Element, at: DOMRect): void
  keyed(event: KeyboardEvent): void
  loaded(doc: Document, index: number): void
}

/** What the renderers of foliate tell. */
interface Relocation {
  reason: string
  index: number
  fraction?: number
  range: Range | null
  /** Of a page, as a part of the chapter. */
  size?: number
}

type Anchor = number | ((doc: Document) => Range | Element | number)

/** Trackpads send many wheel events for one move of the fingers. */
const WHEEL_PAUSE_MS = 250

/** Shows the chapters of a book with a renderer of foliate. `close` removes it. */
export class TextView {
  readonly #book: TextBook
  readonly #actions: () => TextViewActions
  readonly #renderer: Paginator | FixedLayout
  readonly isFixed: boolean
  #wheeledAt = 0
  #shown = { index: -1, fraction: 0 }

  private constructor(book: TextBook, renderer: Paginator | FixedLayout, actions: () => TextViewActions) {
    this.#book = book
    this.#actions = actions
    this.#renderer = renderer
    this.isFixed = book.rendition.layout === 'pre-paginated'
    renderer.addEventListener('relocate', (event) => this.#relocated((event as CustomEvent).detail))
    renderer.addEventListener('load', (event) => this.#loaded((event as CustomEvent).detail))
    renderer.open(book)
  }

  /** Loads the renderer that the book needs and puts it into a place. @param actions the present ones */
  static async open(place: HTMLElement, book: TextBook, actions: () => TextViewActions): Promise<TextView> {
    const isFixed = book.rendition.layout === 'pre-paginated'
    await (isFixed ? import('foliate-js/fixed-layout.js') : import('foliate-js/paginator.js'))
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

  get doc(): Document | null {
    return this.#renderer.getContents()[0]?.doc ?? null
  }

  /** @param options.selects what the anchor is, so that it is seen */
  async goTo(index: number, anchor: Anchor = 0, { selects = false }: { selects?: boolean } = {}): Promise<void> {
    await this.#renderer.goTo({ index, anchor, select: selects })
  }

  async goToTarget({ index, fragment }: TextTarget): Promise<void> {
    await this.goTo(index, fragment ? (doc) => doc.getElementById(fragment) ?? 0 : 0)
  }

  async turn(by: 1 | -1): Promise<void> {
    await (by === 1 ? this.#renderer.next() : this.#renderer.prev())
  }

  close(): void {
    this.#renderer.remove()
    this.#renderer.destroy()
  }

  get #isScrolled(): boolean {
    return this.#renderer.getAttribute('flow') === 'scrolled'
  }

  #relocated({ reason, index, fraction, range, size = 0 }: Relocation): void {
    const inChapter = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction ?? 0)) : 0
    const doc = range?.startContainer.ownerDocument ?? null
    const seen = this.#isScrolled && doc ? this.#scrolledPart(doc) : size
    // A tap ends in the same place, but foliate calls it a move.
    const isSwipe = reason === 'snap' && (index !== this.#shown.index || inChapter !== this.#shown.fraction)
    this.#shown = { index, fraction: inChapter }
    this.#actions().relocated({ index, fraction: inChapter, range, doc, isChapterEnd: inChapter + seen >= 0.99, isSwipe })
  }

  /** How much of the chapter the screen shows. */
  #scrolledPart(doc: Document): number {
    return this.#renderer.clientHeight / Math.max(1, doc.documentElement.getBoundingClientRect().height)
  }

  #loaded({ doc, index }: { doc: Document; index: number }): void {
    // Without it the browser hyphenates nothing and takes the wrong forms of Han letters.
    doc.addEventListener('click', (event) => this.#clicked(event, doc))
    doc.addEventListener('keydown', (event) => this.#actions().keyed(event))
    doc.addEventListener('wheel', (event) => this.#wheeled(event), { passive: true })
    this.#actions().loaded(doc, index)
  }

  #clicked(event: MouseEvent, doc: Document): void {
    const link = (event.target as Element | null)?.closest?.('a[href], area[href]')
    if (link) {
      event.preventDefault()
      this.#follow(link as HTMLAnchorElement, doc)
      return
    }
    if (!(doc.getSelection()?.isCollapsed ?? true)) return
    const frame = doc.defaultView?.frameElement?.getBoundingClientRect()
    const box = this.#renderer.getBoundingClientRect()
    if (!frame) return
    const scale = frame.width / Math.max(1, doc.documentElement.clientWidth)
    const x = frame.left + event.clientX * (this.isFixed ? scale : 1) - box.left
    this.#actions().tapped(x / Math.max(1, box.width))
  }

  #follow(link: HTMLAnchorElement, doc: Document): void {
    const address = URL.parse(attributeOf(link, 'href'), doc.baseURI)
    if (!address) return
    const target = this.#book.resolve(address.href)
    if (!target) {
      if (/^https?:$/.test(address.protocol) && address.origin !== location.origin) this.#actions().followed(address.href)
      return
    }
    const note = isNoteLink(link) && sameDocument(address, doc) ? doc.getElementById(target.fragment) : null
    if (note) this.#actions().noted(note, this.#onScreen(link.getBoundingClientRect(), doc))
    else void this.goToTarget(target)
  }

  #onScreen(rect: DOMRect, doc: Document): DOMRect {
    const frame = doc.defaultView?.frameElement?.getBoundingClientRect()
    return new DOMRect(rect.x + (frame?.x ?? 0), rect.y + (frame?.y ?? 0), rect.width, rect.height)
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

const isNoteLink = (link: Element): boolean => /\bnoteref\b/.test(attributeOf(link, 'type')) || link.getAttribute('role') === 'doc-noteref'

const sameDocument = ({ pathname }: URL, doc: Document): boolean => pathname === new URL(doc.URL).pathname
