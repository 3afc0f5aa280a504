import { X } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { browseTexts } from '#texts/browse.ts'
import type { AddressChange, BrowseAddress, BrowseKind, Reading } from './browse-address.ts'
import type { Group } from './filter/draft.ts'
import { partWords, valueWords } from './filter/filter-words.ts'
import { useValueNames } from './filter/use-value-names.ts'
import { withoutPart } from './filter/where.ts'
import { LibraryChip, type QuickField, ValueChip } from './quick-menus.tsx'

const QUICK: readonly Reading[] = ['all', 'unread', 'in_progress', 'read']
const QUICK_FIELDS: readonly QuickField[] = ['genre', 'tag', 'format', 'year']
const FILTERS = ['q', 'genre', 'tag', 'person', 'publisher', 'language', 'format', 'year'] as const
const FILTER_NAMES = { ...browseTexts, q: browseTexts.search, year: browseTexts.columnYear }

interface ChipsProps {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  /** The condition of the address, understood. */
  where: Group | null
  onChange: (change: AddressChange) => void
}

/** Quick filters, and all that hold. */
export function FilterChips({ kind, libraryId, address, where, onChange }: ChipsProps) {
  const holding = FILTERS.filter((name) => address[name] !== null)
  // Series have no format.
  const offered = QUICK_FIELDS.filter((field) => address[field] === null && (field !== 'format' || kind === 'books'))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend of its own
    <div className="chips" role="group" aria-label={browseTexts.quick()}>
      {QUICK.map((show) => (
        <button key={show} type="button" className="chip" aria-pressed={address.show === show} onClick={() => onChange({ show })}>
          {browseTexts[show]()}
        </button>
      ))}
      {libraryId === null && <LibraryChip kind={kind} />}
      {offered.map((field) => (
        <ValueChip
          key={field}
          {...{ kind, libraryId, field }}
          text={FILTER_NAMES[field]()}
          onChoose={(value) => onChange({ [field]: value })}
        />
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
function WhereChips({ kind, where, onChange }: Pick<ChipsProps, 'kind' | 'onChange'> & { where: Group }) {
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
