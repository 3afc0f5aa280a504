import { useInfiniteQuery } from '@tanstack/react-query'
import { History, Trash2 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { type DayReading, deleteAllReadings, deleteReading, readingsQuery } from '#api/readings.ts'
import type { BookRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { useTopOfPage } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { durationWords } from '#parts/works/reading-words.ts'
import { historyTexts } from '#texts/history.ts'
import { calendarDayWords, daysOf } from './days.ts'
import style from './history.module.css'
import { ReadingRow } from './reading-row.tsx'

type Asked = { kind: 'forget'; reading: DayReading; title: string } | { kind: 'clear' } | null

/** What the user has read by day: how far and for how long. */
export default function HistoryPage() {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(readingsQuery)
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  useTopOfPage(data !== undefined)
  const books = useMemo(() => new Map(data?.pages.flatMap((page) => page.books.map((book) => [book.id, book])) ?? []), [data])
  const days = useMemo(() => daysOf(data?.pages.flatMap((page) => page.data) ?? []), [data])
  return (
    <div className={style['page']}>
      <header className="head">
        <div>
          <h1 className="page-title">{historyTexts.title()}</h1>
          <p className="quiet">{historyTexts.words()}</p>
        </div>
        {days.length > 0 && (
          <button type="button" className="btn plain end" onClick={() => setAsked({ kind: 'clear' })}>
            <Icon of={Trash2} />
            {historyTexts.clear()}
          </button>
        )}
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && days.length === 0 && <Empty icon={History} title={historyTexts.emptyTitle()} words={historyTexts.emptyWords()} />}
      {days.map(({ day, readings }) => (
        <Day
          key={day}
          day={day}
          readings={readings}
          books={books}
          onForget={(reading, title) => setAsked({ kind: 'forget', reading, title })}
        />
      ))}
      {hasNextPage && (
        <div className="line">
          <button type="button" className="btn" aria-busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {historyTexts.older()}
          </button>
        </div>
      )}
      {asked?.kind === 'forget' && <Forget reading={asked.reading} title={asked.title} onClose={close} />}
      {asked?.kind === 'clear' && <Clear onClose={close} />}
    </div>
  )
}

interface DayProps {
  day: string
  readings: readonly DayReading[]
  books: ReadonlyMap<string, BookRecord>
  onForget: (reading: DayReading, title: string) => void
}

function Day({ day, readings, books, onForget }: DayProps) {
  const seconds = readings.reduce((sum, reading) => sum + reading.seconds, 0)
  const id = `day-${day}`
  return (
    <section className={style['day']} aria-labelledby={id}>
      <header>
        <h2 className="section-title" id={id}>
          {calendarDayWords(day, new Date())}
        </h2>
        <p className="small quiet">
          {[historyTexts.books({ count: readings.length }), durationWords(seconds)].filter(Boolean).join(' · ')}
        </p>
      </header>
      <ul className="rows">
        {readings.map((reading) => (
          <ReadingRow key={reading.readingId} reading={reading} book={books.get(reading.bookId) ?? null} onForget={onForget} />
        ))}
      </ul>
    </section>
  )
}

function Forget({ reading, title, onClose }: { reading: DayReading; title: string; onClose: () => void }) {
  const forget = () => {
    onClose()
    deleteReading(reading.readingId).then(() => say(historyTexts.forgotten()), sayFailure)
  }
  return (
    <Dialog title={historyTexts.forgetTitle()} action={historyTexts.forgetAction()} isDangerous onAction={forget} onClose={onClose}>
      <p>{historyTexts.forgetWords({ title })}</p>
    </Dialog>
  )
}

function Clear({ onClose }: { onClose: () => void }) {
  const clear = () => {
    onClose()
    deleteAllReadings().then(() => say(historyTexts.cleared()), sayFailure)
  }
  return (
    <Dialog title={historyTexts.clearTitle()} action={historyTexts.clearAction()} isDangerous onAction={clear} onClose={onClose}>
      <p>{historyTexts.clearWords()}</p>
    </Dialog>
  )
}
