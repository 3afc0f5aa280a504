import * as cfi from 'foliate-js/epubcfi.js'
import type { Progression } from '../records.ts'
import { DocumentText } from './document-text.ts'
import { findQuote, quoteAt, squeeze } from './quote.ts'
import type { TextBook } from './text-book.ts'
import { type ChapterSpan, placeOf, totalOf } from './text-map.ts'
import type { SelectedWords, ShownPlace } from './text-view.ts'

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

/** The API takes 1,000 letters of a quote; the end of longer words is known by CFI alone. */
const MARKED_LETTERS = 1000

/** The locator of words that are marked. */
export function markLocatorOf({ book, spans }: BookMap, { index, doc, range }: SelectedWords): Locator {
  const text = new DocumentText(doc)
  const at = text.offsetOf(range.startContainer, range.startOffset)
  const fraction = text.text.length > 0 ? Math.min(1, at / text.text.length) : 0
  return {
    href: book.hrefs[index] ?? '',
    type: 'application/xhtml+xml',
    locations: {
      fragments: [cfi.joinIndir(cfi.fake.fromIndex(index), cfi.fromRange(range))],
      progression: fraction,
      totalProgression: totalOf(spans, { index, fraction }),
    },
    text: { ...quoteAt(text.text, at, Math.min(MARKED_LETTERS, range.toString().length)) },
  }
}

/** The marked words of a chapter; null where they are not in it any more. */
export function markRangeOf(locator: Locator, { doc, text }: { doc: Document; text: DocumentText }): Range | null {
  const range = rangeOf(locator, doc, text)
  const words = squeeze(locator.text?.highlight ?? '').trim()
  return range && !range.collapsed && squeeze(range.toString()).trim().startsWith(words) ? range : null
}

function rangeOf(locator: Locator, doc: Document, text = new DocumentText(doc)): Range | null {
  const byCfi = rangeOfCfi(locator.locations?.fragments, doc)
  const { highlight = '', before } = locator.text ?? {}
  if (highlight === '' || (byCfi && standsIn(byCfi, highlight))) return byCfi
  const near = byCfi ? text.offsetOf(byCfi.startContainer, byCfi.startOffset) : (locator.locations?.progression ?? 0) * text.text.length
  // In another edition a CFI leads somewhere, but not to these words.
  const found = findQuote(text.text, { before, highlight }, near)
  if (byCfi && (found === null || found.at === near)) return byCfi
  return found && text.rangeAt(found.at, found.length)
}

/** Whether a range has exactly these words: then the whole text need not be searched. */
const standsIn = (range: Range, words: string): boolean => squeeze(range.toString()).trim() === squeeze(words).trim()

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
