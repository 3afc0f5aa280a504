import { useQuery } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import type { BrowseAddress } from './browse-address.ts'
import { seriesFilter } from './browse-sources.ts'
import { type LetterGroup, placesOfLetters } from './letter-places.ts'

interface LettersProps {
  address: BrowseAddress
  libraryId: string | null
  /** The first item that is seen. */
  topIndex: number
  onJump: (index: number) => void
}

/** A rail of letters beside a list of series sorted by title. */
export function Letters({ address, libraryId, topIndex, onJump }: LettersProps) {
  const body = seriesFilter(address, libraryId)
  const groups = useQuery({
    queryKey: ['series-list', 'letters', body],
    queryFn: ({ signal }) => ask(api.POST('/api/v1/series/list/alphabetical-groups', { body, signal })) as Promise<LetterGroup[]>,
  })
  const places = placesOfLetters(groups.data ?? [], address.sort.endsWith(',desc'))
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
