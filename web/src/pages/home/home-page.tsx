import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { BookOpen } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { keepReadingQuery, onDeckQuery, recentlyAddedQuery, recentlyUpdatedQuery, wantToReadQuery } from '#api/home.ts'
import type { BookRecord, Listed, SeriesRecord } from '#api/records.ts'
import { CardBones } from '#parts/loading.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { BookCard, SeriesCard } from '#parts/works/card.tsx'
import { Shelf } from '#parts/works/shelf.tsx'
import { homeTexts } from '#texts/home.ts'
import style from './home.module.css'
import { KeepReading } from './keep-reading.tsx'

/** Covers of shelves, in CSS pixels: `--cover-l`. */
const COVER_WIDTH = 168
/** As many as a wide window shows. */
const BONES = 8

export default function HomePage() {
  const reading = useQuery(keepReadingQuery)
  const deck = useQuery(onDeckQuery)
  const added = useQuery(recentlyAddedQuery)
  const updated = useQuery(recentlyUpdatedQuery)
  const wanted = useQuery(wantToReadQuery)
  const isEmpty = added.data?.total === 0 && updated.data?.length === 0
  return (
    <div className={style['home']}>
      <h1 className="visually-hidden">{homeTexts.title()}</h1>
      {isEmpty && <NoBooks />}
      {reading.data && reading.data.total > 0 && <KeepReading books={reading.data.data} total={reading.data.total} />}
      {reading.error && <Failure error={reading.error} onRetry={() => void reading.refetch()} />}
      <HomeShelf title={homeTexts.onDeck()} allHref="/books?shelf=on-deck" found={deck}>
        {(book) => <BookCard book={book} width={COVER_WIDTH} />}
      </HomeShelf>
      <HomeShelf title={homeTexts.recentlyAdded()} allHref="/books?sort=created_at,desc" found={added}>
        {(book) => <BookCard book={book} width={COVER_WIDTH} />}
      </HomeShelf>
      <HomeShelf title={homeTexts.recentlyUpdated()} allHref="/series?sort=updated_at,desc" found={updated}>
        {(series) => <SeriesCard series={series} width={COVER_WIDTH} />}
      </HomeShelf>
      <HomeShelf title={homeTexts.wantToRead()} allHref="/want-to-read" found={wanted}>
        {(series) => <SeriesCard series={series} width={COVER_WIDTH} isWanted />}
      </HomeShelf>
    </div>
  )
}

interface HomeShelfProps<T> {
  title: string
  allHref: string
  found: UseQueryResult<Listed<T> | T[]>
  children: (record: T) => ReactNode
}

/** A shelf that is not there when nothing is on it. */
function HomeShelf<T extends BookRecord | SeriesRecord>({ title, allHref, found, children }: HomeShelfProps<T>) {
  if (found.error) return <Failure error={found.error} onRetry={() => void found.refetch()} />
  const records = Array.isArray(found.data) ? found.data : found.data?.data
  if (records?.length === 0) return null
  const total = Array.isArray(found.data) ? null : (found.data?.total ?? null)
  return (
    <Shelf title={title} allHref={allHref} total={total}>
      {records ? records.map((record) => <li key={record.id}>{children(record)}</li>) : <CardBones count={BONES} />}
    </Shelf>
  )
}

function NoBooks() {
  const mayAdd = useMayDo('libraries-write')
  return (
    <Empty icon={BookOpen} title={homeTexts.emptyTitle()} words={mayAdd ? homeTexts.emptyAdmin() : homeTexts.emptyReader()}>
      {mayAdd && (
        <Link className="btn main" href="/admin/libraries">
          {homeTexts.addLibrary()}
        </Link>
      )}
    </Empty>
  )
}
