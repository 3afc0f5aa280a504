import { Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { selectEntry } from '#parts/works/card.tsx'
import { Cover, type CoverMark } from '#parts/works/cover.tsx'
import { type Pickable, PickBox, withPicking } from '#parts/works/pick-box.tsx'
import { bookWords, coverPath, knownCover, languageOf, markOfBook, markOfSeries } from '#parts/works/words.ts'
import { bookEntries, seriesEntries } from '#parts/works/work-menus.ts'
import { partTexts } from '#texts/parts.ts'
import style from './browse.module.css'
import type { Column } from './table/columns.tsx'
import { State } from './table/state.tsx'
import tableStyle from './table/table.module.css'

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

interface PickedEntryProps extends EntryProps {
  pick: Pickable
}

/** A line of the compact list. */
export function ListEntry({ entry, tabIndex, pick }: PickedEntryProps) {
  const { onBox, openFrom, menu } = useMenu(partTexts.more({ title: entry.title }), () => [...selectEntry(pick), ...entry.entries()])
  return (
    <div className={style['entry']} {...withPicking(onBox, pick)}>
      <PickBox pick={pick} title={entry.title} className={`check ${style['tick']}`} />
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
    // The direction is that of the box, so that a title which is cut loses its end.
    <span className={className} title={entry.title} dir="auto">
      <Link href={entry.href} lang={entry.lang} tabIndex={tabIndex}>
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

interface TableEntryProps extends PickedEntryProps {
  columns: readonly Column<never>[]
  template: string
}

/** A line of the table. */
export function TableEntry({ entry, tabIndex, pick, columns, template }: TableEntryProps) {
  const { onBox, openFrom, menu } = useMenu(partTexts.more({ title: entry.title }), () => [...selectEntry(pick), ...entry.entries()])
  return (
    <div className={tableStyle['line']} style={{ gridTemplateColumns: template }} {...withPicking(onBox, pick)}>
      <PickBox pick={pick} title={entry.title} className={`check ${tableStyle['tick']}`} />
      <Cover path={entry.cover} known={knownCover(entry.record)} title="" width={28} />
      <EntryLink entry={entry} tabIndex={tabIndex} className={`clip ${tableStyle['title']}`} />
      {columns.map(({ name, isNumber, cell }) => (
        <span key={name} className={isNumber ? tableStyle['number'] : undefined}>
          {cell(entry.record as never)}
        </span>
      ))}
      <More title={entry.title} onOpen={openFrom} />
      {menu}
    </div>
  )
}
