import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { HISTORY_SHOWN_MAX, readingsOfBookQuery } from '#api/readings.ts'
import type { FullBookRecord } from '#api/records.ts'
import { dayWords } from '#parts/formats.ts'
import { AboutSection } from '#parts/works/about-sections.tsx'
import { durationWords, placeReadWords } from '#parts/works/reading-words.ts'
import { historyTexts } from '#texts/history.ts'
import { seriesTexts } from '#texts/series.ts'

/** The days on which the user has read this book, latest first. */
export function BookReadings({ book: { id, fileFormat, lastReadAt } }: { book: FullBookRecord }) {
  const days = useQuery({ ...readingsOfBookQuery(id), enabled: lastReadAt !== null }).data?.data ?? []
  if (days.length === 0) return null
  return (
    <AboutSection title={seriesTexts.yourReadings()}>
      <ul className="rows">
        {days.slice(0, HISTORY_SHOWN_MAX).map((day) => (
          <li className="row" key={`${day.readingId} ${day.day}`}>
            <span className="words">
              {dayWords(day.lastAt)}
              <span className="sub">
                {[placeReadWords(day, fileFormat === 'epub'), durationWords(day.seconds), day.app && historyTexts.with({ app: day.app })]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
          </li>
        ))}
      </ul>
      <p className="small">
        <Link className="link" href="/history">
          {historyTexts.title()}
        </Link>
      </p>
    </AboutSection>
  )
}
