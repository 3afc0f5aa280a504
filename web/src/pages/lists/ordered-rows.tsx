import { ArrowDown, ArrowUp, GripVertical } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import { Cover, type CoverMark, type KnownCover } from '#parts/works/cover.tsx'
import { listTexts } from '#texts/lists.ts'
import style from './lists.module.css'
import { useDragOrder } from './use-drag-order.ts'

/** Covers of the rows, in CSS pixels. */
const COVER_WIDTH = 48

export interface OrderedRow {
  id: string
  title: string
  lang: string | undefined
  href: string
  /** Below the title. */
  words: ReactNode
  cover: { path: string | null; known: KnownCover | null; mark: CoverMark }
}

interface OrderedRowsProps {
  label: string
  rows: readonly OrderedRow[]
  /** Where reading goes on. */
  nowId?: string | undefined
  /** Null for users who may not order. */
  onMove: ((from: number, to: number) => void) | null
}

/** Works in an order that a person made, by dragging and by buttons. */
export function OrderedRows({ label, rows, nowId, onMove }: OrderedRowsProps) {
  const list = useRef<HTMLOListElement>(null)
  const { dragged, styleOf, handleOf } = useDragOrder(list, (from, to) => onMove?.(from, to))
  return (
    <ol ref={list} className={`rows ${style['list']} ${dragged === null ? '' : style['dragging']}`} aria-label={label}>
      {rows.map(({ id, title, lang, href, words, cover }, index) => (
        <li
          key={id}
          className={`row ${id === nowId ? style['now'] : ''} ${index === dragged ? style['dragged'] : ''}`}
          style={styleOf(index)}
        >
          {onMove && (
            // The buttons do the same for keyboards and screen readers.
            <span className={style['handle']} aria-hidden="true" title={listTexts.drag()} {...handleOf(index)}>
              <Icon of={GripVertical} />
            </span>
          )}
          <span className={style['number']}>{index + 1}</span>
          <Cover {...cover} title="" width={COVER_WIDTH} />
          <span className="words">
            <Link className="name clip-2" href={href} lang={lang} dir="auto" draggable={false}>
              {title}
            </Link>
            <span className="sub clip">{words}</span>
          </span>
          {onMove && <MoveButtons title={title} index={index} count={rows.length} onMove={onMove} />}
        </li>
      ))}
    </ol>
  )
}

interface MoveProps {
  title: string
  index: number
  count: number
  onMove: (from: number, to: number) => void
}

function MoveButtons({ title, index, count, onMove }: MoveProps) {
  return (
    <span className="end">
      <button
        type="button"
        className="icon-btn"
        aria-label={listTexts.up({ title })}
        disabled={index === 0}
        onClick={() => onMove(index, index - 1)}
      >
        <Icon of={ArrowUp} />
      </button>
      <button
        type="button"
        className="icon-btn"
        aria-label={listTexts.down({ title })}
        disabled={index === count - 1}
        onClick={() => onMove(index, index + 1)}
      >
        <Icon of={ArrowDown} />
      </button>
    </span>
  )
}
