import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { keepReadingQuery, onDeckQuery, recentlyAddedQuery, recentlyUpdatedQuery, SHELF_LENGTH, wantToReadQuery } from '#api/home.ts'
import { myPluginsQuery, type RecommendationRecord, recommendationsQuery } from '#api/plugins.ts'
import type { BookRecord, Listed, SeriesRecord } from '#api/records.ts'
import type { SavedView } from '#api/views.ts'
import { readBrowseAddress } from '#pages/browse/browse-address.ts'
import { bookSource, seriesSource } from '#pages/browse/browse-sources.ts'
import { whereOf } from '#pages/browse/filter/where.ts'
import { listPageQuery } from '#pages/browse/use-list-pages.ts'
import { hrefOfView } from '#pages/browse/views/view-address.ts'
import { CardBones } from '#parts/loading.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Failure } from '#parts/states.tsx'
import { BookCard, CardContent, SeriesCard } from '#parts/works/card.tsx'
import { Shelf } from '#parts/works/shelf.tsx'
import { homeTexts } from '#texts/home.ts'
import style from './home.module.css'
import { KeepReading } from './keep-reading.tsx'

/** Covers of shelves, in CSS pixels: `--cover-l`. */
const COVER_WIDTH = 168
/** As many as a wide window shows. */
const BONES = 8

export interface HomeShelf {
  id: string
  title: string
  show: () => ReactNode
  /** Whether it is not yet known that something is on it. */
  isLoading: boolean
}

/** The shelves that every user can have, in their usual order. */
const SHELVES: readonly Omit<HomeShelf, 'isLoading'>[] = [
  { id: 'reading', title: homeTexts.keepReading(), show: () => <Reading /> },
  { id: 'deck', title: homeTexts.onDeck(), show: () => <OnDeck /> },
  { id: 'recommended', title: homeTexts.recommended(), show: () => <Recommended /> },
  { id: 'added', title: homeTexts.recentlyAdded(), show: () => <Added /> },
  { id: 'updated', title: homeTexts.recentlyUpdated(), show: () => <Updated /> },
  { id: 'wanted', title: homeTexts.wantToRead(), show: () => <Wanted /> },
]

/**
 * All shelves of a user: pinned views come last, until they are moved.
 * @param isWanted whether what is on a shelf shall be asked for
 */
export function useHomeShelves(views: readonly SavedView[], isWanted: (id: string) => boolean): readonly HomeShelf[] {
  const plugins = useQuery({ ...myPluginsQuery, enabled: useMayDo('progress-read') })
  const provider = plugins.data?.enabled.find(isProvider)?.pluginId
  const enabledOf = (id: string) => ({ enabled: isWanted(id) })
  const loading: Readonly<Record<string, boolean>> = {
    reading: useQuery({ ...keepReadingQuery, ...enabledOf('reading') }).isLoading,
    deck: useQuery({ ...onDeckQuery, ...enabledOf('deck') }).isLoading,
    recommended: useQuery({
      ...recommendationsQuery(provider ?? ''),
      enabled: provider !== undefined && isWanted('recommended'),
    }).isLoading,
    added: useQuery({ ...recentlyAddedQuery, ...enabledOf('added') }).isLoading,
    updated: useQuery({ ...recentlyUpdatedQuery, ...enabledOf('updated') }).isLoading,
    wanted: useQuery({ ...wantToReadQuery, ...enabledOf('wanted') }).isLoading,
  }
  const usual = SHELVES.filter(({ id }) => id !== 'recommended' || provider !== undefined || plugins.isLoading)
  const pinned = views
    .filter(({ isPinned }) => isPinned)
    .map((view) => ({ id: `view:${view.id}`, title: view.name, isLoading: false, show: () => <ViewShelf key={view.id} view={view} /> }))
  return [
    ...usual.map((shelf) => ({ ...shelf, isLoading: loading[shelf.id] === true || (shelf.id === 'recommended' && plugins.isLoading) })),
    ...pinned,
  ]
}

type Plugin = { enabled: boolean; pause: unknown; capabilities: { userRecommendationProvider: unknown } }
const isProvider = ({ enabled, pause, capabilities }: Plugin): boolean =>
  enabled && pause === null && Boolean(capabilities.userRecommendationProvider)

