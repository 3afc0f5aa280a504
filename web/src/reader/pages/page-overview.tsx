import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { pageAddress } from './page-source.ts'
import { isWide } from './spreads.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

interface OverviewProps {
  opened: OpenedPages
  view: PageView
  bookmarked: ReadonlySet<number>
  onClose(): void
}

/** The smallest width that the server makes. */
const THUMB_WIDTH = 320

/** All pages as small pictures; the browser loads those near the screen. */
export function PageOverview({ opened: { book, pages }, view, bookmarked, onClose }: OverviewProps) {
  const current = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'center' })
    current.current?.focus({ preventScroll: true })
  }, [])
  const choose = (page: number) => {
    view.goToPage(page)
    onClose()
  }
  return (
    <section className="overview" aria-label={readerTexts.allPagesTitle()}>
      <header>
        <h2>{readerTexts.allPagesTitle()}</h2>
        <span>{pages.length}</span>
        <div className="end">
          <button type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={onClose}>
            <Icon of={X} />
          </button>
        </div>
      </header>
      <div className="rscroll">
        <ol className="thumbs" dir={view.direction === 'rtl' ? 'rtl' : 'ltr'}>
          {pages.map((page) => {
            const isShown = view.pagesShown.includes(page.pageNumber)
            return (
              <li key={page.pageNumber}>
                <button
                  type="button"
                  ref={isShown ? current : undefined}
                  className={isWide(page) ? 'thumb wide' : 'thumb'}
                  aria-current={isShown || undefined}
                  aria-label={nameOf(page.pageNumber, bookmarked)}
                  onClick={() => choose(page.pageNumber)}
                >
                  {bookmarked.has(page.pageNumber) && <span className="flag" />}
                  <span className="pic">
                    <img loading="lazy" src={pageAddress(book.id, book.fileHash, { page: page.pageNumber, width: THUMB_WIDTH })} alt="" />
                  </span>
                  {page.pageNumber}
                </button>
              </li>
            )
          })}
        </ol>
      </div>
    </section>
  )
}

const nameOf = (page: number, bookmarked: ReadonlySet<number>): string =>
  bookmarked.has(page) ? readerTexts.bookmarkedPage({ page }) : readerTexts.page({ page })
