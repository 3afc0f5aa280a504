import { useMemo } from 'react'
import type { Annotation } from '../shared/bookmarks-api.ts'
import { type Bookmarks, useBookmarks } from '../shared/use-bookmarks.ts'
import { type BookMap, locatorOf, placeOfLocator } from './text-locator.ts'
import type { ShownPlace } from './text-view.ts'

/** Bookmarks of a text. */
export interface TextBookmarks extends Omit<Bookmarks, 'toggle'> {
  isHere: boolean
  toggle(): void
}

export function useTextBookmarks(bookId: string, { map, place }: { map: BookMap; place: ShownPlace | null }): TextBookmarks {
  const { toggle, ...bookmarks } = useBookmarks(bookId)
  const here = useMemo(
    () => (place ? bookmarks.list.filter((bookmark) => isHere(bookmark, { map, place })) : []),
    [bookmarks.list, map, place],
  )
  return { ...bookmarks, isHere: here.length > 0, toggle: () => place && toggle(here, locatorOf(map, place)) }
}

function isHere({ locator }: Annotation, { map, place }: { map: BookMap; place: ShownPlace }): boolean {
  const { index, anchor } = placeOfLocator(map, locator)
  if (index !== place.index) return false
  // A fixed layout has a page for each chapter.
  if (!place.doc || !place.range) return true
  const found = anchor(place.doc)
  return typeof found !== 'number' && place.range.isPointInRange(found.startContainer, found.startOffset)
}
