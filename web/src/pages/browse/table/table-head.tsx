import { ArrowDown, ArrowUp } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { browseTexts } from '#texts/browse.ts'
import { selectionTexts } from '#texts/selection.ts'
import { tableTexts } from '#texts/table.ts'
import type { BrowseKind } from '../browse-address.ts'
import type { Column } from './columns.tsx'
import style from './table.module.css'

interface HeadProps {
  kind: BrowseKind
  columns: readonly Column<never>[]
  template: string
  sort: string
  onSort: (sort: string) => void
  selected: 'none' | 'some' | 'all'
  onSelect: (isAll: boolean) => void
}

/**
 * The heads of the columns, which sort by a click. Not for the keyboard and screen readers: rows are read as a whole, the list of orders stands
 * above the table, and ctrl+A selects all.
 */
export function TableHead({ kind, columns, template, sort, onSort, selected, onSelect }: HeadProps) {
  const title = { text: browseTexts.columnTitle, sort: { by: kind === 'series' ? 'name' : 'title', first: 'asc' } } as const
  return (
    <div aria-hidden="true" className={`${style['line']} ${style['head']}`} style={{ gridTemplateColumns: template }}>
      <label className={`check ${style['tick']}`}>
        <input
          ref={(input) => {
            if (input) input.indeterminate = selected === 'some'
          }}
          type="checkbox"
          tabIndex={-1}
          title={selectionTexts.allOfView()}
          checked={selected === 'all'}
          onChange={() => onSelect(selected !== 'all')}
        />
      </label>
      <span />
      <Head text={title.text()} sort={title.sort} current={sort} onSort={onSort} />
      {columns.map(({ name, text, isNumber, sort: by }) => (
        <span key={name} className={isNumber ? style['number'] : undefined}>
          {by ? <Head text={text()} sort={by} current={sort} onSort={onSort} /> : text()}
        </span>
      ))}
      <span />
    </div>
  )
}

interface ColumnHeadProps {
  text: string
  sort: { by: string; first: 'asc' | 'desc' }
  current: string
  onSort: (sort: string) => void
}

function Head({ text, sort: { by, first }, current, onSort }: ColumnHeadProps) {
  const [now, direction] = current.split(',')
  const isCurrent = now === by
  const other = direction === 'asc' ? 'desc' : 'asc'
  return (
    <button
      type="button"
      tabIndex={-1}
      className={style['sort']}
      title={tableTexts.sortBy({ column: text })}
      onClick={() => onSort(`${by},${isCurrent ? other : first}`)}
    >
      {text}
      {isCurrent && <Icon of={direction === 'asc' ? ArrowUp : ArrowDown} />}
    </button>
  )
}
