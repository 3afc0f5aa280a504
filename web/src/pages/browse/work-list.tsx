import { SearchX } from 'lucide-react'
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import { CardBones } from '#parts/loading.tsx'
import { currentEntry, keepPlace, placeToRestore } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { BookCard, SeriesCard } from '#parts/works/card.tsx'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import { entryOfBook, entryOfSeries, ListEntry, TableEntry, TableHead } from './entry.tsx'
import { type BrowseView, type RowLayout, rowLayout } from './row-layout.ts'
import { type ListSource, useListPages } from './use-list-pages.ts'
import { useRowWindow } from './use-row-window.ts'
import { VirtualRows } from './virtual-rows.tsx'

type Work = BookRecord | SeriesRecord

interface WorkListProps {
  label: string
  source: ListSource<Work>
  view: BrowseView
  size: number
  isBooks: boolean
  /** All books are of one series: its name is not repeated. */
  isInSeries?: boolean
  /** What an empty list says. */
  empty: ReactNode
  onTotal?: (total: number | null) => void
  /** Beside the list, with where it is and how to go elsewhere. */
  rail?: (topIndex: number, jump: (index: number) => void) => ReactNode
}

/** The bar at the top, and the bar that phones have at the foot, in CSS pixels. */
const COVERED = { top: 64, bottom: 64 }
const BONES = 24

/** A list of any length that scrolls as one page, and is found again where it was left. */
export function WorkList({ label, source, view, size, isBooks, isInSeries = false, empty, onTotal, rail }: WorkListProps) {
  const { setRoom, layout } = useRowLayout(view, size)
  const [known, setKnown] = useState({ name: '', total: 0 })
  const name = JSON.stringify(source.key)
  const count = known.name === name ? known.total : 0
  const rows = useRowWindow({ count: Math.ceil(count / layout.columns), height: layout.rowHeight, covered: COVERED })
  const first = rows.seen.first * layout.columns
  const last = Math.max(first, (rows.seen.last + 1) * layout.columns - 1)
  const pages = useListPages(source, first, Math.min(last, Math.max(0, count - 1)))
  const { active, setActive } = useKeptPlace({ count, layout, rows })
  useLayoutEffect(() => {
    if (pages.total !== null) setKnown({ name, total: pages.total })
    onTotal?.(pages.total)
  }, [name, pages.total, onTotal])

  if (pages.error && count === 0) return <Failure error={pages.error} onRetry={pages.retry} />
  if (pages.total === 0) return empty
  const jump = (index: number) => {
    rows.scrollToRow(Math.floor(index / layout.columns))
    setActive(index)
  }
  return (
    <div className={rail ? style['with-letters'] : undefined}>
      <div ref={setRoom} className={size === 0 && view === 'grid' ? style['small'] : undefined}>
        {pages.error && <Failure error={pages.error} onRetry={pages.retry} />}
        {count === 0 && <Bones view={view} layout={layout} />}
        {layout.rowHeight > 0 && count > 0 && (
          <VirtualRows
            label={label}
            count={count}
            layout={layout}
            rows={rows}
            active={Math.min(active, count - 1)}
            onActive={setActive}
            head={view === 'table' && <TableHead isBooks={isBooks} />}
            renderItem={(index, tabIndex) => (
              <Item record={pages.recordAt(index)} view={view} width={layout.coverWidth} isInSeries={isInSeries} tabIndex={tabIndex} />
            )}
          />
        )}
      </div>
      {count > 0 && rail?.(rows.seen.top * layout.columns, jump)}
    </div>
  )
}

interface ItemProps {
  record: Work | undefined
  view: BrowseView
  width: number
  isInSeries: boolean
  tabIndex: 0 | -1
}

