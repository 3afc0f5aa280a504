import { useQuery } from '@tanstack/react-query'
import { ChevronDown, Library, Tag } from 'lucide-react'
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

/** More would be a list to search in, which the filter has. */
const GENRES_MAX = 20

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

interface GenreChipProps {
  kind: BrowseKind
  libraryId: string | null
  onChoose: (genre: string) => void
}

/** The most frequent genres, asked for when somebody wants to see them: counting them takes time in a large library. */
export function GenreChip({ kind, libraryId, onChoose }: GenreChipProps) {
  const [genres, setGenres] = useState<readonly FilterValueRecord[]>([])
  const { openFrom, menu } = useMenu(browseTexts.chooseGenre(), () =>
    genres.map(({ value, count }) => ({
      text: browseTexts.genreCount({ name: value, count }),
      icon: Tag,
      run: () => onChoose(value),
    })),
  )
  const open = ({ currentTarget }: MouseEvent<HTMLElement>) => {
    const query = filterValuesQuery({ field: 'genre', of: kind, ...(libraryId && { libraryId }) })
    queries.ensureQueryData(query).then((found) => {
      if (found.length === 0) return say(browseTexts.noGenres())
      setGenres(found.slice(0, GENRES_MAX))
      openFrom({ currentTarget })
    }, sayFailure)
  }
  return (
    <>
      <MenuChip text={browseTexts.genre()} onOpen={open} />
      {menu}
    </>
  )
}
