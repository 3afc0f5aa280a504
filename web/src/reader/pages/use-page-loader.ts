import { useEffect, useState, useSyncExternalStore } from 'react'
import { useReturn } from '../shared/use-return.ts'
import { PageLoader, type PageState } from './page-loader.ts'
import { choosePageWidth, planPages } from './page-plan.ts'
import { pageSourceOf } from './page-source.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

export interface ShownPages {
  /** Indexes of the spreads on screen. */
  first: number
  last: number
  /** CSS pixels across which a page is shown, zoom included. */
  widthOf(page: number): number
}

/** Loads what is on screen and around it. */
export function usePageLoader({ book }: OpenedPages): PageLoader {
  const [loader] = useState(() => new PageLoader(pageSourceOf(book.id, book.fileHash)))
  useEffect(() => () => loader.close(), [loader])
  useReturn(() => loader.retryAll())
  return loader
}

/** Tells the loader what is on screen. `screen` null: nothing yet. */
export function useWantedPages(
  loader: PageLoader,
  { book, pages }: OpenedPages,
  { view, shown }: { view: PageView; shown: ShownPages | null },
): void {
  useEffect(() => {
    if (!shown) return
    const widthOf = (page: number) =>
      choosePageWidth({
        shownWidth: shown.widthOf(page),
        density: devicePixelRatio,
        pageWidth: pages[page - 1]?.width ?? null,
        isPdf: book.fileFormat === 'pdf',
      })
    const { now, later } = planPages(view.spreads, shown)
    const wanted = [...now, ...later].map((page) => ({ page, width: widthOf(page) }))
    loader.want(wanted, now.length)
  }, [loader, book, pages, view.spreads, shown])
}

/** What there is of a page; follows its loading. */
export const usePageState = (loader: PageLoader, page: number): PageState =>
  useSyncExternalStore(loader.subscribe, () => loader.stateOf(page))
