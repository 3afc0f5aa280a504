import { type KeyboardEvent, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import style from './browse.module.css'
import type { RowLayout } from './row-layout.ts'
import type { RowWindow } from './use-row-window.ts'

/** What keys select. */
export interface RowSelection {
  isOn: boolean
  isSelected: (index: number) => boolean
  /** @param isRange everything from the one selected before */
  pick: (index: number, isRange: boolean) => void
  extend: (from: number, to: number) => void
}

interface VirtualRowsProps {
  label: string
  /** Of items. */
  count: number
  layout: RowLayout
  rows: RowWindow
  /** The item that Tab reaches; arrows move from there. */
  active: number
  onActive: (index: number) => void
  /** Heads of columns, as a row of its own. */
  head?: ReactNode
  selection: RowSelection
  /** @param tabIndex for the link of the item */
  renderItem: (index: number, tabIndex: 0 | -1) => ReactNode
}

/** Rows of a list of any length: those near the window are in the document. One stop of Tab; arrows, Home, End and page keys move inside. */
export function VirtualRows({ label, count, layout, rows, active, onActive, head, selection, renderItem }: VirtualRowsProps) {
  const { columns, rowHeight } = layout
  const { box, seen, height, scrollToRow } = rows
  const [wantsFocus, setWantsFocus] = useState<number | null>(null)
  const grid = useRef<HTMLDivElement>(null)
  const activeRow = Math.floor(active / columns)
  useFocusOf(wantsFocus, grid, () => setWantsFocus(null))
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === ' ' && (event.target as HTMLElement).matches('a, [role="gridcell"]')) {
      event.preventDefault()
      return selection.pick(active, event.shiftKey)
    }
    const to = nextIndex(event, { active, count, columns, pageRows: Math.max(1, Math.floor(innerHeight / rowHeight) - 1) })
    if (to === null) return
    event.preventDefault()
    scrollToRow(Math.floor(to / columns), 'near')
    if (event.shiftKey) selection.extend(active, to)
    onActive(to)
    setWantsFocus(to)
  }
  // The row with the focus stays in the document when it leaves the window, or the focus would be lost.
  const shown = rowsShown(seen, Math.ceil(count / columns), activeRow)
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows that are placed by hand are no table
    <div
      ref={grid}
      role="grid"
      aria-label={label}
      aria-rowcount={Math.ceil(count / columns) + (head ? 1 : 0)}
      aria-colcount={columns}
      aria-multiselectable="true"
      className={selection.isOn ? 'picking' : undefined}
      onKeyDown={onKeyDown}
    >
      {head}
      <div ref={box} role="presentation" className={style['area']} style={{ blockSize: height }}>
        {shown.map((row) => (
          <Row
            key={row}
            row={row}
            count={count}
            layout={layout}
            shift={seen.shift}
            ariaIndex={row + 1 + (head ? 1 : 0)}
            {...{ active, onActive, selection, renderItem }}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps extends Pick<VirtualRowsProps, 'count' | 'layout' | 'active' | 'onActive' | 'selection' | 'renderItem'> {
  row: number
  shift: number
  ariaIndex: number
}

function Row({ row, count, layout: { columns, rowHeight, gap }, shift, ariaIndex, active, onActive, selection, renderItem }: RowProps) {
  const place = {
    transform: `translateY(${row * rowHeight - shift}px)`,
    gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
    columnGap: gap,
    blockSize: rowHeight,
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows that are placed by hand are no table
    <div role="row" aria-rowindex={ariaIndex} tabIndex={-1} className={style['row']} style={place}>
      {itemsOf(row, columns, count).map((index) => (
        // biome-ignore lint/a11y/useSemanticElements: the same
        <div
          key={index}
          role="gridcell"
          data-index={index}
          aria-selected={selection.isSelected(index)}
          tabIndex={-1}
          className={style['cell']}
          onFocus={() => index !== active && onActive(index)}
        >
          {renderItem(index, index === active ? 0 : -1)}
        </div>
      ))}
    </div>
  )
}

/** Moves the focus to an item; to its empty place while its record is still on the way. */
function useFocusOf(index: number | null, grid: RefObject<HTMLDivElement | null>, onDone: () => void): void {
  useLayoutEffect(() => {
    if (index === null) return
    const cell = grid.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)
    const link = cell?.querySelector<HTMLElement>('a')
    const target = link ?? cell
    target?.focus({ preventScroll: true })
    if (link) onDone()
  })
}

function rowsShown({ first, last }: { first: number; last: number }, rowCount: number, activeRow: number): number[] {
  const rows = Array.from({ length: Math.max(0, Math.min(last, rowCount - 1) - first + 1) }, (_, index) => first + index)
  if (rows.length > 0 && activeRow < rowCount && !rows.includes(activeRow)) rows.push(activeRow)
  return rows
}

function itemsOf(row: number, columns: number, count: number): number[] {
  return Array.from({ length: Math.min(columns, count - row * columns) }, (_, column) => row * columns + column)
}

interface Moving {
  active: number
  count: number
  columns: number
  pageRows: number
}

function nextIndex(event: KeyboardEvent<HTMLElement>, { active, count, columns, pageRows }: Moving): number | null {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.target as HTMLElement).closest('[role="gridcell"]')) return null
  const isRightToLeft = getComputedStyle(event.currentTarget).direction === 'rtl'
  const by: Record<string, number> = {
    ArrowRight: isRightToLeft ? -1 : 1,
    ArrowLeft: isRightToLeft ? 1 : -1,
    ArrowDown: columns,
    ArrowUp: -columns,
    PageDown: columns * pageRows,
    PageUp: -columns * pageRows,
    Home: -active,
    End: count - 1 - active,
  }
  const step = by[event.key]
  if (step === undefined) return null
  const to = active + step
  if (event.key === 'ArrowUp' && to < 0) return null
  return Math.max(0, Math.min(count - 1, to))
}
