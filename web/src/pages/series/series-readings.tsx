import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { lastReadQuery } from '#api/series.ts'
import { dayWords } from '#parts/formats.ts'
import { AboutSection } from '#parts/works/about-sections.tsx'
import { languageOf, placeWords } from '#parts/works/words.ts'
import { seriesTexts } from '#texts/series.ts'

/** The books of a series that the user has read in, latest first. */
export function SeriesReadings({ seriesId }: { seriesId: string }) {
  const books = useQuery(lastReadQuery(seriesId)).data?.data.filter(({ lastReadAt }) => lastReadAt !== null) ?? []
  if (books.length === 0) return null
  return (
    <AboutSection title={seriesTexts.yourReadings()}>
      <ul className="rows">
        {books.map((book) => (
          <li className="row" key={book.id}>
            <span className="words">
              <Link className="clip" href={`/books/${book.id}`} lang={languageOf(book)} dir="auto">
                {book.title}
              </Link>
              <span className="sub">
                {[
                  placeWords(book),
                  book.readCount > 0 && seriesTexts.times({ count: book.readCount }),
                  seriesTexts.lastRead({ when: dayWords(book.lastReadAt) }),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </AboutSection>
  )
}
