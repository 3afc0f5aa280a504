import { useQuery } from '@tanstack/react-query'
import { BookOpen, CircleAlert } from 'lucide-react'
import { useMemo, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import type { LibraryRecord } from '#api/records.ts'
import { viewsQuery } from '#api/views.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty } from '#parts/states.tsx'
import { browseTexts } from '#texts/browse.ts'
import { filterTexts } from '#texts/filter.ts'
import style from './browse.module.css'
import { type AddressChange, type BrowseAddress, type BrowseKind, changeAddress, isFiltered, readBrowseAddress } from './browse-address.ts'
import { bookSource, seriesSource } from './browse-sources.ts'
import { BrowseTools } from './browse-tools.tsx'
import { whereOf } from './filter/where.ts'
import { keepLook, withKeptLook } from './kept-look.ts'
import { Letters } from './letters.tsx'
import { readColumns } from './table/columns.tsx'
import { viewOf } from './views/view-address.ts'
import { NothingMatches, WorkList } from './work-list.tsx'
import { dateOfSort } from './year-places.ts'
import { Years } from './years.tsx'

interface BrowseProps {
  kind: BrowseKind
  /** Null for all libraries. */
  libraryId: string | null
}

/** All series or books of a library, or of all. */
export function BrowsePage({ kind, libraryId }: BrowseProps) {
  const [path, navigate] = useLocation()
  const search = useSearch()
  const scope = `${libraryId ?? 'all'}.${kind}`
  const said = readBrowseAddress(kind, withKeptLook(scope, search))
  const where = useMemo(() => whereOf(kind, said.where), [kind, said.where])
  // What is not understood cannot be asked for.
  const address = where || said.where === null ? said : { ...said, where: null }
  const libraries = useQuery(librariesQuery)
  const library = libraries.data?.find(({ id }) => id === libraryId) ?? null
  const [total, setTotal] = useState<number | null>(null)
  const change = (changed: AddressChange) => {
    const isLook = 'view' in changed || 'size' in changed || 'columns' in changed
    keepLook(scope, changed)
    navigate(path + changeAddress(search, changed), { replace: isLook })
  }
  return (
    <div className={style['browse']}>
      <BrowseHead kind={kind} libraryId={libraryId} library={library} address={address} total={total} />
      {!address.shelf && <Kinds kind={kind} libraryId={libraryId} library={library} />}
      <BrowseTools kind={kind} libraryId={libraryId} address={address} where={where} onChange={change} />
      {said.where !== null && !where && <NotUnderstood onRemove={() => change({ where: null })} />}
      <BrowseList
        kind={kind}
        libraryId={libraryId}
        address={address}
        onTotal={setTotal}
        onChange={change}
        onClear={() => navigate(path + keepKind(search))}
      />
    </div>
  )
}

const keepKind = (search: string) => (new URLSearchParams(search).get('of') === 'books' ? '?of=books' : '')

/** An address of another version, or with nonsense. */
function NotUnderstood({ onRemove }: { onRemove: () => void }) {
  return (
    <div className="notice warn" role="alert">
      <Icon of={CircleAlert} />
      <p>{filterTexts.notUnderstood()}</p>
      <div className="line">
        <button type="button" className="btn" onClick={onRemove}>
          {filterTexts.removeFilter()}
        </button>
      </div>
    </div>
  )
}

interface HeadProps {
  kind: BrowseKind
  libraryId: string | null
  library: LibraryRecord | null
  address: BrowseAddress
  total: number | null
}

function BrowseHead({ kind, libraryId, library, address, total }: HeadProps) {
  const view = viewOf(useQuery(viewsQuery).data ?? [], { kind, libraryId, address })
  const all = kind === 'series' ? browseTexts.allSeries() : browseTexts.allBooks()
  const place = library?.name ?? all
  const title = address.shelf ? browseTexts.onDeck() : (view?.name ?? place)
  const count =
    total === null ? '' : kind === 'series' ? browseTexts.seriesCount({ count: total }) : browseTexts.bookCount({ count: total })
  return (
    <header className="head">
      <div>
        <h1 className="page-title" dir="auto">
          {title}
        </h1>
        <p className="quiet" role="status">
          {view && <bdi>{place} · </bdi>}
          {count || '\u00a0'}
        </p>
      </div>
    </header>
  )
}

/** Series or books of the same place. */
function Kinds({ kind, libraryId, library }: BrowseProps & { library: LibraryRecord | null }) {
  const path = libraryId ? `/libraries/${libraryId}` : ''
  const tabs = [
    { kind: 'series', href: path || '/series', text: browseTexts.series(), count: library?.seriesCount },
    { kind: 'books', href: path ? `${path}?of=books` : '/books', text: browseTexts.books(), count: library?.bookCount },
  ]
  return (
    <nav className="tabs" aria-label={browseTexts.kinds()}>
      {tabs.map((tab) => (
        <Link key={tab.kind} href={tab.href} aria-current={tab.kind === kind ? 'page' : undefined}>
          {tab.text} {tab.count === undefined ? null : <span className="count">{tab.count.toLocaleString('en')}</span>}
        </Link>
      ))}
    </nav>
  )
}

interface ListProps extends BrowseProps {
  address: BrowseAddress
  onTotal: (total: number | null) => void
  onChange: (change: AddressChange) => void
  onClear: () => void
}

function BrowseList({ kind, libraryId, address, onTotal, onChange, onClear }: ListProps) {
  const source = kind === 'series' ? seriesSource(address, libraryId) : bookSource(address, libraryId)
  const hasLetters = /^(name|title),/.test(address.sort) && !address.shelf
  const dates = address.shelf ? null : dateOfSort(kind, address.sort)
  const shared = { kind, address, libraryId }
  const rail = (topIndex: number, jump: (index: number) => void) =>
    dates ? <Years {...shared} dates={dates} onJump={jump} /> : <Letters {...shared} topIndex={topIndex} onJump={jump} />
  const empty = isFiltered(address) ? (
    <NothingMatches onClear={onClear} />
  ) : (
    <Empty icon={BookOpen} title={browseTexts.emptyTitle()} words={address.shelf ? browseTexts.emptyShelf() : browseTexts.emptyWords()} />
  )
  return (
    <WorkList
      label={kind === 'series' ? browseTexts.series() : browseTexts.books()}
      source={source}
      view={address.view}
      size={address.size}
      isBooks={kind === 'books'}
      empty={empty}
      onTotal={onTotal}
      table={{ columns: readColumns(kind, address.columns), sort: address.sort, onSort: (sort) => onChange({ sort }) }}
      {...(hasLetters || dates ? { rail } : {})}
    />
  )
}
