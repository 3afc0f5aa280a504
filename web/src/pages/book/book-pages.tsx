import { useId, useState } from 'react'
import { Link } from 'wouter'
import type { FullBookRecord } from '#api/records.ts'
import { Cover } from '#parts/works/cover.tsx'
import { workTexts } from '#texts/works.ts'
import style from './book.module.css'

/** Pages shown at first: around where the reader is. */
const SHOWN = 18
/** Pages of books with thousands are a burden for the browser, even unseen; the reader shows them all. */
const SHOWN_MAX = 600
/** The API's smallest width of a page, in pixels. */
const WIDTH = 320

/** The pages of a comic or PDF as small pictures that lead into the reader. */
export function BookPages({ book }: { book: FullBookRecord }) {
  const id = useId()
  const [showsAll, setShowsAll] = useState(false)
  const { pageCount, fileFormat, readProgress, fileHash, analysisError } = book
  if (pageCount === 0 || fileFormat === 'epub' || analysisError) return null
  const current = readProgress && !readProgress.completed ? readProgress.currentPage : null
  const first = showsAll ? 1 : Math.max(1, Math.min((current ?? 1) - 6, pageCount - SHOWN + 1))
  const count = Math.min(showsAll ? SHOWN_MAX : SHOWN, pageCount - first + 1)
  const numbers = Array.from({ length: count }, (_, index) => first + index)
  return (
    <section className="stack" aria-labelledby={id}>
      <header className="head">
        <h2 className="section-title" id={id}>
          {workTexts.pages()} <span className="faint">{pageCount.toLocaleString('en')}</span>
        </h2>
        {!showsAll && count < pageCount && pageCount <= SHOWN_MAX && (
          <div className="end">
            <button type="button" className="btn plain" onClick={() => setShowsAll(true)}>
              {workTexts.allPages({ count: pageCount })}
            </button>
          </div>
        )}
      </header>
      <ol className={style['leaves']}>
        {numbers.map((page) => (
          <li key={page}>
            <Link
              className={style['leaf']}
              href={`/books/${book.id}/read?page=${page}`}
              aria-current={page === current ? 'true' : undefined}
            >
              <Cover
                path={`api/v1/books/${book.id}/pages/${page}?width=${WIDTH}&v=${fileHash}`}
                title={workTexts.pageUnreadable()}
                width={WIDTH}
              />
              <span aria-hidden="true">{page.toLocaleString('en')}</span>
              <span className="visually-hidden">{workTexts.pageLabel({ page })}</span>
            </Link>
          </li>
        ))}
      </ol>
    </section>
  )
}
