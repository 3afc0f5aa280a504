import { useMemo, useState } from 'react'
import type { OpenedBook } from '../open-book.ts'
import type { Size } from '../shared/use-size.ts'
import { type Direction, directionOf, type Layout, layoutByScreen } from './page-rules.ts'
import type { PageSettings } from './page-settings.ts'
import { type SentPage, turnedTo } from './page-turns.ts'
import { type PagePart, pagesOf, planSpreads, recordedPage, type Spread, spreadOf } from './spreads.ts'

export type OpenedPages = Extract<OpenedBook, { kind: 'pages' }>

/** What of a book is shown, and how to move in it. */
export interface PageView {
  direction: Direction
  layout: Layout
  spreads: readonly Spread[]
  /** Of the spread on screen; in a strip, of the page that counts as read. */
  index: number
  pagesShown: readonly number[]
  /** The page that counts as read. */
  page: number
  /** What to record: where the last turn led. Null before the first: opening a book is none, nor is another layout or size of the screen. */
  lastTurn: SentPage | null
  isLast: boolean
  /** Whether the reader went on from the last page. */
  isEnded: boolean
  goToSpread(index: number): void
  goToPage(page: number): void
  /** @returns whether there was a spread to go to */
  turn(by: 1 | -1): boolean
  stayAtEnd(): void
  /** What was turned so far does not count: the book is as if it were opened at this page. */
  forgetTurns(): void
}

/** Where reading goes on: where it stopped, or at the beginning of a finished book. @param asked a page of the address of this reader */
export function startPage({ book, pages }: OpenedPages, asked: string | null): number {
  const number = Number(asked)
  const isPage = (page: number) => Number.isInteger(page) && page >= 1 && page <= pages.length
  if (asked !== null && isPage(number)) return number
  const { readProgress } = book
  return readProgress && !readProgress.completed && isPage(readProgress.currentPage) ? readProgress.currentPage : 1
}

interface Options {
  settings: PageSettings
  screen: Size | null
  /** From 1. */
  start: number
}

export function usePageView({ book, pages }: OpenedPages, { settings, screen, start }: Options): PageView {
  const direction = settings.direction === 'record' ? directionOf(book.readingDirection) : settings.direction
  const layout =
    settings.layout === 'screen'
      ? layoutByScreen(screen ?? { width: 1, height: 1 }, settings.direction === 'record' ? book.readingDirection : direction)
      : settings.layout
  const spreads = useMemo(
    () =>
      planSpreads(pages, {
        isDouble: layout === 'double',
        coverAlone: settings.coverAlone,
        // Halves of a page that lies on its side are not known to be pages.
        splitsWide: layout === 'single' && settings.wide === 'split' && settings.rotation === '0',
      }),
    [pages, layout, settings.coverAlone, settings.wide, settings.rotation],
  )
  const [place, setPlace] = useState<PagePart>({ page: start, half: 'whole' })
  const [lastTurn, setLastTurn] = useState<SentPage | null>(null)
  const [isEnded, setIsEnded] = useState(false)
  const index = indexOf(spreads, place)
  const countTurn = (to: number) => setLastTurn((before) => turnedTo(before, recordedPage(spreads, to), pages.length))
  const goToSpread = (asked: number) => {
    const to = Math.min(spreads.length - 1, Math.max(0, asked))
    const part = spreads[to]?.[0]
    setIsEnded(false)
    if (!part) return
    setPlace(part)
    countTurn(to)
  }
  const isLast = index === spreads.length - 1
  return {
    ...{ direction, layout, spreads, index, isLast, isEnded, lastTurn, goToSpread },
    pagesShown: pagesOf(spreads[index]),
    page: recordedPage(spreads, index),
    goToPage: (page) => goToSpread(spreadOf(spreads, page)),
    turn: (by) => {
      const to = index + by
      if (to >= 0 && to < spreads.length) goToSpread(to)
      else setIsEnded(to > 0)
      // Who opened the book at its end has read it once they go on.
      if (to === spreads.length) countTurn(index)
      return to >= 0 && to < spreads.length
    },
    stayAtEnd: () => setIsEnded(false),
    forgetTurns: () => setLastTurn(null),
  }
}

function indexOf(spreads: readonly Spread[], place: PagePart): number {
  const exact = spreads.findIndex((spread) => spread.some(({ page, half }) => page === place.page && half === place.half))
  return exact === -1 ? spreadOf(spreads, place.page) : exact
}
