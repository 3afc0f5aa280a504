import { usePrefetchQuery, useQuery } from '@tanstack/react-query'
import { BookOpen, SlidersHorizontal } from 'lucide-react'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { keepReadingQuery, onDeckQuery, recentlyAddedQuery } from '#api/home.ts'
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

export default function HomePage() {
  // The first shelves are asked for beside the order.
  usePrefetchQuery(keepReadingQuery)
  usePrefetchQuery(onDeckQuery)
  const added = useQuery(recentlyAddedQuery)
  const order = useQuery(homeOrderQuery)
  const views = useQuery(viewsQuery)
  const shelves = useHomeShelves(views.data ?? [])
  const mayArrange = useMayDo('progress-write')
  const [isArranging, setIsArranging] = useState(false)
  const kept = readHomeOrder(order.data)
  const ids = shelves.map(({ id }) => id)
  const shown = inOrder(ids, kept).filter((id) => !kept.hidden.includes(id))
  const isEmpty = added.data?.total === 0
  // Without the order nothing is shown for a moment, as shelves that jump would be worse. A failure shows the usual order.
  const isKnown = !order.isPending
  return (
    <div className={style['home']}>
      <h1 className="visually-hidden">{homeTexts.title()}</h1>
      {isEmpty && <NoBooks />}
      {isKnown && shown.map((id) => <Fragment key={id}>{shelves.find((shelf) => shelf.id === id)?.show()}</Fragment>)}
      {isKnown && shown.length === 0 && <p className="quiet">{homeTexts.allHidden()}</p>}
      {isKnown && mayArrange && !isEmpty && (
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
