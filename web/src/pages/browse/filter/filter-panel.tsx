import { Bookmark, X } from 'lucide-react'
import { type FormEvent, useId, useLayoutEffect, useRef } from 'react'
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
  const box = useRef<HTMLDialogElement>(null)
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
  useLayoutEffect(() => box.current?.showModal(), [])
  const change = changeOf(kind, root)
  const isLong = isTooLong(change)
  const isBad = written.faults.size > 0 || isLong
  const finish = (done: (change: WhereChange) => void) => {
    tryAll()
    if (isBad) return
    box.current?.close()
    done(change)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    finish(onApply)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it for the keyboard
    <dialog
      ref={box}
      className={style['panel']}
      aria-labelledby={id}
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <form className={style['form']} onSubmit={submit}>
        <header className="head">
          <h2 className="section-title" id={id}>
            {filterTexts.title()}
          </h2>
          <div className="end">
            <button type="button" className="icon-btn" aria-label={filterTexts.close()} onClick={() => box.current?.close()}>
              <Icon of={X} />
            </button>
          </div>
        </header>
        <div className={style['conds']}>
          <FilterGroup group={root} builder={builder} />
          {isLong && <p className={style['fault']}>{filterTexts.tooLong()}</p>}
          {countLines(root) >= LINES_MAX && <p className={style['fault']}>{filterTexts.tooMany({ max: LINES_MAX })}</p>}
          {refused?.lineId === null && counted.error && <Failure error={counted.error} />}
        </div>
        <footer className={style['foot']}>
          <Count kind={kind} counted={counted} />
          <button type="button" className="btn plain" disabled={root.parts.length === 0} onClick={() => setRoot(newGroup('all'))}>
            {filterTexts.clear()}
          </button>
          <button type="button" className="btn" onClick={() => finish(onSave)}>
            <Icon of={Bookmark} />
            {viewTexts.saveAs()}
          </button>
          <button type="submit" className="btn main">
            {showWords(kind, counted.count)}
          </button>
        </footer>
      </form>
    </dialog>
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
