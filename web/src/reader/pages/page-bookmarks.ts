import type { Annotation, AnnotationLocator } from '../shared/bookmarks-api.ts'
import { type Bookmarks, useBookmarks } from '../shared/use-bookmarks.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

/** Bookmarks of pages. */
export interface PageBookmarks {
  pages: ReadonlySet<number>
  isHere: boolean
  toggle(): void
  refused: string | null
}

const pageOf = ({ locator }: Annotation): number => locator.locations?.position ?? 0

const locatorOf = (page: number): AnnotationLocator => ({ href: `pages/${page}`, type: 'image/*', locations: { position: page } })

export function usePageBookmarks({ book }: OpenedPages, view: PageView): PageBookmarks {
  const { list, toggle, refused }: Bookmarks = useBookmarks(book.id)
  const here = list.filter((bookmark) => view.pagesShown.includes(pageOf(bookmark)))
  return {
    pages: new Set(list.map(pageOf)),
    isHere: here.length > 0,
    toggle: () => toggle(here, locatorOf(view.page)),
    refused,
  }
}
