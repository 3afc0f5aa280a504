import { Ellipsis, Play } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'wouter'
import type { BookRecord } from '#api/records.ts'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { BookCard } from '#parts/works/card.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { useSideways } from '#parts/works/shelf.tsx'
import { coverPath, knownCover, languageOf, markOfBook, numberWords, partRead } from '#parts/works/words.ts'
import { bookEntries } from '#parts/works/work-menus.ts'
import { homeTexts } from '#texts/home.ts'
import { partTexts } from '#texts/parts.ts'
import style from './home.module.css'

/** Covers of the shelf and of the first book, in CSS pixels. */
const COVER_WIDTH = 168
const LEAD_WIDTH = 216

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** The book read last stands large with the one main action of the page, the others beside it. */
export function KeepReading({ books, total }: { books: BookRecord[]; total: number }) {
  const id = useId()
  const { list } = useSideways()
  const [first, ...others] = books
  if (!first) return null
  return (
    <section className="stack" aria-labelledby={id}>
      <header className="head">
        <h2 className="section-title" id={id}>
          <Link href={ALL}>{homeTexts.keepReading()}</Link>
        </h2>
        <div className="end">
          <Link className="btn plain" href={ALL} id={`${id}-all`} aria-labelledby={`${id}-all ${id}`}>
            {partTexts.seeAll()} <span className="faint">{total.toLocaleString('en')}</span>
          </Link>
        </div>
      </header>
      <div className={others.length > 0 ? style['keep'] : undefined}>
        <Lead book={first} />
        {others.length > 0 && (
          <div className="shelf">
            <ul ref={list} aria-label={homeTexts.alsoOpen()}>
              {others.map((book) => (
                <li key={book.id}>
                  <BookCard book={book} width={COVER_WIDTH} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </section>
  )
}

const ALL = '/books?show=in_progress&sort=last_read,desc'

function Lead({ book }: { book: BookRecord }) {
  const { openFrom, onBox, menu } = useMenu(partTexts.more({ title: book.title }), () => bookEntries(book))
  const number = numberWords(book)
  const isText = book.fileFormat === 'epub'
  return (
    <article className={style['lead']} {...onBox}>
      <Link href={`/books/${book.id}/read`} tabIndex={-1} aria-hidden="true">
        <Cover
          path={coverPath(book, `api/v1/books/${book.id}`)}
          known={knownCover(book)}
          title={book.title}
          lang={languageOf(book)}
          mark={markOfBook(book)}
          width={LEAD_WIDTH}
          isLifted
          isFirst
        />
      </Link>
      <div>
        <h3 className="work-title clip-3" title={book.title}>
          <Link href={`/books/${book.id}`} lang={languageOf(book)} dir="auto">
            {book.title}
          </Link>
        </h3>
        <p className="quiet clip-2">
          <Link className="link" href={`/series/${book.seriesId}`}>
            <bdi>{book.seriesName}</bdi>
          </Link>
          {number && <span>, {number}</span>}
        </p>
        <p className={style['place']}>
          {isText
            ? homeTexts.placeText({ percent: percents.format(partRead(book)) })
            : homeTexts.place({ page: book.readProgress?.currentPage ?? 1, total: book.pageCount })}
        </p>
        <div className="line">
          <Link className="btn main big" href={`/books/${book.id}/read`}>
            <Icon of={Play} />
            {partTexts.continueReading()}
          </Link>
          <button
            type="button"
            className="icon-btn touch"
            aria-label={partTexts.more({ title: book.title })}
            aria-haspopup="menu"
            onClick={openFrom}
          >
            <Icon of={Ellipsis} />
          </button>
        </div>
      </div>
      {menu}
    </article>
  )
}
