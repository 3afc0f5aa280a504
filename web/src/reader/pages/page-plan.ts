import { pagesOf, type Spread } from './spreads.ts'

/** Decoded pages that are kept. One page of 2,000 × 3,000 pixels is 24 MB. */
export const DECODED_PAGES_MAX = 7
/** Pages that are fetched and decoded before they are shown. */
const PAGES_AHEAD = 2
const PAGES_BEHIND = 1

/** Pages to have decoded, the most urgent first; `later`: only once all others are there. */
export interface PagePlan {
  now: readonly number[]
  later: readonly number[]
}

/**
 * What to have decoded: what is shown, two pages ahead, one behind; whole spreads, so that both pages of a pair appear together. Later more
 * ahead.
 * @param shown indexes of the spreads on screen: one, or all in view of a strip
 */
export function planPages(spreads: readonly Spread[], shown: { first: number; last: number }): PagePlan {
  // What is shown is never missing: a screen may hold more than seven low pages of a strip.
  const pages = new Set(spreads.slice(shown.first, shown.last + 1).flatMap(pagesOf))
  const addUntil = (from: number, step: 1 | -1, goal: number) => {
    for (let index = from; index >= 0 && index < spreads.length && pages.size < goal; index += step)
      for (const page of pagesOf(spreads[index])) if (pages.size < DECODED_PAGES_MAX) pages.add(page)
  }
  addUntil(shown.last + 1, 1, Math.min(DECODED_PAGES_MAX, pages.size + PAGES_AHEAD))
  addUntil(shown.first - 1, -1, Math.min(DECODED_PAGES_MAX, pages.size + PAGES_BEHIND))
  const urgent = pages.size
  addUntil(shown.last + 1, 1, DECODED_PAGES_MAX)
  const all = [...pages]
  return { now: all.slice(0, urgent), later: all.slice(urgent) }
}

/** The widths that the server makes; it never enlarges. */
const WIDTHS = [320, 480, 640, 960, 1280, 1600, 2000] as const
const WIDEST = 2000

/**
 * The width to request, in pixels; undefined for the page as it is in the file.
 * @param request.shownWidth CSS pixels at the present zoom
 * @param request.isPdf pages of PDFs are drawn by the server; it draws none wider than 2,000
 */
export function choosePageWidth(request: {
  shownWidth: number
  density: number
  pageWidth: number | null
  isPdf: boolean
}): number | undefined {
  const needed = request.shownWidth * request.density
  // Never smaller than its place: lines of ink become soft when a picture is enlarged, be it by a hundredth.
  const width = WIDTHS.find((known) => known >= needed)
  if (request.isPdf) return width ?? WIDEST
  if (width === undefined || (request.pageWidth !== null && request.pageWidth <= width)) return undefined
  return width
}
