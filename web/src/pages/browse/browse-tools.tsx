import { Columns3, Grid3x3, Image, LayoutGrid, List, ListFilter, Table2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { Segments, Select } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { loadPart } from '#parts/load-part.ts'
import { browseTexts, SORT_NAMES } from '#texts/browse.ts'
import { tableTexts } from '#texts/table.ts'
import style from './browse.module.css'
import { type AddressChange, type BrowseAddress, type BrowseKind, sortsOf } from './browse-address.ts'
import type { Group } from './filter/draft.ts'
import type { WhereChange } from './filter/where.ts'
import { FilterChips } from './filter-chips.tsx'
import type { BrowseView } from './row-layout.ts'
import { readColumns } from './table/columns.tsx'
import { ColumnsDialog } from './table/columns-dialog.tsx'
import { ViewsMenu } from './views/views-menu.tsx'

/** The builder is loaded when it is opened. */
const FilterPanel = lazy(() => loadPart(() => import('./filter/filter-panel.tsx')))

interface ToolsProps {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  /** The condition of the address, understood. */
  where: Group | null
  onChange: (change: AddressChange) => void
}

/** Quick filters, filters that hold, order, and how the list is shown. */
export function BrowseTools(props: ToolsProps) {
  const { kind, address, onChange } = props
  return (
    <div className={style['tools']}>
      {!address.shelf && <FilterChips {...props} />}
      <div className="line">
        {address.view === 'grid' && <SizeSlider size={address.size} onChange={(size) => onChange({ size })} />}
        {!address.shelf && <ContentTools {...props} />}
        {address.view === 'table' && <ColumnsButton kind={kind} address={address} onChange={onChange} />}
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
    </div>
  )
}

/** The builder, the order and the saved views. */
function ContentTools({ kind, libraryId, address, onChange }: ToolsProps) {
  const [isFiltering, setIsFiltering] = useState(false)
  const [isNaming, setIsNaming] = useState(false)
  const filterAndName = (change: WhereChange) => {
    onChange(change)
    setIsNaming(true)
  }
  return (
    <>
      <button type="button" className="btn" aria-haspopup="dialog" aria-label={browseTexts.filter()} onClick={() => setIsFiltering(true)}>
        <Icon of={ListFilter} />
        <span className={style['word']}>{browseTexts.filter()}</span>
      </button>
      <Select
        isSoft
        label={browseTexts.sort()}
        value={address.sort}
        options={sortsOf(kind).map((value) => ({ value, text: SORT_NAMES[value]!() }))}
        onChange={(sort) => onChange({ sort })}
      />
      <ViewsMenu {...{ kind, libraryId, address, isNaming }} onNaming={setIsNaming} />
      {isFiltering && (
        <Suspense>
          <FilterPanel {...{ kind, libraryId, address }} onApply={onChange} onSave={filterAndName} onClose={() => setIsFiltering(false)} />
        </Suspense>
      )}
    </>
  )
}

function ColumnsButton({ kind, address, onChange }: Pick<ToolsProps, 'kind' | 'address' | 'onChange'>) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className={`btn ${style['columns']}`}
        aria-haspopup="dialog"
        aria-label={tableTexts.columns()}
        title={tableTexts.columns()}
        onClick={() => setIsOpen(true)}
      >
        <Icon of={Columns3} />
      </button>
      {isOpen && (
        <ColumnsDialog
          kind={kind}
          chosen={readColumns(kind, address.columns)}
          onChange={(columns) => onChange({ columns })}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
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