function Item({ record, view, width, isInSeries, tabIndex }: ItemProps) {
  if (!record) return <Waiting view={view} />
  const isBook = 'seriesName' in record
  if (view === 'grid')
    return isBook ? (
      <BookCard book={record} width={width} isInSeries={isInSeries} level={isInSeries ? 3 : 2} tabIndex={tabIndex} />
    ) : (
      <SeriesCard series={record} width={width} level={2} tabIndex={tabIndex} />
    )
  const entry = isBook ? entryOfBook(record, isInSeries) : entryOfSeries(record)
  return view === 'list' ? <ListEntry entry={entry} tabIndex={tabIndex} /> : <TableEntry entry={entry} tabIndex={tabIndex} />
}

function Waiting({ view }: { view: BrowseView }) {
  if (view === 'grid')
    return (
      <div className="card" aria-hidden="true">
        <span className="cover" />
      </div>
    )
  return <div className={style['entry']} aria-hidden="true" />
}

/** The shape of what comes, before the first answer. */
function Bones({ view, layout }: { view: BrowseView; layout: RowLayout }) {
  if (view !== 'grid') return null
  return (
    <ul className="grid" aria-hidden="true" style={{ ['--cover' as string]: `${Math.floor(layout.coverWidth)}px` }}>
      <CardBones count={BONES} />
    </ul>
  )
}

/** Measures the room of the list. */
function useRowLayout(view: BrowseView, size: number) {
  const [room, setRoom] = useState<HTMLElement | null>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    if (!room) return
    const measure = () => setWidth(room.clientWidth)
    measure()
    const sizes = new ResizeObserver(measure)
    sizes.observe(room)
    return () => sizes.disconnect()
  }, [room])
  const layout = useMemo((): RowLayout => {
    if (width === 0) return { columns: 1, coverWidth: 0, rowHeight: 0, gap: 0 }
    const textScale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
    return rowLayout(view, size, { width, windowWidth: innerWidth, textScale })
  }, [view, size, width])
  return { setRoom, layout }
}

interface KeptPlaceOf {
  count: number
  layout: RowLayout
  rows: ReturnType<typeof useRowWindow>
}

/** A list that is only shown in another way is the same list. */
function addressOfList(path: string, search: string): string {
  const said = new URLSearchParams(search)
  for (const name of ['view', 'size']) said.delete(name)
  return `${path}?${said}`
}

/** The item that has the focus, and the one at the top: kept for this address, restored on the way back and when the columns change. */
function useKeptPlace({ count, layout, rows }: KeptPlaceOf) {
  const address = addressOfList(useLocation()[0], useSearch())
  const [active, setActive] = useState(0)
  const top = useRef(0)
  const ready = useRef<{ address: string; columns: number } | null>(null)
  const isReady = count > 0 && layout.rowHeight > 0
  const { scrollToRow, seen } = rows
  useLayoutEffect(() => {
    if (!isReady) return
    const last = ready.current
    ready.current = { address, columns: layout.columns }
    if (last?.address !== address) {
      const kept = placeToRestore(currentEntry())
      top.current = kept?.top ?? 0
      setActive(kept?.active ?? 0)
      if (kept && kept.top > 0) scrollToRow(Math.floor(kept.top / layout.columns))
      else scrollTo({ top: 0, behavior: 'instant' })
    } else if (last.columns !== layout.columns && top.current > 0) scrollToRow(Math.floor(top.current / layout.columns))
  }, [isReady, address, layout.columns, scrollToRow])
  useEffect(() => {
    if (!isReady || ready.current?.columns !== layout.columns) return
    top.current = seen.top * layout.columns
    keepPlace(currentEntry(), { top: top.current, active })
  }, [isReady, address, seen.top, layout.columns, active])
  return { active, setActive }
}

/** Says that the filters leave nothing, and takes them away. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <Empty icon={SearchX} title={browseTexts.noneTitle()} words={browseTexts.noneWords()}>
      <button type="button" className="btn" onClick={onClear}>
        {browseTexts.clear()}
      </button>
    </Empty>
  )
}
