import { SearchX } from 'lucide-react'
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import { CardBones } from '#parts/loading.tsx'
import { currentEntry, keepPlace, placeToRestore } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { BookCard, SeriesCard } from '#parts/works/card.tsx'
import type { Pickable } from '#parts/works/pick-box.tsx'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import { entryOfBook, entryOfSeries, ListEntry, TableEntry } from './entry.tsx'
import { type BrowseView, type RowLayout, rowLayout } from './row-layout.ts'
import selectionStyle from './selection/selection.module.css'
import { SelectionBar } from './selection/selection-bar.tsx'
import { useSelection } from './selection/use-selection.ts'
import { type Column, columnsThatFit, readColumns, templateOf } from './table/columns.tsx'
import { TableHead } from './table/table-head.tsx'
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
  table?: TableLook
}

/** How a list looks as a table. */
export interface TableLook {
  columns: readonly string[]
  sort: string
  onSort: (sort: string) => void
}

/** The bar at the top, and the bars of phones and of selections at the foot, in CSS pixels. */
const COVERED = { top: 64, bottom: 64 }
const COVERED_PICKING = { top: 64, bottom: 144 }
const BONES = 24

/** A list of any length that scrolls as one page, and is found again where it was left. */
export function WorkList({ label, source, view, size, isBooks, isInSeries = false, empty, onTotal, rail, table }: WorkListProps) {
  const { setRoom, layout, room } = useRowLayout(view, size)
  const kind = isBooks ? 'books' : 'series'
  const columns = columnsThatFit(kind, table?.columns ?? readColumns(kind, null), room)
  const template = templateOf(columns, room)
  const [known, setKnown] = useState({ name: '', total: 0 })
  const name = JSON.stringify(source.key)
  const count = known.name === name ? known.total : 0
  const box = useRef<HTMLDivElement>(null)
  const selection = useSelection(source, count, box)
  const isPicking = selection.count > 0
  const covered = isPicking ? COVERED_PICKING : COVERED
  const rows = useRowWindow({ count: Math.ceil(count / layout.columns), height: layout.rowHeight, covered })
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
  const pickAt = (index: number, isRange: boolean) => {
    const id = pages.recordAt(index)?.id
    if (id !== undefined) selection.pick(index, id, isRange)
  }
  const focusList = () => box.current?.querySelector<HTMLElement>('[role="gridcell"] a[tabindex="0"]')?.focus({ preventScroll: true })
  return (
    <div ref={box} className={rail ? style['with-letters'] : undefined}>
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
            head={
              view === 'table' && (
                <TableHead
                  {...{ kind, columns, template }}
                  sort={table?.sort ?? ''}
                  onSort={table?.onSort ?? (() => {})}
                  selected={selection.count === count ? 'all' : isPicking ? 'some' : 'none'}
                  onSelect={(isAll) => (isAll ? selection.selectAll() : selection.clear())}
                />
              )
            }
            selection={{
              isOn: isPicking,
              isSelected: (index) => isSelectedAt(selection, pages.recordAt(index)),
              pick: pickAt,
              extend: selection.extend,
            }}
            renderItem={(index, tabIndex) => (
              <Item
                record={pages.recordAt(index)}
                {...{ view, columns, template }}
                width={layout.coverWidth}
                isInSeries={isInSeries}
                tabIndex={tabIndex}
                pick={{
                  isPicking,
                  isPicked: isSelectedAt(selection, pages.recordAt(index)),
                  onPick: (isRange) => pickAt(index, isRange),
                }}
              />
            )}
          />
        )}
        {isPicking && <div className={selectionStyle['room']} />}
        {isPicking && <SelectionBar selection={selection} isBooks={isBooks} onEnd={focusList} />}
      </div>
      {count > 0 && rail?.(rows.seen.top * layout.columns, jump)}
    </div>
  )
}

const isSelectedAt = (selection: { has: (id: string) => boolean }, record: Work | undefined) =>
  record !== undefined && selection.has(record.id)

interface ItemProps {
  record: Work | undefined
  view: BrowseView
  width: number
  isInSeries: boolean
  tabIndex: 0 | -1
  pick: Pickable
  columns: readonly Column<never>[]
  template: string
}

function Item({ record, view, width, isInSeries, tabIndex, pick, columns, template }: ItemProps) {
  if (!record) return <Waiting view={view} />
  const isBook = 'seriesName' in record
  if (view === 'grid')
    return isBook ? (
      <BookCard book={record} width={width} isInSeries={isInSeries} level={isInSeries ? 3 : 2} tabIndex={tabIndex} pick={pick} />
    ) : (
      <SeriesCard series={record} width={width} level={2} tabIndex={tabIndex} pick={pick} />
    )
  const entry = isBook ? entryOfBook(record, isInSeries) : entryOfSeries(record)
  return view === 'list' ? (
    <ListEntry entry={entry} tabIndex={tabIndex} pick={pick} />
  ) : (
    <TableEntry {...{ entry, tabIndex, pick, columns, template }} />
  )
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

const NO_LAYOUT: RowLayout = { columns: 1, coverWidth: 0, rowHeight: 0, gap: 0 }

/** Measures the room of the list: the layout of its rows, and its width in rem. */
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
  return useMemo(() => {
    if (width === 0) return { setRoom, layout: NO_LAYOUT, room: 0 }
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
    return { setRoom, layout: rowLayout(view, size, { width, windowWidth: innerWidth, textScale: rem / 16 }), room: width / rem }
  }, [view, size, width])
}

interface KeptPlaceOf {
  count: number
  layout: RowLayout
  rows: ReturnType<typeof useRowWindow>
}

/** A list that is only shown in another way is the same list. */
function addressOfList(path: string, search: string): string {
  const said = new URLSearchParams(search)
  for (const name of ['view', 'size', 'columns']) said.delete(name)
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
