import { useQuery } from '@tanstack/react-query'
import { Layers } from 'lucide-react'
import { useMemo } from 'react'
import { useParams } from 'wouter'
import { api, ask } from '#api/client.ts'
import { collectionQuery } from '#api/lists.ts'
import type { Listed, SeriesRecord } from '#api/records.ts'
import { LIST_PAGE_SIZE, type ListSource } from '#pages/browse/use-list-pages.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { Crumbs } from '#parts/works/hero.tsx'
import { listTexts } from '#texts/lists.ts'
import { SeriesShelf } from './series-shelf.tsx'

export default function CollectionPage() {
  const { collectionId } = useParams<{ collectionId: string }>()
  const { data, error, refetch } = useQuery(collectionQuery(collectionId))
  const source = useMemo(() => seriesOf(collectionId), [collectionId])
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return null
  return (
    <>
      <Crumbs crumbs={[{ text: listTexts.collections(), href: '/collections' }, { text: data.name }]} />
      <SeriesShelf
        title={data.name}
        summary={data.summary}
        source={source}
        empty={<Empty icon={Layers} title={listTexts.collectionEmpty()} />}
      />
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
