import { useQuery } from '@tanstack/react-query'
import { CalendarDays, ChevronDown, FileType, Hash, Library, Tag } from 'lucide-react'
import { type MouseEvent, useState } from 'react'
import { useSearch } from 'wouter'
import { type FilterValueRecord, filterValuesQuery } from '#api/filter-values.ts'
import { librariesQuery } from '#api/libraries.ts'
import { queries } from '#api/queries.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { browseTexts } from '#texts/browse.ts'
import { type BrowseKind, changeAddress } from './browse-address.ts'
import { valueWords } from './filter/filter-words.ts'

/** More would be a list to search in, which the filter has. */
const VALUES_MAX = 20

interface MenuChipProps {
  text: string
  onOpen: (event: MouseEvent<HTMLElement>) => void
}

const MenuChip = ({ text, onOpen }: MenuChipProps) => (
  <button type="button" className="chip" aria-haspopup="menu" onClick={onOpen}>
    {text}
    <Icon of={ChevronDown} />
  </button>
)

/** Leads to the same list of one library; nothing where there is only one. */
export function LibraryChip({ kind }: { kind: BrowseKind }) {
  const libraries = useQuery(librariesQuery).data ?? []
  const rest = changeAddress(useSearch(), { of: kind === 'books' ? 'books' : null })
  const { openFrom, menu } = useMenu(browseTexts.chooseLibrary(), () =>
    libraries.map(({ id, name }) => ({ text: name, icon: Library, href: `/libraries/${id}${rest}` })),
  )
  if (libraries.length < 2) return null
  return (
    <>
      <MenuChip text={browseTexts.library()} onOpen={openFrom} />
      {menu}
    </>
  )
}

/** Fields with a chip that offers their values. */
export type QuickField = 'genre' | 'tag' | 'format' | 'year'

const ICONS = { genre: Tag, tag: Hash, format: FileType, year: CalendarDays }

interface ValueChipProps {
  kind: BrowseKind
  libraryId: string | null
  field: QuickField
  text: string
  onChoose: (value: string) => void
}

/** The most frequent values of a field, asked for when somebody wants to see them: counting them takes time in a large library. */
export function ValueChip({ kind, libraryId, field, text, onChoose }: ValueChipProps) {
  const [values, setValues] = useState<readonly FilterValueRecord[]>([])
  const { openFrom, menu } = useMenu(browseTexts[`choose_${field}`](), () =>
    values.map(({ value, count }) => ({
      text: browseTexts.valueCount({ name: valueWords(kind, field, value, String), count }),
      icon: ICONS[field],
      run: () => onChoose(value),
    })),
  )
  const open = ({ currentTarget }: MouseEvent<HTMLElement>) => {
    const query = filterValuesQuery({ field, of: kind, ...(libraryId && { libraryId }) })
    queries.ensureQueryData(query).then((found) => {
      if (found.length === 0) return say(browseTexts[`none_${field}`]())
      const most = found.slice(0, VALUES_MAX)
      setValues(field === 'year' ? most.toSorted((a, b) => Number(b.value) - Number(a.value)) : most)
      openFrom({ currentTarget })
    }, sayFailure)
  }
  return (
    <>
      <MenuChip text={text} onOpen={open} />
      {menu}
    </>
  )
}
