/**
 * Browsers cap the height of an element: 2^31 / 64 device pixels, 11 million CSS pixels at a density of 3. 100,000 books in two columns need
 * 15 million, so the area that scrolls is smaller than its content from here on. In CSS pixels.
 */
export const AREA_MAX = 8_000_000
/** Near its ends the area has the scale of the content, so that wheel and fingers reach both ends exactly. In CSS pixels. */
const EXACT_ENDS = 100_000

/** Heights in CSS pixels. */
export interface ScrollArea {
  /** Of all rows. */
  content: number
  /** Of the element that scrolls. */
  area: number
  /** Of the window. */
  view: number
}

export function scrollArea(content: number, view: number): ScrollArea {
  return { content, area: Math.min(content, AREA_MAX), view }
}

/** How much further down the content is than the area says, when it was scrolled to `top`: 0 at the start, all that the area lacks at the end. */
export function shiftAt(top: number, { content, area, view }: ScrollArea): number {
  const lacking = content - area
  if (lacking === 0) return 0
  const middle = area - view - 2 * EXACT_ENDS
  return lacking * Math.min(1, Math.max(0, (top - EXACT_ENDS) / middle))
}

/** The place of the area at which a place of the content is at the top of the window: the inverse of `top + shiftAt(top)`. */
export function areaTopOf(place: number, whole: ScrollArea): number {
  const { content, area, view } = whole
  const top = Math.max(0, Math.min(place, content - view))
  const lacking = content - area
  if (lacking === 0 || top <= EXACT_ENDS) return top
  if (top >= content - view - EXACT_ENDS) return top - lacking
  const slope = lacking / (area - view - 2 * EXACT_ENDS)
  return (top + EXACT_ENDS * slope) / (1 + slope)
}

/** A scroll further than this many windows is a drag of the scroll bar or a jump; less is a wheel, a key or a finger, which move by exact pixels. */
const JUMP_WINDOWS = 2

/** The shift after the window was scrolled from one place of the area to another. */
export function shiftAfter(shift: number, { from, to }: { from: number; to: number }, whole: ScrollArea): number {
  const { content, area, view } = whole
  if (to <= 0) return 0
  if (to >= area - view) return content - area
  return Math.abs(to - from) > JUMP_WINDOWS * view ? shiftAt(to, whole) : shift
}
