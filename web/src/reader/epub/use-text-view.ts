import dyslexia from '@fontsource/opendyslexic/files/opendyslexic-latin-400-normal.woff2?url'
import dyslexiaBold from '@fontsource/opendyslexic/files/opendyslexic-latin-700-normal.woff2?url'
import serif from '@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2?url'
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import type { OpenedBook } from '../open-book.ts'
import type { Book } from '../records.ts'
import { useReturn } from '../shared/use-return.ts'
import { type BookMap, type Locator, placeOfLocator } from './text-locator.ts'
import type { TextSettings } from './text-settings.ts'
import { chapterStyles, paginatorAttributes } from './text-styles.ts'
import { type ShownPlace, TextView, type TextViewActions } from './text-view.ts'

export type OpenedText = Extract<OpenedBook, { kind: 'text' }>

/** The view of a book, null while it is loaded; and what is on screen, null before the first chapter. */
export interface TextReading {
  view: TextView | null
  place: ShownPlace | null
  /** Where a person went last; null before the first turn. */
  lastTurn: ShownPlace | null
  problem: Error | null
  /** Loads again what is on screen. */
  openAgain(): void
  /** @param options.isTurn false for a place that is recorded already */
  goToLocator(locator: Locator, options?: { isTurn?: boolean }): void
  /** Counts what is on screen as a turn: who opened the book at its end has read it once they go on. */
  countTurn(): void
}

interface Options {
  host: RefObject<HTMLDivElement | null>
  map: BookMap
  settings: TextSettings
  actions: Omit<TextViewActions, 'relocated'>
}

/** Opens a book at its recorded place and follows its settings. */
export function useTextView({ book, progression }: OpenedText, { host, map, settings, actions }: Options): TextReading {
  const [view, setView] = useState<TextView | null>(null)
  const [place, setPlace] = useState<ShownPlace | null>(null)
  const [lastTurn, setLastTurn] = useState<ShownPlace | null>(null)
  const [problem, setProblem] = useState<Error | null>(null)
  const latest = useRef<TextViewActions>(null)
  const relocated = (shown: ShownPlace) => {
    setPlace(shown)
    if (shown.isTurn) setLastTurn(shown)
  }
  latest.current = { ...actions, relocated }
  const style = useMemo(() => dressOf(settings), [settings])
  // What an opening begins with: at first the recorded place, later the one on screen.
  const begin = useRef({ style, map, place: null as ShownPlace | null, isTurned: false })
  const isBroken = place !== null && map.book.sections[place.index]?.problem !== null
  // A first chapter that failed says nothing of the place in it.
  begin.current = { style, map, place: isBroken && begin.current.place === null ? null : place, isTurned: lastTurn !== null }
  const [opening, setOpening] = useState(0)
  const openAgain = () => {
    setProblem(null)
    setOpening(opening + 1)
  }
  useEffect(() => {
    if (!host.current) return
    let isClosed = false
    let opened: TextView | null = null
    TextView.open(host.current, begin.current.map.book, () => latest.current!)
      .then((made) => {
        if (isClosed) return made.close()
        opened = made
        made.dress(...begin.current.style)
        setView(made)
        const { place: shown, map: shownMap, isTurned } = begin.current
        // A turn to a chapter that failed is recorded now.
        if (shown) return made.goTo(shown.index, shown.fraction, { isTurn: isTurned })
        return goToStart(made, { book, locator: progression?.locator ?? null, map: shownMap })
      })
      .catch((error: Error) => !isClosed && setProblem(error))
    return () => {
      isClosed = true
      opened?.close()
    }
  }, [host, book, progression, opening])
  useEffect(() => view?.dress(...style), [view, style])
  const goToLocator = (locator: Locator, { isTurn = true }: { isTurn?: boolean } = {}) => {
    const { index, anchor } = placeOfLocator(map, locator)
    if (!isTurn) setLastTurn(null)
    void view?.goTo(index, anchor, { isTurn })
  }
  const countTurn = () => setLastTurn(place && { ...place })
  useReturn(() => {
    if (problem || isBroken) openAgain()
  })
  return { view, place, lastTurn, problem, openAgain, goToLocator, countTurn }
}

type Dress = Parameters<TextView['dress']>

const dressOf = (settings: TextSettings): Dress => [
  paginatorAttributes(settings),
  chapterStyles(settings, { serif: fromHere(serif), dyslexia: fromHere(dyslexia), dyslexiaBold: fromHere(dyslexiaBold) }),
]

/** Chapters have another base. */
const fromHere = (address: string): string => new URL(address, document.baseURI).href

/** At the chapter that the address names, as the page of the book does, else where the person was. */
async function goToStart(view: TextView, { book, locator, map }: { book: Book; locator: Locator | null; map: BookMap }): Promise<void> {
  const chapter = new URLSearchParams(location.search).get('chapter')
  const target = chapter === null ? null : map.book.resolve(chapter)
  const opening = { isTurn: false }
  if (target) return await view.goToTarget(target, opening)
  if (!locator || book.readProgress?.completed) return await view.goTo(0, 0, opening)
  const { index, anchor } = placeOfLocator(map, locator)
  await view.goTo(index, anchor, opening)
}
