/** Pixels of a page; null where the server could not read them, as of a damaged page. */
export interface PageSize {
  width: number | null
  height: number | null
}

/** What is shown of a page, numbered from 1: the whole, or a half of a wide page in the order of reading. */
export interface PagePart {
  page: number
  half: 'whole' | 'first' | 'second'
}

/** The parts that stand side by side, in the order of reading: one or two. */
export type Spread = readonly PagePart[]

export interface SpreadOptions {
  isDouble: boolean
  /** Whether the first page stands alone and pairs begin at 2 and 3. */
  coverAlone: boolean
  /** Whether wide pages become two halves, one after the other; only without pairs, which have room for a wide page. */
  splitsWide: boolean
}

/** Whether a page is a double page in one picture. Pages of unknown size count as upright. */
export const isWide = ({ width, height }: PageSize): boolean => width !== null && height !== null && width > height

/** All spreads of a book. A wide page stands alone; so does a page before one, and pairs begin anew after it. */
export function planSpreads(sizes: readonly PageSize[], { isDouble, coverAlone, splitsWide }: SpreadOptions): Spread[] {
  const spreads: Spread[] = []
  for (let index = 0; index < sizes.length; index++) {
    const page = index + 1
    const size = sizes[index] as PageSize
    const next = sizes[index + 1]
    if (!isDouble && splitsWide && isWide(size)) {
      spreads.push([{ page, half: 'first' }], [{ page, half: 'second' }])
      continue
    }
    const standsAlone = !isDouble || isWide(size) || (coverAlone && page === 1) || !next || isWide(next)
    if (standsAlone) spreads.push([{ page, half: 'whole' }])
    else {
      spreads.push([
        { page, half: 'whole' },
        { page: page + 1, half: 'whole' },
      ])
      index++
    }
  }
  return spreads
}

/** The index of the first spread that shows a page; the last spread for a page beyond the end, 0 for one before 1. */
export function spreadOf(spreads: readonly Spread[], page: number): number {
  const found = spreads.findIndex((spread) => spread.some((part) => part.page >= page))
  return found === -1 ? Math.max(0, spreads.length - 1) : found
}

/** The pages of a spread, each once. */
export const pagesOf = (spread: Spread | undefined): number[] => [...new Set((spread ?? []).map(({ page }) => page))]

/** The page that is recorded while a spread is shown: its first, so that no device skips a page; at the end the last, which completes the book. */
export function recordedPage(spreads: readonly Spread[], index: number): number {
  const pages = pagesOf(spreads[index])
  return (index === spreads.length - 1 ? pages.at(-1) : pages[0]) ?? 1
}

/** "46" or "46–47". */
export function pagesLabel(spread: Spread | undefined): string {
  const pages = pagesOf(spread)
  return pages.length > 1 ? `${pages[0]}–${pages.at(-1)}` : String(pages[0] ?? '')
}
