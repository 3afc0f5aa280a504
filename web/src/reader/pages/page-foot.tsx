import { ChevronLeft, ChevronRight } from 'lucide-react'
import { type CSSProperties, type RefObject, useState } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { TimeLeftLine } from '../shared/time-left-line.tsx'
import type { Neighbors } from '../shared/use-neighbors.ts'
import type { TimeLeft } from '../shared/use-time-left.ts'
import { readPageNumber } from './page-number.ts'
import { pageAddress } from './page-source.ts'
import { pagesLabel, pagesOf, spreadOf } from './spreads.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

interface FootProps {
  opened: OpenedPages
  view: PageView
  neighbors: Neighbors
  bookmarked: ReadonlySet<number>
  timeLeft: TimeLeft
  pageBox: RefObject<HTMLInputElement | null>
}

/** The bar below: where in the book, in the direction of reading. */
export function PageFoot({ opened, view, neighbors, bookmarked, timeLeft, pageBox }: FootProps) {
  const dir = view.direction === 'rtl' ? 'rtl' : 'ltr'
  return (
    <footer className="rbar rbar-foot" dir={dir}>
      <PageSeek opened={opened} view={view} bookmarked={bookmarked} />
      <div className="rbar-row">
        {neighbors.previous ? (
          <Link className="jump" href={neighbors.previous.href} aria-label={readerTexts.previousBook({ title: neighbors.previous.title })}>
            <Icon of={ChevronLeft} flips />
            <span dir="auto">{neighbors.previous.title}</span>
          </Link>
        ) : (
          <span />
        )}
        <PageBox view={view} total={opened.pages.length} input={pageBox} />
        {neighbors.next ? (
          <Link className="jump" href={neighbors.next.href} aria-label={readerTexts.nextBook({ title: neighbors.next.title })}>
            <span dir="auto">{neighbors.next.title}</span>
            <Icon of={ChevronRight} flips />
          </Link>
        ) : (
          <span />
        )}
      </div>
      <TimeLeftLine timeLeft={timeLeft} />
    </footer>
  )
}

function PageSeek({ opened, view, bookmarked }: Pick<FootProps, 'opened' | 'view' | 'bookmarked'>) {
  // While dragged the page under the thumb is previewed; the reader goes there when the thumb is let go.
  const [dragged, setDragged] = useState<number | null>(null)
  const last = view.spreads.length - 1
  const index = dragged ?? view.index
  const at = last > 0 ? `${(index / last) * 100}%` : '100%'
  const label = pagesLabel(view.spreads[index])
  const finish = () => {
    if (dragged !== null) view.goToSpread(dragged)
    setDragged(null)
  }
  return (
    <div className="seek" style={{ '--at': at } as CSSProperties}>
      <i className="seek-fill" />
      {[...bookmarked].map((page) => (
        <i
          key={page}
          className="seek-tick is-mark"
          style={{ '--x': `${(spreadOf(view.spreads, page) / Math.max(1, last)) * 100}%` } as CSSProperties}
        />
      ))}
      {dragged !== null && <Peek opened={opened} pages={pagesOf(view.spreads[index])} label={label} />}
      <input
        type="range"
        min={0}
        max={Math.max(1, last)}
        value={index}
        disabled={last < 1}
        aria-label={readerTexts.goTo()}
        aria-valuetext={readerTexts.pageOf({ page: label, total: opened.pages.length })}
        onChange={(event) => setDragged(Number(event.target.value))}
        onPointerUp={finish}
        onKeyUp={finish}
        onBlur={finish}
      />
    </div>
  )
}

/** The smallest width that the server makes: a preview is 110 CSS pixels wide. */
const PREVIEW_WIDTH = 320

function Peek({ opened: { book }, pages, label }: { opened: OpenedPages; pages: readonly number[]; label: string }) {
  return (
    <output className="peek">
      <span className="pair">
        {pages.map((page) => (
          <img key={page} src={pageAddress(book.id, book.fileHash, { page, width: PREVIEW_WIDTH })} alt="" />
        ))}
      </span>
      <b>{label}</b>
    </output>
  )
}

function PageBox({ view, total, input }: { view: PageView; total: number; input: RefObject<HTMLInputElement | null> }) {
  const [typed, setTyped] = useState<string | null>(null)
  const go = () => {
    const page = typed === null ? null : readPageNumber(typed, total)
    if (page !== null) view.goToPage(page)
    setTyped(null)
  }
  return (
    <form
      className="pagebox"
      dir="ltr"
      onSubmit={(event) => {
        event.preventDefault()
        go()
      }}
    >
      <input
        ref={input}
        inputMode="numeric"
        aria-label={readerTexts.goTo()}
        value={typed ?? pagesLabel(view.spreads[view.index])}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={go}
      />
      <span>{readerTexts.of({ total })}</span>
    </form>
  )
}
