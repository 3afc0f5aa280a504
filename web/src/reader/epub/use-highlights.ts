import { type RefObject, useEffect, useRef, useState } from 'react'
import { type Annotation, putAnnotation } from '../shared/bookmarks-api.ts'
import { type Annotations, useAnnotations } from '../shared/use-bookmarks.ts'
import { ChapterMarks, type MarkColor } from './marks.ts'
import { type BookMap, type Locator, markLocatorOf } from './text-locator.ts'
import type { TextSettings } from './text-settings.ts'
import type { SelectedWords } from './text-view.ts'
import type { TextReading } from './use-text-view.ts'

/** Words that are selected, and where they are on screen. */
export interface Selection {
  words: SelectedWords
  at: DOMRect
}

/** A highlight that is open, and its words on screen; null where they are not on screen. */
interface OpenMark {
  id: string
  at: DOMRect | null
}

/** The highlights of a text. */
export interface Highlights extends Omit<Annotations, 'change'> {
  selection: Selection | null
  setSelection(selection: Selection | null): void
  open: OpenMark | null
  /** Opens another highlight, or none. What is typed in the open one is saved before; it stays open when the server refuses that. */
  show(mark: OpenMark | null): Promise<void>
  /** Closes the open highlight as it is. */
  drop(): void
  /** Saves what is typed in the open highlight. @returns whether it was kept */
  typed: RefObject<(() => Promise<boolean>) | null>
  /** Closes what floats over the text. @returns whether something did */
  close(): boolean
  /** Marks the selected words. @param opens whether to show the highlight then, for a note */
  mark(color: MarkColor, opens: boolean): void
  /** @returns whether it was kept */
  edit(highlight: Annotation, values: { color: string | null; note: string | null }): Promise<boolean>
  /** Shows the highlight at a point of a chapter. @returns whether there is one */
  openAt(doc: Document, event: MouseEvent): boolean
  follow(locator: Locator): void
}

interface Options {
  map: BookMap
  reading: TextReading
  settings: TextSettings
}

export function useHighlights(bookId: string, { map, reading, settings }: Options): Highlights {
  const { change, ...highlights } = useAnnotations(bookId, 'highlight')
  const [selection, setSelection] = useState<Selection | null>(null)
  const [open, setOpen] = useState<OpenMark | null>(null)
  const typed = useRef<() => Promise<boolean>>(null)
  const editing = useRef(Promise.resolve(true))
  // Also of a reader that is left by the browser's own way back.
  useEffect(() => () => void typed.current?.(), [])
  const drawn = useDrawnMarks(highlights.list, { map, reading, settings })
  const openOf = (id: string): OpenMark => {
    const range = drawn().flatMap((marks) => marks.rangeOf(id) ?? [])[0]
    return { id, at: range && reading.view ? reading.view.rectOf(range) : null }
  }
  const show = async (next: OpenMark | null) => {
    if (!typed.current || (await typed.current())) setOpen(next)
  }
  const mark = async (color: MarkColor, opens: boolean) => {
    if (!selection) return
    const { words, at } = selection
    const made = putAnnotation(bookId, { kind: 'highlight', color, locator: markLocatorOf(map, words) })
    setSelection(null)
    words.doc.getSelection()?.removeAllRanges()
    if ((await change(made)) && opens) await show({ id: (await made).id, at })
  }
  return {
    ...highlights,
    ...{ selection, setSelection, open, show, typed },
    drop: () => setOpen(null),
    close() {
      setSelection(null)
      void show(null)
      return selection !== null || open !== null
    },
    mark: (color, opens) => void mark(color, opens),
    edit({ id, kind, locator }, values) {
      // One after the other: the last that was chosen holds.
      editing.current = editing.current.then(() => change(putAnnotation(bookId, { kind, locator, ...values }, id)))
      return editing.current
    },
    openAt(doc, event) {
      const id = drawn()
        .find((marks) => marks.doc === doc)
        ?.at(event)
      if (id) void show(openOf(id))
      return Boolean(id)
    },
    follow: reading.goToLocator,
  }
}

/** Draws highlights in the chapters on screen. @returns what is drawn now */
function useDrawnMarks(list: readonly Annotation[], { map, reading, settings }: Options): () => readonly ChapterMarks[] {
  const { view, place } = reading
  const drawn = useRef<ChapterMarks[]>([])
  useEffect(() => {
    if (!view) return
    drawn.current = view.docs.map((doc) => drawn.current.find((marks) => marks.doc === doc) ?? new ChapterMarks(doc))
    for (const marks of drawn.current) {
      const index = map.book.resolve(marks.doc.URL)?.index
      const inChapter = list.filter(({ locator }) => map.book.resolve(locator.href)?.index === index)
      // The pages of a fixed layout have their own paper.
      marks.draw(index === undefined ? [] : inChapter, view.isFixed ? 'paper' : settings.paper)
    }
    // Another chapter has another place; turning within one draws nothing new.
  }, [list, map, view, place?.index, place?.doc, settings.paper])
  return () => drawn.current
}
