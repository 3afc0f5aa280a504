import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Search, SearchX, X } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { searchQuery } from '#api/search.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { useWhenReady } from '#parts/use-when-ready.ts'
import { searchTexts } from '#texts/search.ts'
import { countOf, Results } from './results.tsx'
import style from './search.module.css'

/** Before this pause in typing nothing is asked for. In milliseconds. */
const TYPING_MS = 80
/** The longest text that the API searches for. */
const WORDS_MAX = 200

/** Results as one types, by kind; arrows move between the field and the results, and Enter opens the first result of what is typed. */
export default function SearchPage() {
  const input = useRef<HTMLInputElement>(null)
  const page = useRef<HTMLDivElement>(null)
  const { typed, words, query, type, onKeyDown } = useSearching(page, input)
  const { data, error, refetch } = query
  useEffect(() => input.current?.focus(), [])
  const found = words === '' ? undefined : data
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the field and the links inside
    <div ref={page} className={style['page']} onKeyDown={onKeyDown}>
      <h1 className="visually-hidden">{searchTexts.title()}</h1>
      <search>
        <label className={`input ${style['field']}`}>
          <Icon of={Search} />
          <input
            ref={input}
            type="search"
            enterKeyHint="search"
            autoComplete="off"
            spellCheck={false}
            maxLength={WORDS_MAX}
            dir="auto"
            placeholder={searchTexts.placeholder()}
            aria-label={searchTexts.label()}
            value={typed}
            onChange={({ currentTarget }) => type(currentTarget.value)}
          />
          {typed !== '' && (
            <button type="button" className="icon-btn" aria-label={searchTexts.clear()} onClick={() => type('')}>
              <Icon of={X} />
            </button>
          )}
        </label>
      </search>
      <p className="visually-hidden" role="status">
        {found ? searchTexts.results({ count: countOf(found) }) : ''}
      </p>
      {error && words !== '' && <Failure error={error} onRetry={() => void refetch()} />}
      {words === '' && <p className="quiet">{searchTexts.start()}</p>}
      {found && countOf(found) === 0 && <Empty icon={SearchX} title={searchTexts.noneTitle({ words })} words={searchTexts.noneWords()} />}
      {found && countOf(found) > 0 && <Results found={found} words={words} />}
    </div>
  )
}

/** What is typed, what of it is searched for, and the answer. */
function useSearching(page: RefObject<HTMLElement | null>, input: RefObject<HTMLInputElement | null>) {
  const search = useSearch()
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState(() => new URLSearchParams(search).get('q') ?? '')
  const [words, setWords] = useState(typed.trim())
  const query = useQuery({ ...searchQuery(words), placeholderData: keepPreviousData, enabled: words !== '' })
  const look = useCallback(
    (text: string) => {
      setWords(text)
      navigate(text === '' ? '/search' : `/search?q=${encodeURIComponent(text)}`, { replace: true })
    },
    [navigate],
  )
  useEffect(() => {
    const timer = setTimeout(() => look(typed.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed, look])
  const opening = useWhenReady(typed.trim() === words && query.isFetched, () => resultsIn(page.current)[0]?.click())
  const type = (text: string) => {
    setTyped(text)
    opening.giveUp()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      opening.giveUp()
      moveBetween(event.key === 'ArrowDown' ? 1 : -1, resultsIn(page.current), input.current)
    } else if (event.key === 'Enter' && event.target === input.current && !event.nativeEvent.isComposing && typed.trim() !== '') {
      look(typed.trim())
      opening.ask()
    }
  }
  return { typed, words, query, type, onKeyDown }
}

const resultsIn = (page: HTMLElement | null): HTMLElement[] => [...(page?.querySelectorAll<HTMLElement>('[data-result] a') ?? [])]

/** Down from the field to the first result and on; up from the first result back to the field. */
function moveBetween(by: 1 | -1, links: readonly HTMLElement[], input: HTMLInputElement | null): void {
  const to = links.indexOf(document.activeElement as HTMLElement) + by
  if (to < 0) input?.focus()
  else links[Math.min(to, links.length - 1)]?.focus()
}
