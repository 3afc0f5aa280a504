import { type LucideIcon, Search, SearchX } from 'lucide-react'
import { type ReactNode, useDeferredValue, useId, useMemo } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import { useTopOfPage } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { nameTexts } from '#texts/names.ts'
import { byLetter } from './letter-of.ts'
import style from './name-index.module.css'

export interface NameEntry {
  name: string
  href: string
  /** Below the name. */
  words?: string
  /** At the end of the row. */
  count: string
}

interface NameIndexProps {
  title: string
  /** What the field for searching is called. */
  findLabel: string
  /** By name; undefined while they are loaded. */
  entries: readonly NameEntry[] | undefined
  /** Whether names are left out because there are too many. */
  isCut: boolean
  error: Error | null
  onRetry: () => void
  empty: { icon: LucideIcon; title: string; words: string }
  /** Choices below the title. */
  children?: ReactNode
}

/** Up to here all letters stand on one page; above, each has its own. */
const ALL_MAX = 400
/** Rows that a browser shows without a pause. */
const ROWS_MAX = 1_000

const fold = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** Names by letter, each leading to a list. The address keeps the letter and the words that are searched for. */
export function NameIndex({ title, findLabel, entries, isCut, error, onRetry, empty, children }: NameIndexProps) {
  const [path, navigate] = useLocation()
  const search = useSearch()
  const said = new URLSearchParams(search)
  const words = said.get('find') ?? ''
  const sought = useDeferredValue(fold(words.trim()))
  const letters = useMemo(() => byLetter(entries ?? []), [entries])
  useTopOfPage(entries !== undefined)
  const mayAll = (entries?.length ?? 0) <= ALL_MAX
  const letter = letters.has(said.get('letter') ?? '') ? said.get('letter')! : null
  const chosen = sought !== '' ? null : (letter ?? (mayAll ? null : ([...letters.keys()][0] ?? null)))
  const found = useMemo(() => (sought === '' ? null : entries?.filter(({ name }) => fold(name).includes(sought))), [entries, sought])
  const find = (value: string) => navigate(path + addressOf(said, 'find', value), { replace: true })
  const shown = found ? byLetter(found.slice(0, ROWS_MAX)) : chosen === null ? letters : new Map([[chosen, letters.get(chosen) ?? []]])
  return (
    <div className={style['page']}>
      <header className="head">
        <div>
          <h1 className="page-title">{title}</h1>
          <p className="quiet" role="status">
            {entries ? nameTexts.names({ count: found ? found.length : entries.length }) : '\u00a0'}
          </p>
        </div>
        <label className={`input end ${style['find']}`}>
          <Icon of={Search} />
          <input
            type="search"
            aria-label={findLabel}
            placeholder={findLabel}
            value={words}
            onChange={({ currentTarget }) => find(currentTarget.value)}
          />
        </label>
      </header>
      {children}
      {error && <Failure error={error} onRetry={onRetry} />}
      {letters.size > 1 && <Letters letters={letters} chosen={chosen} mayAll={mayAll} said={said} isSearching={found !== null} />}
      {isCut && <p className="quiet">{nameTexts.tooMany()}</p>}
      {entries?.length === 0 && <Empty {...empty} />}
      {found?.length === 0 && entries!.length > 0 && (
        <Empty icon={SearchX} title={nameTexts.noneTitle()} words={nameTexts.noneWords({ words: words.trim() })} />
      )}
      {found && found.length > ROWS_MAX && <p className="quiet">{nameTexts.tooManyShown({ shown: ROWS_MAX, count: found.length })}</p>}
      <div className={style['sections']}>
        {[...shown].map(([each, names]) => (
          <Names key={each} letter={each} names={names} />
        ))}
      </div>
    </div>
  )
}

interface LettersProps {
  letters: ReadonlyMap<string, readonly NameEntry[]>
  /** Null for all. */
  chosen: string | null
  mayAll: boolean
  said: URLSearchParams
  isSearching: boolean
}

function Letters({ letters, chosen, mayAll, said, isSearching }: LettersProps) {
  const [path] = useLocation()
  const without = new URLSearchParams(said)
  without.delete('find')
  return (
    <nav className={style['letters']} aria-label={nameTexts.letters()}>
      {mayAll && (
        <Link href={path + addressOf(without, 'letter', '')} replace aria-current={chosen === null && !isSearching ? 'true' : undefined}>
          {nameTexts.all()}
        </Link>
      )}
      {[...letters].map(([letter, names]) => (
        <Link
          key={letter}
          href={path + addressOf(without, 'letter', letter)}
          replace
          aria-label={nameTexts.letter({ letter, count: names.length })}
          aria-current={letter === chosen ? 'true' : undefined}
        >
          {letter}
        </Link>
      ))}
    </nav>
  )
}

function Names({ letter, names }: { letter: string; names: readonly NameEntry[] }) {
  const id = useId()
  return (
    <section className={style['section']} aria-labelledby={id}>
      <h2 className="section-title" id={id}>
        {letter}
      </h2>
      <ul>
        {names.slice(0, ROWS_MAX).map(({ name, href, words, count }) => (
          <li key={href}>
            <Link className={style['name']} href={href}>
              <span className={style['words']}>
                <bdi className="clip">{name}</bdi>
                {words && <span className="small quiet clip">{words}</span>}
              </span>
              <span className="small quiet">{count}</span>
            </Link>
          </li>
        ))}
      </ul>
      {names.length > ROWS_MAX && <p className="quiet">{nameTexts.tooManyShown({ shown: ROWS_MAX, count: names.length })}</p>}
    </section>
  )
}

function addressOf(said: URLSearchParams, name: string, value: string): string {
  const next = new URLSearchParams(said)
  if (value === '') next.delete(name)
  else next.set(name, value)
  const text = next.toString()
  return text === '' ? '' : `?${text}`
}
