import { Columns3, Grid3x3, Image, LayoutGrid, List, ListFilter, Table2, X } from 'lucide-react'
import { useState } from 'react'
import { Segments, Select } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { browseTexts, SORT_NAMES } from '#texts/browse.ts'
import { tableTexts } from '#texts/table.ts'
import style from './browse.module.css'
import { type BrowseAddress, type BrowseKind, type Reading, sortsOf } from './browse-address.ts'
import { FilterDialog } from './filter-dialog.tsx'
import type { BrowseView } from './row-layout.ts'
import { readColumns } from './table/columns.tsx'
import { ColumnsDialog } from './table/columns-dialog.tsx'

export type AddressChange = Partial<Record<keyof BrowseAddress, string | null>>

interface ToolsProps {
  kind: BrowseKind
  address: BrowseAddress
  onChange: (change: AddressChange) => void
}

const QUICK: readonly Reading[] = ['all', 'unread', 'in_progress', 'read']
const FILTERS = ['q', 'genre', 'tag', 'person', 'publisher', 'language', 'format'] as const
const FILTER_NAMES = { ...browseTexts, q: browseTexts.search }

/** Quick filters, filters that hold, order, and how the list is shown. */
export function BrowseTools({ kind, address, onChange }: ToolsProps) {
  const [isFiltering, setIsFiltering] = useState(false)
  const [isChoosing, setIsChoosing] = useState(false)
  return (
    <div className={style['tools']}>
      {!address.shelf && <FilterChips address={address} onChange={onChange} />}
      <div className="line">
        {address.view === 'grid' && <SizeSlider size={address.size} onChange={(size) => onChange({ size })} />}
        {!address.shelf && (
          <>
            <button type="button" className="btn" aria-haspopup="dialog" onClick={() => setIsFiltering(true)}>
              <Icon of={ListFilter} />
              {browseTexts.filter()}
            </button>
            <Select
              isSoft
              label={browseTexts.sort()}
              value={address.sort}
              options={sortsOf(kind).map((value) => ({ value, text: SORT_NAMES[value]!() }))}
              onChange={(sort) => onChange({ sort })}
            />
          </>
        )}
        {address.view === 'table' && (
          <button
            type="button"
            className="btn"
            aria-haspopup="dialog"
            aria-label={tableTexts.columns()}
            title={tableTexts.columns()}
            onClick={() => setIsChoosing(true)}
          >
            <Icon of={Columns3} />
          </button>
        )}
        <Segments
          label={browseTexts.view()}
          value={address.view}
          options={[
            { value: 'grid', text: browseTexts.grid(), icon: LayoutGrid },
            { value: 'list', text: browseTexts.list(), icon: List },
            { value: 'table', text: browseTexts.table(), icon: Table2 },
          ]}
          onChange={(view: BrowseView) => onChange({ view })}
        />
      </div>
      {isChoosing && (
        <ColumnsDialog
          kind={kind}
          chosen={readColumns(kind, address.columns)}
          onChange={(columns) => onChange({ columns })}
          onClose={() => setIsChoosing(false)}
        />
      )}
      {isFiltering && <FilterDialog kind={kind} address={address} onChange={onChange} onClose={() => setIsFiltering(false)} />}
    </div>
  )
}

function FilterChips({ address, onChange }: Omit<ToolsProps, 'kind'>) {
  const holding = FILTERS.filter((name) => address[name] !== null)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend of its own
    <div className="chips" role="group" aria-label={browseTexts.quick()}>
      {QUICK.map((show) => (
        <button key={show} type="button" className="chip" aria-pressed={address.show === show} onClick={() => onChange({ show })}>
          {browseTexts[show]()}
        </button>
      ))}
      {holding.map((name) => (
        <button
          key={name}
          type="button"
          className="chip"
          aria-pressed="true"
          aria-label={browseTexts.noFilter({ name: FILTER_NAMES[name](), value: address[name]! })}
          onClick={() => onChange({ [name]: null })}
        >
          <span className="clip" style={{ maxInlineSize: '18rem' }}>
            {FILTER_NAMES[name]()}: <bdi>{address[name]}</bdi>
          </span>
          <Icon of={X} />
        </button>
      ))}
    </div>
  )
}

function SizeSlider({ size, onChange }: { size: number; onChange: (size: string) => void }) {
  return (
    <label className="slider" style={{ ['--at' as string]: `${(size / 3) * 100}%`, ['--size' as string]: '1rem' }}>
      <Icon of={Grid3x3} />
      <input
        type="range"
        min={0}
        max={3}
        step={1}
        value={size}
        aria-label={browseTexts.size()}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <Icon of={Image} />
    </label>
  )
}
