import { queryOptions, useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { api, ask } from '#api/client.ts'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import type { BrowseAddress, BrowseKind } from './browse-address.ts'
import { bookFilter, seriesFilter } from './browse-sources.ts'
import { type LetterGroup, placesOfLetters } from './letter-places.ts'

interface LettersProps {
  kind: BrowseKind
  address: BrowseAddress
  libraryId: string | null
  /** The first item that is seen. */
  topIndex: number
  onJump: (index: number) => void
}

/** A rail of letters beside a list sorted by title. */
export function Letters({ kind, address, libraryId, topIndex, onJump }: LettersProps) {
  const groups = useQuery(lettersQuery(kind, address, libraryId))
  const places = placesOfLetters(groups.data ?? [], address.sort.endsWith(',desc'), useWindowHeight())
  if (places.length < 2) return null
  const current = places.findLast((each) => each.index <= topIndex)
  return (
    <nav className={style['letters']} style={{ '--count': places.length }} aria-label={browseTexts.letters()}>
      {places.map(({ letter, index, count }) => (
        <button
          key={letter}
          type="button"
          aria-label={browseTexts.letter({ letter, count })}
          aria-current={current?.letter === letter ? 'true' : undefined}
          onClick={() => onJump(index)}
        >
          {letter}
        </button>
      ))}
    </nav>
  )
}

const useWindowHeight = () => useSyncExternalStore(whenResized, () => innerHeight)

function whenResized(action: () => void): () => void {
  addEventListener('resize', action)
  return () => removeEventListener('resize', action)
}

function lettersQuery(kind: BrowseKind, address: BrowseAddress, libraryId: string | null) {
  const ofSeries = seriesFilter(address, libraryId)
  const ofBooks = bookFilter(address, libraryId)
  return queryOptions({
    queryKey: [kind === 'series' ? 'series-list' : 'books', 'letters', ofBooks],
    queryFn: async ({ signal }): Promise<LetterGroup[]> =>
      kind === 'series'
        ? await ask(api.POST('/api/v1/series/list/alphabetical-groups', { body: ofSeries, signal }))
        : await ask(api.POST('/api/v1/books/list/alphabetical-groups', { body: ofBooks, signal })),
  })
}
