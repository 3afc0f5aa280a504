import { useEffect, useMemo, useRef, useState } from 'react'
import { readerTexts } from '#texts/reader.ts'
import { tapAction } from '../pages/page-rules.ts'
import { useLevels } from '../shared/use-levels.ts'
import { useNeighbors } from '../shared/use-neighbors.ts'
import { useReaderAddress } from '../shared/use-reader-address.ts'
import { useTimeLeft } from '../shared/use-time-left.ts'
import type { Note } from './note-popover.tsx'
import { noteText } from './note-text.ts'
import { type TextBook, type TextTarget, textBookOf } from './text-book.ts'
import { useTextBookmarks } from './text-bookmarks.ts'
import { type BookMap, isBookEnd } from './text-locator.ts'
import { flattenContents, spanChapters, type TextPosition } from './text-map.ts'
import type { TextPanel } from './text-panel.ts'
import { TEXT_DEFAULTS } from './text-settings.ts'
import type { BookPicture, TextView, TextViewActions } from './text-view.ts'
import { useHighlights } from './use-highlights.ts'
import { useTextActions } from './use-text-actions.ts'
import { useTextRecorder } from './use-text-recorder.ts'
import { type OpenedText, useTextView } from './use-text-view.ts'
import { useWhereabouts } from './whereabouts.ts'

export interface TextReaderProps {
  opened: OpenedText
  /** Of the server's list. */
  positions: readonly TextPosition[]
}

/** The state of the reader of texts. */
export type TextControls = ReturnType<typeof useTextControls>

function useMap({ opened, positions }: TextReaderProps): BookMap {
  const { book, manifest } = opened
  const textBook = useMemo(() => textBookOf(book, manifest), [book, manifest])
  return useMemo(() => ({ book: textBook, spans: spanChapters(textBook.hrefs, positions), count: positions.length }), [textBook, positions])
}

/** What lies over the text. */
function useOver() {
  const [panel, setPanel] = useState<TextPanel>(null)
  const [hasBars, setBars] = useState(true)
  const [leaving, setLeaving] = useState<string | null>(null)
  const [note, setNote] = useState<Note | null>(null)
  const [picture, setPicture] = useState<BookPicture | null>(null)
  const [query, setQuery] = useState('')
  const [isEnded, setEnded] = useState(false)
  const states = { panel, setPanel, hasBars, setBars, leaving, setLeaving, note, setNote, picture, setPicture, isEnded, setEnded }
  return { ...states, query, setQuery }
}

export function useTextControls({ opened, positions }: TextReaderProps) {
  const { book, manifest } = opened
  const map = useMap({ opened, positions })
  const host = useRef<HTMLDivElement>(null)
  const address = useReaderAddress()
  const over = useOver()
  const { setBars, setNote } = over
  const neighbors = useNeighbors(book, address.search)
  // What the package does not say, the first chapter shows.
  const [isLeftwards, setLeftwards] = useState(map.book.dir === 'rtl')
  const direction: 'ltr' | 'rtl' = isLeftwards ? 'rtl' : 'ltr'
  const levels = useLevels({ kind: 'text', defaults: TEXT_DEFAULTS, initial: opened.levels, bookId: book.id, seriesId: book.seriesId })
  const contents = useMemo(() => flattenContents(manifest.toc ?? [], readerTexts.untitled()), [manifest])
  const seriesHref = `/series/${book.seriesId}`
  const turn = (by: 1 | -1) => {
    setBars(false)
    setNote(null)
    if (by === 1 && reading.place && isBookEnd(map.book, reading.place)) {
      over.setEnded(true)
      reading.countTurn()
    } else void reading.view?.turn(by)
  }
  const goToEnd = (end: 'first' | 'last') =>
    void reading.view?.goTo(end === 'first' ? 0 : map.book.sections.length - 1, end === 'first' ? 0 : 1)
  const toggleBookmark = () => bookmarks.toggle()
  const closeFloating = () => {
    const isOpen = over.note !== null
    setNote(null)
    return highlights.close() || isOpen
  }
  const keys = useTextActions({ over, address, neighbors, seriesHref, direction, turn, goToEnd, toggleBookmark, closeFloating })
  const actions = viewActions({
    ...{ over, turn, direction, closeFloating },
    isScrolled: levels.settings.flow === 'scroll',
    keyed: keys.handle,
    noted: (target, at) => void showNote(target, { at, book: map.book, view: reading.view, setNote }),
    marked: (doc, event) => highlights.openAt(doc, event),
    selected: (words, at) => highlights.setSelection(words && at ? { words, at } : null),
    loaded(doc) {
      setNote(null)
      highlights.setSelection(null)
      nameDocument(doc, opened)
      if (map.book.dir === undefined) setLeftwards(readsLeftwards(doc))
    },
  })
  const reading = useTextView(opened, { host, map, settings: levels.settings, actions })
  const { place, lastTurn } = reading
  useEffect(() => {
    if (place?.isSwipe) setBars(false)
  }, [place, setBars])
  const bookmarks = useTextBookmarks(book.id, { map, place })
  const highlights = useHighlights(book.id, { map, reading, settings: levels.settings })
  const where = useWhereabouts({ map, contents, place })
  const page = place && where.total * map.count
  const timeLeft = useTimeLeft(book, { isText: true, isIncognito: address.isIncognito, page, ahead: where.ahead })
  const recording = useTextRecorder(opened, { map, lastTurn, isIncognito: address.isIncognito })
  const ofBook = { opened, map, levels, contents, seriesHref, neighbors, bookmarks, highlights }
  return { over, ...ofBook, host, address, direction, turn, reading, where, timeLeft, recording }
}

interface ViewOptions extends Pick<TextViewActions, 'keyed' | 'loaded' | 'noted' | 'marked' | 'selected'> {
  over: ReturnType<typeof useOver>
  direction: 'ltr' | 'rtl'
  isScrolled: boolean
  turn(by: 1 | -1): void
  closeFloating(): boolean
}

/** What happens in chapters. */
function viewActions({ over, direction, isScrolled, turn, closeFloating, ...actions }: ViewOptions): Omit<TextViewActions, 'relocated'> {
  return {
    ...actions,
    tapped(fraction) {
      // A tap beside a note or selected words only closes them.
      if (closeFloating()) return
      const action = isScrolled ? 'bars' : tapAction(fraction, direction)
      if (action === 'bars') over.setBars(!over.hasBars)
      else turn(action === 'next' ? 1 : -1)
    },
    followed: over.setLeaving,
    pictured: over.setPicture,
  }
}

/** Shows a note over the text; one without a text where it is. */
async function showNote(
  target: TextTarget,
  { at, book, view, setNote }: { at: DOMRect; book: TextBook; view: TextView | null; setNote(note: Note): void },
): Promise<void> {
  const text = await noteText(book, target, view)
  if (text === null) await view?.goToTarget(target)
  else setNote({ text, at })
}

/** The language of a chapter that names none: for hyphens and the forms of Han letters. */
function nameDocument(doc: Document, { manifest }: OpenedText): void {
  const { language } = manifest.metadata
  const first: unknown = Array.isArray(language) ? language[0] : language
  if (typeof first === 'string') doc.documentElement.lang ||= first
}

/** Whether pages of a chapter follow each other to the left. */
function readsLeftwards(doc: Document): boolean {
  const style = doc.defaultView?.getComputedStyle(doc.body ?? doc.documentElement)
  return style?.writingMode === 'vertical-rl' || style?.direction === 'rtl'
}
