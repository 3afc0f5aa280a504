import { ratioOf } from './page-rules.ts'
import type { PageSize } from './spreads.ts'

/** Where the pages of a strip lie, in CSS pixels from its top. Sizes are known before pictures, so nothing moves when one arrives. */
export interface StripLayout {
  tops: readonly number[]
  heights: readonly number[]
  total: number
}

export function layStrip(sizes: readonly PageSize[], width: number, gap: number): StripLayout {
  const heights = sizes.map((size) => Math.round(width / ratioOf(size)))
  const tops: number[] = []
  let top = 0
  for (const height of heights) {
    tops.push(top)
    top += height + gap
  }
  return { tops, heights, total: Math.max(0, top - gap) }
}

/** The index of the page at a height of the strip; between two pages the one above. */
export function pageAt({ tops }: StripLayout, y: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] as number) <= y) low = middle
    else high = middle - 1
  }
  return low
}

/** The indexes of the pages on screen. */
export const pagesInView = (layout: StripLayout, top: number, height: number): { first: number; last: number } => ({
  first: pageAt(layout, top),
  last: pageAt(layout, top + height - 1),
})

/** A place that survives another width: a page, and how far down in it. */
export interface StripAnchor {
  page: number
  /** From 0 to 1; beyond 1 in the gap below the page. */
  fraction: number
}

export function anchorAt(layout: StripLayout, y: number): StripAnchor {
  const index = pageAt(layout, y)
  return { page: index + 1, fraction: (y - (layout.tops[index] ?? 0)) / (layout.heights[index] || 1) }
}

export const topOf = (layout: StripLayout, { page, fraction }: StripAnchor): number =>
  Math.max(0, (layout.tops[page - 1] ?? layout.total) + fraction * (layout.heights[page - 1] ?? 0))

/** The page that counts as read: the one a third down the screen, and at the end of the strip the last. */
export function stripPage(layout: StripLayout, top: number, height: number): number {
  if (top + height >= layout.total - 2) return layout.tops.length
  return pageAt(layout, top + height / 3) + 1
}
