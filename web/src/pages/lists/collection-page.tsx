import { useQuery } from '@tanstack/react-query'
import { Check, Layers, ListOrdered, Play } from 'lucide-react'
import { useMemo, useState } from 'react'
import { Link, useParams } from 'wouter'
import { api, ask } from '#api/client.ts'
import { collectionQuery, collectionSeriesQuery } from '#api/lists.ts'
import type { Listed, SeriesRecord } from '#api/records.ts'
import { nextBookQuery } from '#api/series.ts'
import { LIST_PAGE_SIZE, type ListSource } from '#pages/browse/use-list-pages.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { Crumbs } from '#parts/works/hero.tsx'
import { listTexts } from '#texts/lists.ts'
import { ArrangedSeries } from './arranged-series.tsx'
import { ListProgress } from './list-progress.tsx'
import { SeriesShelf } from './series-shelf.tsx'

export default function CollectionPage() {
  const { collectionId } = useParams<{ collectionId: string }>()
  const { data, error, refetch } = useQuery(collectionQuery(collectionId))
  const source = useMemo(() => seriesOf(collectionId), [collectionId])
  const all = useQuery(collectionSeriesQuery(collectionId)).data
  const [isArranging, setIsArranging] = useState(false)
  const mayWrite = useMayDo('series-write')
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return null
  const mayArrange = mayWrite && all !== undefined && all.data.length > 1 && all.data.length === all.total
  const tools = mayArrange && (
    <button type="button" className="btn" aria-pressed={isArranging} onClick={() => setIsArranging(!isArranging)}>
      <Icon of={isArranging ? Check : ListOrdered} />
      {isArranging ? listTexts.arranged() : listTexts.arrange()}
    </button>
  )
  return (
    <>
      <Crumbs crumbs={[{ text: listTexts.collections(), href: '/collections' }, { text: data.name }]} />
      <SeriesShelf
        title={data.name}
        summary={data.summary}
        source={source}
        empty={<Empty icon={Layers} title={listTexts.collectionEmpty()} />}
        tools={tools}
        head={all && <Reading series={all.data} />}
        arranged={mayArrange && isArranging ? <ArrangedSeries collection={data} series={all.data} /> : null}
      />
    </>
  )
}

/** How much is read, and where it goes on: in the series that was begun, else in the first unread one. */
function Reading({ series }: { series: readonly SeriesRecord[] }) {
  const total = series.reduce((sum, { bookCount }) => sum + bookCount, 0)
  const read = series.reduce((sum, { bookCount, unreadCount }) => sum + bookCount - (unreadCount ?? bookCount), 0)
  const unread = series.filter(({ unreadCount }) => unreadCount !== null && unreadCount > 0)
  const chosen = unread.find(({ unreadCount, bookCount }) => unreadCount !== bookCount) ?? unread[0]
  const next = useQuery({ ...nextBookQuery(chosen?.id ?? ''), enabled: chosen !== undefined }).data?.book
  return (
    <>
      <ListProgress read={read} total={total} />
      {next && next.pageCount > 0 && (
        <div className="line">
          <Link className="btn main big" href={`/books/${next.id}/read`}>
            <Icon of={Play} />
            <bdi className="clip">
              {read > 0 || next.readProgress ? listTexts.continueWith({ title: next.title }) : listTexts.startWith({ title: next.title })}
            </bdi>
          </Link>
        </div>
      )}
    </>
  )
}

function seriesOf(collectionId: string): ListSource<SeriesRecord> {
  return {
    key: ['collection', collectionId, 'series'],
    fetch: (page, signal) =>
      ask(
        api.GET('/api/v1/collections/{collectionId}/series', {
          params: { path: { collectionId }, query: { page, pageSize: LIST_PAGE_SIZE } },
          signal,
        }),
      ) as Promise<Listed<SeriesRecord>>,
  }
}
