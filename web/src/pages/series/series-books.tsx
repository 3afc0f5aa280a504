import { BookCheck, Layers, LayoutGrid, List } from 'lucide-react'
import { useId, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { api, ask } from '#api/client.ts'
import type { BookCondition, BookRecord, FullSeriesRecord, Listed } from '#api/records.ts'
import { BOOKS_MAX } from '#api/series.ts'
import { changeAddress, readBrowseAddress } from '#pages/browse/browse-address.ts'
import { keepLook, withKeptLook } from '#pages/browse/kept-look.ts'
import { LIST_PAGE_SIZE, type ListSource } from '#pages/browse/use-list-pages.ts'
import { WorkList } from '#pages/browse/work-list.tsx'
import { Segments, Select } from '#parts/controls.tsx'
import { Empty } from '#parts/states.tsx'
import { browseTexts } from '#texts/browse.ts'
import { seriesTexts } from '#texts/series.ts'
import { workTexts } from '#texts/works.ts'
import { VolumeBooks } from './volume-books.tsx'

const SCOPE = 'series-page'

/** The books of a series in their order. */
export function SeriesBooks({ series }: { series: FullSeriesRecord }) {
  const id = useId()
  const [path, navigate] = useLocation()
  const search = useSearch()
  const { view, size, show } = readBrowseAddress('books', withKeptLook(SCOPE, search))
  const [total, setTotal] = useState<number | null>(null)
  const isUnread = show === 'unread'
  const hasVolumes = volumesWorthwhile(series)
  const isByVolume = hasVolumes && new URLSearchParams(search).get('by') === 'volume'
  const change = (changed: Record<string, string>) => {
    keepLook(SCOPE, changed)
    navigate(path + changeAddress(search, changed), { replace: true })
  }
  return (
    <section className="stack" aria-labelledby={id}>
      <header className="head">
        <h2 className="section-title" id={id}>
          {workTexts.books()} {total !== null && !isByVolume && <span className="faint">{total.toLocaleString('en')}</span>}
        </h2>
        <div className="end">
          <Select
            isSoft
            label={workTexts.show()}
            value={isUnread ? 'unread' : 'all'}
            options={[
              { value: 'all', text: workTexts.allBooks() },
              { value: 'unread', text: workTexts.unreadOnly() },
            ]}
            onChange={(value) => change({ show: value })}
          />
          <Segments
            label={browseTexts.view()}
            value={isByVolume ? 'volumes' : view === 'table' ? 'list' : view}
            options={[
              { value: 'grid', text: browseTexts.grid(), icon: LayoutGrid },
              { value: 'list', text: browseTexts.list(), icon: List },
              ...(hasVolumes ? [{ value: 'volumes' as const, text: seriesTexts.byVolume(), icon: Layers }] : []),
            ]}
            onChange={(value) => change(value === 'volumes' ? { by: 'volume' } : { view: value, by: '' })}
          />
        </div>
      </header>
      {isByVolume && <VolumeBooks seriesId={series.id} isUnread={isUnread} />}
      {!isByVolume && (
        <WorkList
          label={workTexts.books()}
          source={booksOf(series.id, isUnread)}
          view={view === 'table' ? 'list' : view}
          size={size}
          isBooks
          isInSeries
          empty={<Empty icon={BookCheck} title={isUnread ? workTexts.noUnread() : workTexts.noBooks()} />}
          onTotal={setTotal}
        />
      )}
    </section>
  )
}

/** Where each book is a volume, or none has one, the books in their order say the same. */
function volumesWorthwhile({ volumesOwned, bookCount }: FullSeriesRecord): boolean {
  return volumesOwned !== null && volumesOwned > 1 && volumesOwned < bookCount && bookCount <= BOOKS_MAX
}

function booksOf(seriesId: string, isUnread: boolean): ListSource<BookRecord> {
  const of: BookCondition = { seriesId: { operator: 'is', value: seriesId } }
  const condition: BookCondition = isUnread ? { allOf: [of, { readStatus: { operator: 'is', value: 'unread' } }] } : of
  return {
    key: ['books', 'of-series', seriesId, isUnread],
    fetch: (page, signal) =>
      ask(
        api.POST('/api/v1/books/list', {
          params: { query: { page, pageSize: LIST_PAGE_SIZE, sort: 'number,asc' } },
          body: { condition },
          signal,
        }),
      ) as Promise<Listed<BookRecord>>,
  }
}
