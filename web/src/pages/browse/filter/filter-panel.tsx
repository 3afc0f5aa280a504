import { Bookmark, X } from 'lucide-react'
import { useId } from 'react'
import { useModal, useScrim } from '#parts/above/use-modal.ts'
import { Icon } from '#parts/icon.tsx'
import { Failure } from '#parts/states.tsx'
import { filterTexts } from '#texts/filter.ts'
import { viewTexts } from '#texts/views.ts'
import type { BrowseAddress, BrowseKind } from '../browse-address.ts'
import { countLines, LINES_MAX, newGroup } from './draft.ts'
import style from './filter.module.css'
import { FilterGroup } from './filter-group.tsx'
import { useBuilder } from './use-builder.ts'
import { changeOf, draftOf, isTooLong, type WhereChange } from './where.ts'

interface PanelProps {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  onApply: (change: WhereChange) => void
  /** Shows and saves. */
  onSave: (change: WhereChange) => void
  onClose: () => void
}

/** The builder for all conditions that the API knows, at the side of the list; a sheet on phones. */
export default function FilterPanel({ kind, libraryId, address, onApply, onSave, onClose }: PanelProps) {
  const box = useModal()
  const scrim = useScrim()
  const id = useId()
  const {
    root,
    setRoot,
    written,
    counted,
    refused,
    builder,
    try: tryAll,
  } = useBuilder({ kind, libraryId, address, first: draftOf(kind, address) })
  const change = changeOf(kind, root)
  const isLong = isTooLong(change)
  const finish = (done: (change: WhereChange) => void) => {
    tryAll()
    if (written.faults.size > 0 || isLong) return
    box.current?.close()
    done(change)
  }
  return (
    <dialog ref={box} className={style['panel']} aria-labelledby={id} onClose={onClose} {...scrim}>
      <form
        className={style['form']}
        onSubmit={(event) => {
          event.preventDefault()
          finish(onApply)
        }}
      >
        <Head id={id} onClose={() => box.current?.close()} />
        <div className={style['conds']}>
          <FilterGroup group={root} builder={builder} />
          <Refusals isLong={isLong} isMany={countLines(root) >= LINES_MAX} error={refused?.lineId === null ? counted.error : null} />
        </div>
        <Foot
          kind={kind}
          counted={counted}
          isEmpty={root.parts.length === 0}
          onClear={() => setRoot(newGroup('all'))}
          onSave={() => finish(onSave)}
        />
      </form>
    </dialog>
  )
}

function Head({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <header className="head">
      <h2 className="section-title" id={id}>
        {filterTexts.title()}
      </h2>
      <div className="end">
        <button type="button" className="icon-btn" aria-label={filterTexts.close()} onClick={onClose}>
          <Icon of={X} />
        </button>
      </div>
    </header>
  )
}

/** What is wrong with the whole. */
function Refusals({ isLong, isMany, error }: { isLong: boolean; isMany: boolean; error: Error | null }) {
  return (
    <>
      {isLong && <p className={style['fault']}>{filterTexts.tooLong()}</p>}
      {isMany && <p className={style['fault']}>{filterTexts.tooMany({ max: LINES_MAX })}</p>}
      {error && <Failure error={error} />}
    </>
  )
}

interface FootProps extends CountProps {
  isEmpty: boolean
  onClear: () => void
  onSave: () => void
}

function Foot({ kind, counted, isEmpty, onClear, onSave }: FootProps) {
  return (
    <footer className={style['foot']}>
      <Count kind={kind} counted={counted} />
      <button type="button" className="btn plain" disabled={isEmpty} onClick={onClear}>
        {filterTexts.clear()}
      </button>
      <button type="button" className="btn" disabled={isEmpty} onClick={onSave}>
        <Icon of={Bookmark} />
        {viewTexts.saveAs()}
      </button>
      <button type="submit" className="btn main">
        {showWords(kind, counted.count)}
      </button>
    </footer>
  )
}

function showWords(kind: BrowseKind, count: number | null): string {
  if (count === null) return filterTexts.show()
  return kind === 'series' ? filterTexts.showSeries({ count }) : filterTexts.showBooks({ count })
}

interface CountProps {
  kind: BrowseKind
  counted: { count: number | null; all: number | null; isCounting: boolean }
}

function Count({ kind, counted: { count, all, isCounting } }: CountProps) {
  if (count === null) return <p role="status">{isCounting ? filterTexts.counting() : ''}</p>
  return (
    <p role="status" className={isCounting ? 'quiet' : undefined}>
      <b>{kind === 'series' ? filterTexts.seriesOf({ count }) : filterTexts.booksOf({ count })}</b>{' '}
      {all !== null && <span className="quiet">{filterTexts.ofAll({ total: all })}</span>}
    </p>
  )
}
