import type { BookRecord, SeriesRecord } from '#api/records.ts'
import { BookCard, SeriesCard } from '#parts/works/card.tsx'
import type { Pickable } from '#parts/works/pick-box.tsx'
import style from './browse.module.css'
import { entryOfBook, entryOfSeries, ListEntry, TableEntry } from './entry.tsx'
import type { BrowseView } from './row-layout.ts'
import type { Column } from './table/columns.tsx'

export type Work = BookRecord | SeriesRecord

interface ItemProps {
  record: Work | undefined
  view: BrowseView
  width: number
  isInSeries: boolean
  tabIndex: 0 | -1
  pick: Pickable
  columns: readonly Column<never>[]
  template: string
}

/** A book or series as a card, a line of the list or a line of the table; its empty place until its record is there. */
export function WorkItem({ record, view, width, isInSeries, tabIndex, pick, columns, template }: ItemProps) {
  if (!record) return <Waiting view={view} />
  const isBook = 'seriesName' in record
  if (view === 'grid')
    return isBook ? (
      <BookCard book={record} width={width} isInSeries={isInSeries} level={isInSeries ? 3 : 2} tabIndex={tabIndex} pick={pick} />
    ) : (
      <SeriesCard series={record} width={width} level={2} tabIndex={tabIndex} pick={pick} />
    )
  const entry = isBook ? entryOfBook(record, isInSeries) : entryOfSeries(record)
  return view === 'list' ? (
    <ListEntry entry={entry} tabIndex={tabIndex} pick={pick} />
  ) : (
    <TableEntry {...{ entry, tabIndex, pick, columns, template }} />
  )
}

function Waiting({ view }: { view: BrowseView }) {
  if (view === 'grid')
    return (
      <div className="card" aria-hidden="true">
        <span className="cover" />
      </div>
    )
  return <div className={style['entry']} aria-hidden="true" />
}
