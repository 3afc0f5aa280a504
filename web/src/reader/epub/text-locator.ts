import * as cfi from 'foliate-js/epubcfi.js'
import type { Progression } from '../records.ts'
import { DocumentText } from './document-text.ts'
import { findQuote, QUOTED_LETTERS, quoteAt } from './quote.ts'
import type { TextBook } from './text-book.ts'
import { type ChapterSpan, placeOf, totalOf } from './text-map.ts'
import type { ShownPlace } from './text-view.ts'

export type Locator = Progression['locator']

export interface BookMap {
  book: TextBook
  spans: readonly ChapterSpan[]
  /** Of positions. */
  count: number
}

/**
 * The locator of what is on screen: by CFI for this file, by quoted text for others, by progression for all. Without a position: the server
 * would take the beginning of the last one for the end of the book.
 */
export function locatorOf({ book, spans }: BookMap, place: ShownPlace): Locator {
  const { index, range, doc } = place
  const isEnd = isBookEnd(book, place)
  const fraction = isEnd ? 1 : place.fraction
  const totalProgression = isEnd ? 1 : totalOf(spans, place)
  const base = { href: book.hrefs[index] ?? '', type: 'application/xhtml+xml' }
  if (!range || !doc) return { ...base, locations: { progression: fraction, totalProgression } }
  const start = range.cloneRange()
  start.collapse(true)
  const fragments = [cfi.joinIndir(cfi.fake.fromIndex(index), cfi.fromRange(start))]
  const text = new DocumentText(doc)
  const { before, highlight } = quoteAt(text.text, text.offsetOf(range.startContainer, range.startOffset))
  return {
    ...base,
    locations: { fragments, progression: fraction, totalProgression },
    ...(highlight !== '' && { text: { ...(before && { before }), highlight } }),
  }
}

/** Whether the last page of the book is on screen. */
export const isBookEnd = ({ sections }: TextBook, { index, isChapterEnd }: ShownPlace): boolean =>
  isChapterEnd && index === sections.length - 1

/** Where a locator leads: the chapter, and the place in it once the chapter is there. */
export function placeOfLocator({ book, spans }: BookMap, locator: Locator): { index: number; anchor: (doc: Document) => Range | number } {
  const { progression, totalProgression } = locator.locations ?? {}
  const byHref = book.resolve(locator.href)?.index
  const place = byHref === undefined ? placeOf(spans, totalProgression ?? 0) : { index: byHref, fraction: progression ?? 0 }
  return { index: place.index, anchor: (doc) => rangeOf(locator, doc) ?? place.fraction }
}

function rangeOf(locator: Locator, doc: Document): Range | null {
  const text = new DocumentText(doc)
  const byCfi = rangeOfCfi(locator.locations?.fragments, doc)
  const { highlight = '', before } = locator.text ?? {}
  if (highlight === '') return byCfi
  const near = byCfi ? text.offsetOf(byCfi.startContainer, byCfi.startOffset) : (locator.locations?.progression ?? 0) * text.text.length
  // In another edition a CFI leads somewhere, but not to these words.
  const at = findQuote(text.text, { before, highlight }, near)
  if (byCfi && (at === null || at === near)) return byCfi
  return at === null ? null : text.rangeAt(at, Math.min(QUOTED_LETTERS, highlight.length))
}

function rangeOfCfi(fragments: readonly string[] | undefined, doc: Document): Range | null {
  const found = fragments?.find((fragment) => fragment.startsWith('epubcfi('))
  if (!found) return null
  try {
    const parts = cfi.parse(found)
    // The first step is the chapter in the package document.
    ;(parts.parent ?? parts).shift()
    return cfi.toRange(doc, parts)
  } catch {
    return null
  }
}
