import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Search, SearchX, X } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { searchQuery } from '#api/search.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { searchTexts } from '#texts/search.ts'
import { countOf, Results } from './results.tsx'
import style from './search.module.css'

/** Before this pause in typing nothing is asked for. In milliseconds. */
const TYPING_MS = 80
/** The longest text that the API searches for. */
const WORDS_MAX = 200

/** Results as one types, by kind; arrows move between the field and the results. */
export default function SearchPage() {
  const search = useSearch()
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState(() => new URLSearchParams(search).get('q') ?? '')
  const [words, setWords] = useState(typed.trim())
  const input = useRef<HTMLInputElement>(null)
  const page = useRef<HTMLDivElement>(null)
  const { data, error, refetch } = useQuery({ ...searchQuery(words), placeholderData: keepPreviousData, enabled: words !== '' })
  useEffect(() => input.current?.focus(), [])
  useEffect(() => {
    const timer = setTimeout(() => {
      setWords(typed.trim())
      navigate(typed.trim() === '' ? '/search' : `/search?q=${encodeURIComponent(typed.trim())}`, { replace: true })
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed, navigate])
  const found = words === '' ? undefined : data
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the field and the links inside
    <div ref={page} className={style['page']} onKeyDown={(event) => moveBetween(event, page.current, input.current)}>
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
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {typed !== '' && (
            <button type="button" className="icon-btn" aria-label={searchTexts.clear()} onClick={() => setTyped('')}>
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

/** Down from the field to the first result and on; up from the first result back to the field. */
function moveBetween(event: KeyboardEvent, page: HTMLElement | null, input: HTMLInputElement | null): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp' && event.key !== 'Enter') return
  const links = [...(page?.querySelectorAll<HTMLElement>('[data-result] a') ?? [])]
  const at = links.indexOf(document.activeElement as HTMLElement)
  if (event.key === 'Enter') {
    if (document.activeElement === input) links[0]?.click()
    return
  }
  event.preventDefault()
  const to = at + (event.key === 'ArrowDown' ? 1 : -1)
  if (to < 0) input?.focus()
  else links[Math.min(to, links.length - 1)]?.focus()
}
