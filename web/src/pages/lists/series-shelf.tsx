import { LayoutGrid, List } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { SeriesRecord } from '#api/records.ts'
import { changeAddress, readBrowseAddress } from '#pages/browse/browse-address.ts'
import { keepLook, withKeptLook } from '#pages/browse/kept-look.ts'
import type { ListSource } from '#pages/browse/use-list-pages.ts'
import { WorkList } from '#pages/browse/work-list.tsx'
import { Segments } from '#parts/controls.tsx'
import { browseTexts } from '#texts/browse.ts'
import { listTexts } from '#texts/lists.ts'
import style from './lists.module.css'

const SCOPE = 'series-shelf'

interface SeriesShelfProps {
  title: string
  summary?: string | null
  source: ListSource<SeriesRecord>
  empty: ReactNode
  /** Buttons beside the title. */
  tools?: ReactNode
  /** Below the title. */
  head?: ReactNode
  /** In place of the list, while it is being ordered. */
  arranged?: ReactNode
}

/** The series of a collection, or of the list of the user. */
export function SeriesShelf({ title, summary, source, empty, tools, head, arranged }: SeriesShelfProps) {
  const [path, navigate] = useLocation()
  const search = useSearch()
  const { view, size } = readBrowseAddress('series', withKeptLook(SCOPE, search))
  const [total, setTotal] = useState<number | null>(null)
  const shown = view === 'table' ? 'list' : view
  const change = (changed: Record<string, string>) => {
    keepLook(SCOPE, changed)
    navigate(path + changeAddress(search, changed), { replace: true })
  }
  return (
    <div className={style['page']}>
      <header className="head">
        <div>
          <h1 className="page-title" dir="auto">
            {title}
          </h1>
          <p className="quiet" role="status">
            {total === null ? '\u00a0' : listTexts.seriesCount({ count: total })}
          </p>
        </div>
        <div className="end">
          {tools}
          {!arranged && (
            <Segments
              label={browseTexts.view()}
              value={shown}
              options={[
                { value: 'grid', text: browseTexts.grid(), icon: LayoutGrid },
                { value: 'list', text: browseTexts.list(), icon: List },
              ]}
              onChange={(value) => change({ view: value })}
            />
          )}
        </div>
      </header>
      {summary && (
        <p className="prose" dir="auto">
          {summary}
        </p>
      )}
      {head}
      {arranged || <WorkList label={title} source={source} view={shown} size={size} isBooks={false} empty={empty} onTotal={setTotal} />}
    </div>
  )
}
