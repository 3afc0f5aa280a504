import { Check, X } from 'lucide-react'
import { Link } from 'wouter'
import type { DayReading } from '#api/readings.ts'
import type { BookRecord } from '#api/records.ts'
import { Icon } from '#parts/icon.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { durationWords, placeReadWords } from '#parts/works/reading-words.ts'
import { coverPath, knownCover, languageOf, numberWords } from '#parts/works/words.ts'
import { historyTexts } from '#texts/history.ts'
import style from './history.module.css'

/** Covers of the rows, in CSS pixels. */
const COVER_WIDTH = 48

interface ReadingRowProps {
  reading: DayReading
  /** Null for a book that was deleted or is hidden from the user. */
  book: BookRecord | null
  onForget: (reading: DayReading, title: string) => void
}

/** What was read of one book on one day. */
export function ReadingRow({ reading, book, onForget }: ReadingRowProps) {
  const title = book?.title ?? historyTexts.missing()
  const isFinished = reading.finishedAt !== null && reading.finishedAt === reading.lastAt
  const facts = [
    placeReadWords(reading, book?.fileFormat === 'epub'),
    durationWords(reading.seconds),
    reading.app && historyTexts.with({ app: reading.app }),
  ].filter(Boolean)
  return (
    <li className={`row ${style['row']}`}>
      {book ? (
        <Cover path={coverPath(book, `api/v1/books/${book.id}`)} known={knownCover(book)} title="" width={COVER_WIDTH} />
      ) : (
        <Cover path={null} title="" width={COVER_WIDTH} />
      )}
      <span className="words">
        {book ? (
          <Link className={`name clip-2 ${style['link']}`} href={`/books/${book.id}`} lang={languageOf(book)} dir="auto">
            {title}
          </Link>
        ) : (
          <span className="quiet">{title}</span>
        )}
        {book && (
          <span className="sub clip">
            <bdi>{book.seriesName}</bdi>
            {numberWords(book) && `, ${numberWords(book)}`}
          </span>
        )}
        <span className={`sub ${style['facts']}`}>
          {facts.join(' · ')}
          {isFinished && (
            <span className="badge good">
              <Icon of={Check} />
              {historyTexts.finished()}
            </span>
          )}
        </span>
      </span>
      <span className={`end ${style['end']}`}>
        <button
          type="button"
          className="icon-btn"
          aria-label={historyTexts.forget({ title })}
          title={historyTexts.forgetAction()}
          onClick={() => onForget(reading, title)}
        >
          <Icon of={X} />
        </button>
      </span>
    </li>
  )
}
