import { Check, Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { dayWords, sizeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { Cover, type CoverMark } from '#parts/works/cover.tsx'
import { bookWords, coverPath, knownCover, languageOf, markOfBook, markOfSeries, numberWords } from '#parts/works/words.ts'
import { bookEntries, seriesEntries } from '#parts/works/work-menus.ts'
import { browseTexts } from '#texts/browse.ts'
import { partTexts } from '#texts/parts.ts'
import style from './browse.module.css'

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** What list and table show of a book or series. */
interface Entry {
  href: string
  title: string
  lang: string | undefined
  cover: string | null
  record: BookRecord | SeriesRecord
  mark: CoverMark
  words: ReactNode
  entries: () => readonly MenuEntry[]
}

/** @param isInSeries all entries are of one series: its name is not repeated */
export function entryOfBook(book: BookRecord, isInSeries: boolean): Entry {
  return {
    href: `/books/${book.id}`,
    title: book.title,
    lang: languageOf(book),
    cover: coverPath(book, `api/v1/books/${book.id}`),
    record: book,
    mark: markOfBook(book),
    words: isInSeries ? (
      bookWords(book)
    ) : (
      <>
        <bdi>{book.seriesName}</bdi>
        {bookWords(book) && <span> · {bookWords(book)}</span>}
      </>
    ),
    entries: () => bookEntries(book),
  }
}

export function entryOfSeries(series: SeriesRecord): Entry {
  return {
    href: `/series/${series.id}`,
    title: series.title,
    lang: languageOf(series),
    cover: coverPath(series, `api/v1/series/${series.id}`),
    record: series,
    mark: markOfSeries(series),
    words: [partTexts.books({ count: series.bookCount }), series.year].filter(Boolean).join(' · '),
    entries: () => seriesEntries(series),
  }
}

interface EntryProps {
  entry: Entry
  tabIndex: 0 | -1
}

/** A line of the compact list. */
export function ListEntry({ entry, tabIndex }: EntryProps) {
  const { onBox, openFrom, menu } = useMenu(partTexts.more({ title: entry.title }), entry.entries)
  return (
    <div className={style['entry']} {...onBox}>
      <Cover path={entry.cover} known={knownCover(entry.record)} title="" width={40} />
      <span className={style['words']}>
        <EntryLink entry={entry} tabIndex={tabIndex} className={`clip ${style['name']}`} />
        <span className="quiet small clip">{entry.words}</span>
      </span>
      <State mark={entry.mark} />
      <More title={entry.title} onOpen={openFrom} />
      {menu}
    </div>
  )
}

function EntryLink({ entry, tabIndex, className }: EntryProps & { className: string }) {
  return (
    <span className={className} title={entry.title}>
      <Link href={entry.href} lang={entry.lang} dir="auto" tabIndex={tabIndex}>
        {entry.title}
      </Link>
    </span>
  )
}

function More({ title, onOpen }: { title: string; onOpen: ReturnType<typeof useMenu>['openFrom'] }) {
  return (
    <button
      type="button"
      className={`icon-btn ${style['more']}`}
      aria-label={partTexts.more({ title })}
      aria-haspopup="menu"
      tabIndex={-1}
      onClick={onOpen}
    >
      <Icon of={Ellipsis} />
    </button>
  )
}

function State({ mark }: { mark: CoverMark }) {
  if (mark?.kind === 'progress')
    return (
      <span className={style['state']}>
        <span className="progress" style={{ ['--at' as string]: percents.format(mark.part) }} />
        {percents.format(mark.part)}
      </span>
    )
  if (mark?.kind === 'finished')
    return (
      <span className={style['state']}>
        <Icon of={Check} />
        {browseTexts.stateFinished()}
      </span>
    )
  return (
    <span className={style['state']}>{mark?.kind === 'unread' ? partTexts.unread({ count: mark.count }) : browseTexts.stateUnread()}</span>
  )
}

/** A line of the table; narrow windows leave columns out. */
export function TableEntry({ entry, tabIndex }: EntryProps) {
  const { onBox, openFrom, menu } = useMenu(partTexts.more({ title: entry.title }), entry.entries)
  const isBook = 'seriesName' in entry.record
  return (
    <div className={`${style['line']} ${style[isBook ? 'books' : 'series']}`} {...onBox}>
      <Cover path={entry.cover} known={knownCover(entry.record)} title="" width={28} />
      <EntryLink entry={entry} tabIndex={tabIndex} className={`clip ${style['title']}`} />
      {'seriesName' in entry.record ? <BookColumns book={entry.record} /> : <SeriesColumns series={entry.record} />}
      <More title={entry.title} onOpen={openFrom} />
      {menu}
    </div>
  )
}

function BookColumns({ book }: { book: BookRecord }) {
  return (
    <>
      <span className={`quiet clip ${style['middle']}`}>
        <bdi>{book.seriesName}</bdi>
      </span>
      <span className={`${style['number']} ${style['middle']}`}>{numberWords(book).replace(/^\D+/, '')}</span>
      <span className={`${style['number']} ${style['wide']}`}>{book.pageCount.toLocaleString('en')}</span>
      <State mark={markOfBook(book)} />
      <span className={`quiet ${style['wide']}`}>{dayWords(book.createdAt)}</span>
      <span className={`quiet ${style['number']} ${style['wide']}`}>{sizeWords(book.fileSize)}</span>
    </>
  )
}

function SeriesColumns({ series }: { series: SeriesRecord }) {
  return (
    <>
      <span className={`quiet clip ${style['wide']}`}>
        <bdi>{series.publisher}</bdi>
      </span>
      <span className={`${style['number']} ${style['wide']}`}>{series.year}</span>
      <span className={`${style['number']} ${style['middle']}`}>{series.bookCount.toLocaleString('en')}</span>
      <State mark={markOfSeries(series)} />
      <span className={`quiet ${style['wide']}`}>{dayWords(series.createdAt)}</span>
    </>
  )
}

/** The heads of the columns of TableEntry. */
export function TableHead({ isBooks }: { isBooks: boolean }) {
  const cells = isBooks
    ? [
        [browseTexts.columnSeries(), style['middle']],
        [browseTexts.columnNumber(), `${style['number']} ${style['middle']}`],
        [browseTexts.columnPages(), `${style['number']} ${style['wide']}`],
        [browseTexts.columnState(), ''],
        [browseTexts.columnAdded(), style['wide']],
        [browseTexts.columnSize(), `${style['number']} ${style['wide']}`],
      ]
    : [
        [browseTexts.columnPublisher(), style['wide']],
        [browseTexts.columnYear(), `${style['number']} ${style['wide']}`],
        [browseTexts.columnBooks(), `${style['number']} ${style['middle']}`],
        [browseTexts.columnState(), ''],
        [browseTexts.columnAdded(), style['wide']],
      ]
  return (
    <div aria-hidden="true" className={`${style['line']} ${style['head']} ${style[isBooks ? 'books' : 'series']}`}>
      <span />
      <span>{browseTexts.columnTitle()}</span>
      {cells.map(([text, className]) => (
        <span key={text} className={className}>
          {text}
        </span>
      ))}
      <span />
    </div>
  )
}