interface RecordsProps<T> {
  title: string
  allHref: string
  found: UseQueryResult<Listed<T> | T[]>
  children: (record: T) => ReactNode
}

/** A shelf that is not there when nothing is on it. */
function Records<T extends BookRecord | SeriesRecord>({ title, allHref, found, children }: RecordsProps<T>) {
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

const bookCard = (book: BookRecord) => <BookCard book={book} width={COVER_WIDTH} />
const seriesCard = (series: SeriesRecord) => <SeriesCard series={series} width={COVER_WIDTH} />

function Reading() {
  const { data, error, refetch } = useQuery(keepReadingQuery)
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  return data && data.total > 0 ? <KeepReading books={data.data} total={data.total} /> : null
}

function OnDeck() {
  return (
    <Records title={homeTexts.onDeck()} allHref="/books?shelf=on-deck" found={useQuery(onDeckQuery)}>
      {bookCard}
    </Records>
  )
}

function Added() {
  return (
    <Records title={homeTexts.recentlyAdded()} allHref="/books?sort=created_at,desc" found={useQuery(recentlyAddedQuery)}>
      {bookCard}
    </Records>
  )
}

function Updated() {
  return (
    <Records title={homeTexts.recentlyUpdated()} allHref="/series?sort=updated_at,desc" found={useQuery(recentlyUpdatedQuery)}>
      {seriesCard}
    </Records>
  )
}

function Wanted() {
  return (
    <Records title={homeTexts.wantToRead()} allHref="/want-to-read" found={useQuery(wantToReadQuery)}>
      {(series) => <SeriesCard series={series} width={COVER_WIDTH} isWanted />}
    </Records>
  )
}

/** The first series or books of a pinned view. */
function ViewShelf({ view }: { view: SavedView }) {
  const { kind, libraryId, search, name } = view
  const address = readBrowseAddress(kind, search)
  // A view of another version, whose conditions are not understood here, would show something else.
  const isUnderstood = address.where === null || whereOf(kind, address.where) !== null
  const known = isUnderstood ? address : { ...address, where: null }
  const books = useQuery({ ...listPageQuery(bookSource(known, libraryId, SHELF_LENGTH), 1), enabled: isUnderstood && kind === 'books' })
  const series = useQuery({ ...listPageQuery(seriesSource(known, libraryId, SHELF_LENGTH), 1), enabled: isUnderstood && kind === 'series' })
  if (!isUnderstood) return null
  const shared = { title: name, allHref: hrefOfView(view) }
  return kind === 'books' ? (
    <Records {...shared} found={books}>
      {bookCard}
    </Records>
  ) : (
    <Records {...shared} found={series}>
      {seriesCard}
    </Records>
  )
}

/** What the first plugin that recommends has found, with its reasons. */
function Recommended() {
  const pluginId = useQuery(myPluginsQuery).data?.enabled.find(isProvider)?.pluginId
  const { data, error, refetch } = useQuery({ ...recommendationsQuery(pluginId ?? ''), enabled: pluginId !== undefined })
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data || data.recommendations.length === 0) return null
  return (
    <div className={style['reasons']}>
      <Shelf title={homeTexts.recommended()} allHref="/recommendations" total={data.recommendations.length}>
        {data.recommendations.slice(0, SHELF_LENGTH).map((each) => (
          <li key={each.externalId}>
            <RecommendationCard recommendation={each} />
          </li>
        ))}
      </Shelf>
    </div>
  )
}

function RecommendationCard({ recommendation }: { recommendation: RecommendationRecord }) {
  const { title, reason, serviceSeriesId, coverUrl } = recommendation
  const path = serviceSeriesId ? `api/v1/series/${serviceSeriesId}/thumbnail` : (coverUrl ?? null)
  return (
    <CardContent
      href={serviceSeriesId ? `/series/${serviceSeriesId}` : '/recommendations'}
      title={title}
      words={<span title={reason}>{reason}</span>}
      cover={{ path, known: null, mark: null }}
      width={COVER_WIDTH}
    />
  )
}
