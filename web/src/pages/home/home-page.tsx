import { useQuery } from '@tanstack/react-query'
import { BookOpen, SlidersHorizontal } from 'lucide-react'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { recentlyAddedQuery } from '#api/home.ts'
import { homeOrderQuery } from '#api/home-order.ts'
import { viewsQuery } from '#api/views.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty } from '#parts/states.tsx'
import { homeTexts } from '#texts/home.ts'
import { ArrangeDialog } from './arrange-dialog.tsx'
import style from './home.module.css'
import { inOrder, readHomeOrder } from './home-order.ts'
import { useHomeShelves } from './shelves.tsx'

/** Shelves that are asked for beside the order. */
const FIRST: ReadonlySet<string> = new Set(['reading', 'deck', 'added'])

export default function HomePage() {
  const added = useQuery(recentlyAddedQuery)
  const order = useQuery(homeOrderQuery)
  const views = useQuery(viewsQuery)
  const kept = readHomeOrder(order.data)
  const shelves = useHomeShelves(views.data ?? [], (id) => (order.isPending ? FIRST.has(id) : !kept.hidden.includes(id)))
  const mayArrange = useMayDo('progress-write')
  const [isArranging, setIsArranging] = useState(false)
  const ids = shelves.map(({ id }) => id)
  const shown = inOrder(ids, kept)
    .filter((id) => !kept.hidden.includes(id))
    .flatMap((id) => shelves.find((shelf) => shelf.id === id) ?? [])
  // Nothing stands below a shelf that may turn out to be empty, as it would move up then.
  const loading = shown.findIndex(({ isLoading }) => isLoading)
  const settled = loading === -1 ? shown : shown.slice(0, loading + 1)
  const isEmpty = added.data?.total === 0
  // Without the order nothing is shown for a moment, as shelves that jump would be worse. A failure shows the usual order.
  const isKnown = !order.isPending
  return (
    <div className={style['home']}>
      <h1 className="visually-hidden">{homeTexts.title()}</h1>
      {isEmpty && <NoBooks />}
      {isKnown && settled.map(({ id, show }) => <Fragment key={id}>{show()}</Fragment>)}
      {isKnown && shown.length === 0 && <p className="quiet">{homeTexts.allHidden()}</p>}
      {isKnown && loading === -1 && mayArrange && !isEmpty && (
        <button type="button" className={`btn plain ${style['usual']}`} aria-haspopup="dialog" onClick={() => setIsArranging(true)}>
          <Icon of={SlidersHorizontal} />
          {homeTexts.arrange()}
        </button>
      )}
      {isArranging && <ArrangeDialog shelves={shelves} kept={kept} onClose={() => setIsArranging(false)} />}
    </div>
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
