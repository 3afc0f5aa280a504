import { collectionSeriesQuery, orderCollection } from '#api/lists.ts'
import { queries } from '#api/queries.ts'
import type { CollectionRecord, Listed, SeriesRecord } from '#api/records.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { coverPath, knownCover, languageOf, markOfSeries } from '#parts/works/words.ts'
import { listTexts } from '#texts/lists.ts'
import { partTexts } from '#texts/parts.ts'
import { moved } from './order.ts'
import { type OrderedRow, OrderedRows } from './ordered-rows.tsx'

/** The series of a collection while a person orders them. */
export function ArrangedSeries({ collection, series }: { collection: CollectionRecord; series: readonly SeriesRecord[] }) {
  const { queryKey } = collectionSeriesQuery(collection.id)
  const move = (from: number, to: number) => {
    const next = moved(series, from, to)
    // Before the server has answered: the buttons stay under the pointer.
    queries.setQueryData(queryKey, (shown: Listed<SeriesRecord> | undefined) => shown && { ...shown, data: next })
    const ids = next.map(({ id }) => id)
    orderCollection(collection.id, ids, collection.ordered).then(
      () => say(listTexts.moved({ title: series[from]?.title ?? '', number: to + 1 })),
      (error: unknown) => {
        sayFailure(error)
        void queries.invalidateQueries({ queryKey })
      },
    )
  }
  return <OrderedRows label={collection.name} rows={series.map(rowOf)} onMove={move} />
}

const rowOf = (series: SeriesRecord): OrderedRow => ({
  id: series.id,
  title: series.title,
  lang: languageOf(series),
  href: `/series/${series.id}`,
  words: partTexts.books({ count: series.bookCount }),
  cover: { path: coverPath(series, `api/v1/series/${series.id}`), known: knownCover(series), mark: markOfSeries(series) },
})
