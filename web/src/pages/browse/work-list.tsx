import { SearchX } from 'lucide-react'
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { chosenDensity } from '#parts/density.ts'
import { CardBones } from '#parts/loading.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import { type BrowseView, type RowLayout, rowLayout } from './row-layout.ts'
import selectionStyle from './selection/selection.module.css'
import { SelectionBar } from './selection/selection-bar.tsx'
import { type UsedSelection, useSelection } from './selection/use-selection.ts'
import { columnsThatFit, readColumns, templateOf } from './table/columns.tsx'
import { TableHead } from './table/table-head.tsx'
import { useKeptPlace } from './use-kept-place.ts'
import { type ListSource, useListPages } from './use-list-pages.ts'
import { type RowWindow, useRowWindow } from './use-row-window.ts'
import { VirtualRows } from './virtual-rows.tsx'
import { type Work, WorkItem } from './work-item.tsx'

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
  const focusList = () => box.current?.querySelector<HTMLElement>('[role="gridcell"] a[tabindex="0"]')?.focus({ preventScroll: true })
  return (
    <div ref={box} className={rail ? style['with-letters'] : undefined}>
      <div ref={setRoom} className={size === 0 && view === 'grid' ? style['small'] : undefined}>
        {pages.error && <Failure error={pages.error} onRetry={pages.retry} />}
        {count === 0 && <Bones view={view} layout={layout} />}
        {layout.rowHeight > 0 && count > 0 && (
          <Rows
            {...{ label, count, layout, room, rows, view, isBooks, isInSeries, table, selection }}
            recordAt={pages.recordAt}
            active={Math.min(active, count - 1)}
            onActive={setActive}
          />
        )}
        {isPicking && <div className={selectionStyle['room']} />}
        {isPicking && <SelectionBar selection={selection} isBooks={isBooks} onEnd={focusList} />}
      </div>
      {count > 0 && rail?.(rows.seen.top * layout.columns, jump)}
    </div>
  )
}

interface RowsProps extends Pick<WorkListProps, 'label' | 'view' | 'isBooks' | 'isInSeries' | 'table'> {
  count: number
  layout: RowLayout
  /** Width of the list, in rem. */
  room: number
  rows: RowWindow
  selection: UsedSelection
  recordAt: (index: number) => Work | undefined
  active: number
  onActive: (index: number) => void
}

function Rows({ view, isBooks, isInSeries = false, table, room, selection, recordAt, ...rest }: RowsProps) {
  const { count, layout } = rest
  const kind = isBooks ? 'books' : 'series'
  const columns = columnsThatFit(kind, table?.columns ?? readColumns(kind, null), room)
  const template = templateOf(columns, room)
  const isPicking = selection.count > 0
  const isSelected = (index: number) => {
    const record = recordAt(index)
    return record !== undefined && selection.has(record.id)
  }
  const pick = (index: number, isRange: boolean) => {
    const record = recordAt(index)
    if (record) selection.pick(index, record.id, isRange)
  }
  const head = view === 'table' && (
    <TableHead
      {...{ kind, columns, template }}
      sort={table?.sort ?? ''}
      onSort={table?.onSort ?? (() => {})}
      selected={selection.count === count ? 'all' : isPicking ? 'some' : 'none'}
      onSelect={(isAll) => (isAll ? selection.selectAll() : selection.clear())}
    />
  )
  return (
    <VirtualRows
      {...rest}
      head={head}
      selection={{ isOn: isPicking, isSelected, pick, extend: selection.extend }}
      renderItem={(index, tabIndex) => (
        <WorkItem
          record={recordAt(index)}
          {...{ view, columns, template, isInSeries, tabIndex }}
          width={layout.coverWidth}
          pick={{ isPicking, isPicked: isSelected(index), onPick: (isRange) => pick(index, isRange) }}
        />
      )}
    />
  )
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
    const given = { width, windowWidth: innerWidth, textScale: rem / 16, density: chosenDensity() }
    return { setRoom, layout: rowLayout(view, size, given), room: width / rem }
  }, [view, size, width])
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
