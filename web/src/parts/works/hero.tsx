import { ChevronRight } from 'lucide-react'
import { Fragment, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import type { Person } from '#parts/works/people.ts'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'
import style from './hero.module.css'

/** The page of a work: where it stands, its head, then sections. */
export const WorkPage = ({ children }: { children: ReactNode }) => <div className={style['page']}>{children}</div>

export interface Crumb {
  text: string
  /** None for the page itself. */
  href?: string
}

/** Where a page stands. */
export function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
  return (
    <nav aria-label={partTexts.where()}>
      <ol className="crumbs">
        {crumbs.map(({ text, href }, index) => (
          <li key={href ?? text} aria-current={href ? undefined : 'page'}>
            {href ? (
              <Link href={href} className="clip">
                <bdi>{text}</bdi>
              </Link>
            ) : (
              <bdi className="clip">{text}</bdi>
            )}
            {index < crumbs.length - 1 && <Icon of={ChevronRight} flips />}
          </li>
        ))}
      </ol>
    </nav>
  )
}

interface HeroProps {
  cover: ReactNode
  /** Name and lines below it. */
  words: ReactNode
  actions: ReactNode
  summary: string | null | undefined
  lang?: string | undefined
  facts: readonly (Fact | null)[]
}

export interface Fact {
  name: string
  value: ReactNode
}

/** The head of the page of a work: cover, name, the one main action, summary, facts. */
export function Hero({ cover, words, actions, summary, lang, facts }: HeroProps) {
  return (
    <header className={style['hero']}>
      {cover}
      <div className={style['about']}>
        <div className={style['words']}>{words}</div>
        <div className={`line ${style['act']}`}>{actions}</div>
        {summary && <Summary text={summary} lang={lang} />}
      </div>
      <dl className={`facts ${style['facts']}`}>
        {facts.map((fact) =>
          fact === null ? null : (
            <div key={fact.name}>
              <dt>{fact.name}</dt>
              <dd>{fact.value}</dd>
            </div>
          ),
        )}
      </dl>
    </header>
  )
}

/** Text of a work, cut at four lines with the whole at hand. */
function Summary({ text, lang }: { text: string; lang: string | undefined }) {
  const box = useRef<HTMLDivElement>(null)
  const [isLong, setIsLong] = useState(false)
  const [isWhole, setIsWhole] = useState(false)
  useLayoutEffect(() => {
    if (box.current && !isWhole) setIsLong(box.current.scrollHeight > box.current.clientHeight + 1)
  }, [isWhole])
  return (
    <>
      <div ref={box} className={`prose ${style['summary']} ${isWhole ? '' : 'clip-4'}`} lang={lang} dir="auto">
        {text}
      </div>
      {isLong && (
        <button type="button" className={style['more']} aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? partTexts.showLess() : partTexts.showAll()}
        </button>
      )}
    </>
  )
}

/** More names than this below a title say nothing; all stand further down. */
const MAKERS_MAX = 4

/** "by A and B", each leading to what they made. */
export function Makers({ people }: { people: readonly Person[] }) {
  const shown = people.slice(0, MAKERS_MAX)
  if (shown.length === 0) return null
  return (
    <p className="quiet">
      {workTexts.by()}
      {shown.map(({ name }, index) => (
        <Fragment key={name}>
          {index > 0 && ', '}
          <Link className="link" href={personHref(name)}>
            <bdi>{name}</bdi>
          </Link>
        </Fragment>
      ))}
    </p>
  )
}

export const personHref = (name: string): string => `/series?person=${encodeURIComponent(name)}`
