/** A chapter in the order of reading, as a part of the whole book: both from 0 to 1. */
export interface ChapterSpan {
  start: number
  length: number
}

/** A position of the server's list: a page of about a thousand letters. */
export interface TextPosition {
  href: string
  locations?: { position?: number; totalProgression?: number } | undefined
}

/**
 * How the chapters share the book, by the server's positions.
 * @param hrefs of the chapters, in order; chapters without a position have no length
 */
export function spanChapters(hrefs: readonly string[], positions: readonly TextPosition[]): ChapterSpan[] {
  const counts = hrefs.map((href) => positions.filter((position) => position.href === href).length)
  const total = counts.reduce((sum, count) => sum + count, 0)
  let before = 0
  return counts.map((count) => {
    const span = total > 0 ? { start: before / total, length: count / total } : { start: 0, length: 1 / Math.max(1, hrefs.length) }
    before += count
    return span
  })
}

/** How far in the book a place in a chapter is. @param fraction in the chapter, from 0 to 1 */
export function totalOf(spans: readonly ChapterSpan[], { index, fraction }: { index: number; fraction: number }): number {
  const span = spans[index]
  return span ? Math.min(1, span.start + Math.min(1, Math.max(0, fraction)) * span.length) : 0
}

/** The place that is so far in the book. */
export function placeOf(spans: readonly ChapterSpan[], total: number): { index: number; fraction: number } {
  const after = spans.findIndex(({ start, length }) => length > 0 && total < start + length)
  const index = after === -1 ? Math.max(0, spans.length - 1) : after
  const span = spans[index]
  return { index, fraction: span && span.length > 0 ? Math.min(1, Math.max(0, (total - span.start) / span.length)) : 0 }
}

/** Browsers round places, and margins below a text are no part of it: so much of a chapter may be missing where it ends. */
const END_MISSING_MAX = 0.01
/** But no more than this part of a screen: in a long chapter, a hundredth is many screens. */
const END_SCREEN_MAX = 0.1

/** Whether a screen shows the end of its chapter. @param fraction of the chapter before the screen @param seen the part of it on the screen */
export const showsEnd = ({ fraction, seen }: { fraction: number; seen: number }): boolean =>
  fraction + seen >= 1 - Math.min(END_MISSING_MAX, END_SCREEN_MAX * seen)

/** The position at so much of the book, from 1. @param count of positions */
export const positionAt = (total: number, count: number): number => Math.min(count, Math.floor(total * count) + 1)

/** An entry of the contents, at its depth. */
export interface ContentsEntry {
  title: string
  href: string
  depth: number
}

interface Link {
  href: string
  title?: string | undefined
  children?: unknown[] | undefined
}

/** Deeper entries have no room to move in. */
const DEPTH_MAX = 6

/** The contents as one list. Hostile books nest them any deep. */
export function flattenContents(links: readonly Link[], untitled: string): ContentsEntry[] {
  const entries: ContentsEntry[] = []
  const waiting = links.map((link) => ({ link, depth: 0 })).reverse()
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { link, depth } = next
    entries.push({ title: link.title || untitled, href: link.href, depth: Math.min(DEPTH_MAX, depth) })
    for (const child of (link.children ?? []).toReversed()) waiting.push({ link: child as Link, depth: depth + 1 })
  }
  return entries
}
