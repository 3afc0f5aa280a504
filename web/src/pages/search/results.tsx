import { ChevronRight, LibraryBig, ListOrdered, User } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { Link } from 'wouter'
import type { FoundRecords } from '#api/search.ts'
import { Icon } from '#parts/icon.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { personHref } from '#parts/works/hero.tsx'
import { bookWords, coverPath, knownCover, languageOf } from '#parts/works/words.ts'
import { partTexts } from '#texts/parts.ts'
import { searchTexts } from '#texts/search.ts'
import style from './search.module.css'

/** Covers of results, in CSS pixels. */
const COVER_WIDTH = 40

export const countOf = ({ series, books, people, collections, readLists }: FoundRecords): number =>
  series.length + books.length + people.length + collections.length + readLists.length

export function Results({ found, words }: { found: FoundRecords; words: string }) {
  const query = `?q=${encodeURIComponent(words)}`
  return (
    <div className={style['kinds']}>
      <Kind title={searchTexts.series()} all={{ href: `/series${query}`, text: searchTexts.allSeries() }}>
        {found.series.map((series) => (
          <Result
            key={series.id}
            href={`/series/${series.id}`}
            name={series.title}
            lang={languageOf(series)}
            line={partTexts.books({ count: series.bookCount })}
            picture={
              <Cover path={coverPath(series, `api/v1/series/${series.id}`)} known={knownCover(series)} title="" width={COVER_WIDTH} />
            }
          />
        ))}
      </Kind>
      <Kind title={searchTexts.books()} all={{ href: `/books${query}`, text: searchTexts.allBooks() }}>
        {found.books.map((book) => (
          <Result
            key={book.id}
            href={`/books/${book.id}`}
            name={book.title}
            lang={languageOf(book)}
            line={[book.seriesName, bookWords(book)].filter(Boolean).join(' · ')}
            picture={<Cover path={coverPath(book, `api/v1/books/${book.id}`)} known={knownCover(book)} title="" width={COVER_WIDTH} />}
          />
        ))}
      </Kind>
      <Kind title={searchTexts.people()}>
        {found.people.map(({ name }) => (
          <Result key={name} href={personHref(name)} name={name} picture={<Icon of={User} />} />
        ))}
      </Kind>
      <Kind title={searchTexts.collections()}>
        {found.collections.map(({ id, name, seriesCount }) => (
          <Result
            key={id}
            href={`/collections/${id}`}
            name={name}
            line={partTexts.series({ count: seriesCount })}
            picture={<Icon of={LibraryBig} />}
          />
        ))}
      </Kind>
      <Kind title={searchTexts.readLists()}>
        {found.readLists.map(({ id, name, bookCount }) => (
          <Result
            key={id}
            href={`/read-lists/${id}`}
            name={name}
            line={partTexts.books({ count: bookCount })}
            picture={<Icon of={ListOrdered} />}
          />
        ))}
      </Kind>
    </div>
  )
}

interface KindProps {
  title: string
  /** The list with everything found of this kind. */
  all?: { href: string; text: string }
  children: readonly ReactNode[]
}

function Kind({ title, all, children }: KindProps) {
  const id = useId()
  if (children.length === 0) return null
  return (
    <section className="stack" aria-labelledby={id}>
      <h2 className="group-title" id={id}>
        {title}
      </h2>
      <ul className="rows">{children}</ul>
      {all && (
        <Link className={`link small ${style['all']}`} href={all.href}>
          {all.text}
        </Link>
      )}
    </section>
  )
}

interface ResultProps {
  href: string
  name: string
  lang?: string | undefined
  line?: string
  picture: ReactNode
}

function Result({ href, name, lang, line, picture }: ResultProps) {
  return (
    <li className={`row ${style['result']}`} data-result="">
      {picture}
      <span className="words">
        <Link className="name clip" href={href} lang={lang} dir="auto" title={name}>
          {name}
        </Link>
        {line && (
          <span className="sub clip" dir="auto">
            {line}
          </span>
        )}
      </span>
      <Icon of={ChevronRight} flips />
    </li>
  )
}
