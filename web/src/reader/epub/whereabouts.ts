import { useMemo } from 'react'
import { readerTexts } from '#texts/reader.ts'
import { percentLabel } from '../shared/labels.ts'
import type { TextTarget } from './text-book.ts'
import { type BookMap, isBookEnd } from './text-locator.ts'
import { type ContentsEntry, positionAt, type TextPosition, totalOf } from './text-map.ts'
import type { ShownPlace } from './text-view.ts'

/** Where the reader is, in words. */
export interface Whereabouts {
  /** Of the chapter in the order of reading. */
  index: number
  /** Of the whole book, from 0 to 1. */
  total: number
  page: number
  pages: number
  pageWords: string
  percent: string
  /** The title of the last entry of the contents before this place; '' before the first. */
  chapter: string
  /** Its index in the contents; -1 before the first. */
  entry: number
  hasNext: boolean
  /** Positions to the end of the book, and to the next chapter of the contents; null without contents. */
  ahead: { book: number; chapter: number | null }
}

/** The positions of the server's list. */
export const positionsOf = ({ positions }: { positions: TextPosition[] }): TextPosition[] => positions

interface Options {
  map: BookMap
  contents: readonly ContentsEntry[]
  place: ShownPlace | null
}

export function useWhereabouts({ map, contents, place }: Options): Whereabouts {
  const targets = useMemo(() => contents.map(({ href }) => map.book.resolve(href)), [contents, map])
  return useMemo(() => {
    const total = place ? (isBookEnd(map.book, place) ? 1 : totalOf(map.spans, place)) : 0
    const page = positionAt(total, Math.max(1, map.count))
    const entry = place ? targets.findLastIndex((target) => target !== null && isReached(target, place)) : -1
    return {
      ...{ total, page, entry, index: place?.index ?? 0 },
      pages: map.count,
      pageWords: map.count > 0 ? readerTexts.pageOf({ page, total: map.count }) : '',
      percent: percentLabel(total),
      chapter: contents[entry]?.title ?? '',
      hasNext: (place?.index ?? 0) < map.book.sections.length - 1,
      ahead: { book: (1 - total) * map.count, chapter: place && chapterAhead(targets, { map, place, total }) },
    }
  }, [map, contents, targets, place])
}

function chapterAhead(
  targets: readonly (TextTarget | null)[],
  { map, place, total }: { map: BookMap; place: ShownPlace; total: number },
): number | null {
  if (targets.length === 0) return null
  // Where in a file an entry begins is not known before the file is laid out.
  const next = Math.min(...targets.map((target) => (target && target.index > place.index ? target.index : map.spans.length)))
  return Math.max(0, (map.spans[next]?.start ?? 1) - total) * map.count
}

/** The title of a chapter: of the last entry of the contents that leads into it or before it. */
export function chapterTitle(contents: readonly ContentsEntry[], { map, index }: { map: BookMap; index: number }): string {
  const entry = contents.findLast(({ href, depth }) => depth === 0 && (map.book.resolve(href)?.index ?? Number.POSITIVE_INFINITY) <= index)
  return entry?.title ?? readerTexts.untitled()
}

function isReached({ index, fragment }: { index: number; fragment: string }, place: ShownPlace): boolean {
  if (index !== place.index || fragment === '') return index <= place.index
  const element = place.doc?.getElementById(fragment)
  if (!element || !place.range) return false
  // The heading on screen counts, not only those above.
  return place.range.comparePoint(element, 0) <= 0
}
