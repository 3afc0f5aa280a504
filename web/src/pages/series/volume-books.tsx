import { useQuery } from '@tanstack/react-query'
import type { BookRecord } from '#api/records.ts'
import { allBooksQuery, BOOKS_MAX } from '#api/series.ts'
import { CardBones } from '#parts/loading.tsx'
import { Failure } from '#parts/states.tsx'
import { BookCard } from '#parts/works/card.tsx'
import { partTexts } from '#texts/parts.ts'
import { seriesTexts } from '#texts/series.ts'
import style from './series.module.css'

/** Covers of the grid, in CSS pixels: `--cover-l`. */
const COVER_WIDTH = 168
const BONES = 6

/** The books of a series below their volumes, those without one at the end. */
export function VolumeBooks({ seriesId, isUnread }: { seriesId: string; isUnread: boolean }) {
  const { data, error, refetch } = useQuery(allBooksQuery(seriesId))
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data)
    return (
      <ul className="grid">
        <CardBones count={BONES} />
      </ul>
    )
  const books = isUnread ? data.data.filter(({ readProgress }) => !readProgress?.completed) : data.data
  return (
    <div className={style['volumes']}>
      {data.total > data.data.length && <p className="quiet">{seriesTexts.tooManyBooks({ shown: BOOKS_MAX, total: data.total })}</p>}
      {volumesOf(books).map(([volume, ofVolume]) => (
        <section key={volume} className="stack" aria-labelledby={`volume-${volume}`}>
          <h3 className={style['volume']} id={`volume-${volume}`}>
            {volume === null ? seriesTexts.noVolume() : partTexts.volume({ number: String(volume) })}{' '}
            <span className="faint">{partTexts.books({ count: ofVolume.length })}</span>
          </h3>
          <ul className="grid">
            {ofVolume.map((book) => (
              <li key={book.id}>
                <BookCard book={book} width={COVER_WIDTH} isInSeries />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

function volumesOf(books: readonly BookRecord[]): [number | null, BookRecord[]][] {
  const volumes = Map.groupBy(books, ({ volume }) => volume)
  return [...volumes].sort(([a], [b]) => (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY))
}
