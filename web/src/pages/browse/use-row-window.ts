import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { areaTopOf, type ScrollArea, scrollArea, shiftAfter, shiftAt } from './scroll-area.ts'

/** After this time without a scroll the scroll bar is set to where the content is. In milliseconds. */
const REST_MS = 150
/** Rows are kept for this part of a window above and below, so that a scroll never shows an empty place. */
const MORE_WINDOWS = 0.6

/** The rows on screen and near it. */
export interface SeenRows {
  first: number
  /** Included. */
  last: number
  /** The first row that is really seen. */
  top: number
  /** How much lower the rows stand in the content than in the area, in pixels. */
  shift: number
}

export interface RowWindow {
  box: RefObject<HTMLDivElement | null>
  seen: SeenRows
  /** Height of the area that scrolls, in pixels. */
  height: number
  /** Brings a row to the top of the window, or only as far as needed to see it. */
  scrollToRow: (row: number, how?: 'top' | 'near') => void
}

interface Rows {
  count: number
  /** In pixels. */
  height: number
  /** What the bars at the top and foot of the window cover, in pixels. */
  covered: { top: number; bottom: number }
}

const NO_ROWS: SeenRows = { first: 0, last: -1, top: 0, shift: 0 }

/** Which rows of a list of any length to show while the page scrolls. */
export function useRowWindow({ count, height, covered }: Rows): RowWindow {
  const box = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState(NO_ROWS)
  const at = useRef({ top: 0, shift: 0 })
  const whole = useCallback((): ScrollArea => scrollArea(count * height, innerHeight), [count, height])

  const look = useCallback(() => {
    if (!box.current || height === 0) return
    const to = -box.current.getBoundingClientRect().top
    const shift = shiftAfter(at.current.shift, { from: at.current.top, to }, whole())
    at.current = { top: to, shift }
    const place = to + shift
    const more = innerHeight * MORE_WINDOWS
    const row = (y: number) => Math.max(0, Math.min(count - 1, Math.floor(y / height)))
    const next = { first: row(place - more), last: row(place + innerHeight + more), top: row(place + covered.top), shift }
    setSeen((last) => (last.first === next.first && last.last === next.last && last.top === next.top && last.shift === shift ? last : next))
  }, [count, height, covered.top, whole])

  const goTo = useCallback(
    (place: number) => {
      if (!box.current) return
      const top = areaTopOf(place, whole())
      at.current = { top, shift: shiftAt(top, whole()) }
      scrollBy({ top: top + box.current.getBoundingClientRect().top, behavior: 'instant' })
      look()
    },
    [whole, look],
  )

  const scrollToRow = useCallback(
    (row: number, how: 'top' | 'near' = 'top') => {
      const { top, shift } = at.current
      const start = row * height - covered.top
      const end = (row + 1) * height - innerHeight + covered.bottom
      const place = top + shift
      if (how === 'top' || start < place) goTo(start)
      else if (end > place) goTo(end)
    },
    [height, covered.top, covered.bottom, goTo],
  )

  useLayoutEffect(look, [look])
  useEffect(() => {
    let timer = 0
    const onScroll = () => {
      look()
      clearTimeout(timer)
      timer = window.setTimeout(() => setScrollBar(at.current, whole(), goTo), REST_MS)
    }
    addEventListener('scroll', onScroll, { passive: true })
    addEventListener('resize', look)
    return () => {
      clearTimeout(timer)
      removeEventListener('scroll', onScroll)
      removeEventListener('resize', look)
    }
  }, [look, goTo, whole])

  return { box, seen, height: whole().area, scrollToRow }
}

/** Steps by exact pixels leave the scroll bar behind: it is set where the content is, which moves nothing else. */
function setScrollBar({ top, shift }: { top: number; shift: number }, whole: ScrollArea, goTo: (place: number) => void): void {
  if (top < 0 || Math.abs(shiftAt(top, whole) - shift) < 1) return
  goTo(top + shift)
}
