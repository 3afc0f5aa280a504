import { Columns3, Grid3x3, Image, LayoutGrid, List, ListFilter, Table2, X } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { Segments, Select } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { browseTexts, SORT_NAMES } from '#texts/browse.ts'
import { tableTexts } from '#texts/table.ts'
import style from './browse.module.css'
import { type BrowseAddress, type BrowseKind, type Reading, sortsOf } from './browse-address.ts'
import type { Group } from './filter/draft.ts'
import { partWords, valueWords } from './filter/filter-words.ts'
import { useValueNames } from './filter/use-value-names.ts'
import { type WhereChange, withoutPart } from './filter/where.ts'
import type { BrowseView } from './row-layout.ts'
import { readColumns } from './table/columns.tsx'
import { ColumnsDialog } from './table/columns-dialog.tsx'
import { ViewsMenu } from './views/views-menu.tsx'

export type AddressChange = Partial<Record<keyof BrowseAddress, string | null>>

/** The builder is loaded when it is opened. */
const FilterPanel = lazy(() => import('./filter/filter-panel.tsx'))

interface ToolsProps {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  /** The condition of the address, understood. */
  where: Group | null
  onChange: (change: AddressChange) => void
}

const QUICK: readonly Reading[] = ['all', 'unread', 'in_progress', 'read']
const FILTERS = ['q', 'genre', 'tag', 'person', 'publisher', 'language', 'format'] as const
const FILTER_NAMES = { ...browseTexts, q: browseTexts.search }

/** Quick filters, filters that hold, order, and how the list is shown. */
export function BrowseTools({ kind, libraryId, address, where, onChange }: ToolsProps) {
  const [isFiltering, setIsFiltering] = useState(false)
  const [isNaming, setIsNaming] = useState(false)
  const [isChoosing, setIsChoosing] = useState(false)
  return (
    <div className={style['tools']}>
      {!address.shelf && <FilterChips kind={kind} address={address} where={where} onChange={onChange} />}
      <div className="line">
        {address.view === 'grid' && <SizeSlider size={address.size} onChange={(size) => onChange({ size })} />}
        {!address.shelf && (
          <>
            <button
              type="button"
              className="btn"
              aria-haspopup="dialog"
              aria-label={browseTexts.filter()}
              onClick={() => setIsFiltering(true)}
            >
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
      {isFiltering && (
        <Suspense>
          <FilterPanel
            {...{ kind, libraryId, address }}
            onApply={onChange}
            onSave={(change: WhereChange) => {
              onChange(change)
              setIsNaming(true)
            }}
            onClose={() => setIsFiltering(false)}
          />
        </Suspense>
      )}
    </div>
  )
}

function FilterChips({ kind, address, where, onChange }: Omit<ToolsProps, 'libraryId'>) {
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
        <HoldingChip
          key={name}
          words={browseTexts.filterChip({ name: FILTER_NAMES[name](), value: valueWords(kind, name, address[name]!, String) })}
          onRemove={() => onChange({ [name]: null })}
        />
      ))}
      {where && <WhereChips kind={kind} where={where} onChange={onChange} />}
    </div>
  )
}

/** The parts of the condition of the address. */
function WhereChips({ kind, where, onChange }: Pick<ToolsProps, 'kind' | 'onChange'> & { where: Group }) {
  const parts = where.join === 'all' ? where.parts : [where]
  const nameOf = useValueNames(parts)
  return parts.map((part) => (
    <HoldingChip
      key={part.id}
      words={partWords(kind, part, nameOf)}
      onRemove={() => onChange({ where: withoutPart(kind, where, part.id) })}
    />
  ))
}

function HoldingChip({ words, onRemove }: { words: string; onRemove: () => void }) {
  return (
    <button
      type="button"
      className="chip"
      aria-pressed="true"
      aria-label={browseTexts.noFilter({ words })}
      title={words}
      onClick={onRemove}
    >
      <span className="clip" dir="auto" style={{ maxInlineSize: '18rem' }}>
        {words}
      </span>
      <Icon of={X} />
    </button>
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
