import { CircleCheck, Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { Cover, type CoverMark, type KnownCover } from '#parts/works/cover.tsx'
import { type Pickable, PickBox, withPicking } from '#parts/works/pick-box.tsx'
import { bookWords, coverPath, knownCover, languageOf, markOfBook, markOfSeries } from '#parts/works/words.ts'
import { bookEntries, seriesEntries } from '#parts/works/work-menus.ts'
import { partTexts } from '#texts/parts.ts'
import { selectionTexts } from '#texts/selection.ts'

interface CardProps {
  href: string
  title: string
  lang?: string | undefined
  /** The line below the name. */
  words: ReactNode
  cover: { path: string | null; known: KnownCover | null; mark: CoverMark }
  /** How wide the cover is shown, in CSS pixels. */
  width: number
  entries?: (() => readonly MenuEntry[]) | undefined
  /** Below a heading of this level. */
  level?: 2 | 3
  /** −1 in a grid whose cards are reached with arrows. */
  tabIndex?: number
  pick?: Pickable | undefined
}

/** What is inside a card: cover, name, one line, and a menu by button, right click and long press. The caller gives the box. */
export function CardContent({ href, title, lang, words, cover, width, entries, level = 3, tabIndex, pick }: CardProps) {
  const Heading = `h${level}` as const
  const { openFrom, onBox, menu } = useMenu(partTexts.more({ title }), () => [...selectEntry(pick), ...(entries?.() ?? [])])
  return (
    <div className="card" {...(entries ? withPicking(onBox, pick) : {})}>
      <Cover {...cover} title={title} lang={lang} width={width} />
      {pick && <PickBox pick={pick} title={title} />}
      <Heading className="name clip-2" title={title}>
        <Link href={href} lang={lang} dir="auto" draggable={false} {...(tabIndex === undefined ? {} : { tabIndex })}>
          {title}
        </Link>
      </Heading>
      <p className="sub clip">{words}</p>
      {entries && (
        <button
          type="button"
          className="icon-btn more"
          style={{ ['--control' as string]: '2rem' }}
          aria-label={partTexts.more({ title })}
          aria-haspopup="menu"
          tabIndex={tabIndex === undefined ? 0 : -1}
          onClick={openFrom}
        >
          <Icon of={Ellipsis} />
        </button>
      )}
      {menu}
    </div>
  )
}

/** How a finger begins to select, after a long press. */
export const selectEntry = (pick: Pickable | undefined): MenuEntry[] =>
  pick && !pick.isPicked ? [{ text: selectionTexts.select(), icon: CircleCheck, run: () => pick.onPick(false) }] : []

interface BookCardProps {
  book: BookRecord
  width: number
  /** Where the card stands beside other books of its series, their number is enough. */
  isInSeries?: boolean
  level?: 2 | 3
  tabIndex?: number
  pick?: Pickable | undefined
}

export function BookCard({ book, isInSeries, ...rest }: BookCardProps) {
  const cover = { path: coverPath(book, `api/v1/books/${book.id}`), known: knownCover(book), mark: markOfBook(book) }
  const line = bookWords(book)
  const words = isInSeries || line !== '' ? line : <bdi>{book.seriesName}</bdi>
  return (
    <CardContent
      href={`/books/${book.id}`}
      title={book.title}
      lang={languageOf(book)}
      words={words}
      cover={cover}
      entries={() => bookEntries(book)}
      {...rest}
    />
  )
}

interface SeriesCardProps {
  series: SeriesRecord
  width: number
  isWanted?: boolean
  level?: 2 | 3
  tabIndex?: number
  pick?: Pickable | undefined
}

export function SeriesCard({ series, isWanted, ...rest }: SeriesCardProps) {
  const cover = { path: coverPath(series, `api/v1/series/${series.id}`), known: knownCover(series), mark: markOfSeries(series) }
  const words = partTexts.books({ count: series.bookCount })
  return (
    <CardContent
      href={`/series/${series.id}`}
      title={series.title}
      lang={languageOf(series)}
      words={words}
      cover={cover}
      entries={() => seriesEntries(series, isWanted)}
      {...rest}
    />
  )
}
