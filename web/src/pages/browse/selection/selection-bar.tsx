import { useQuery } from '@tanstack/react-query'
import { Ellipsis, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { meQuery } from '#api/session.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { selectionTexts } from '#texts/selection.ts'
import { AddToListDialog } from './add-to-list-dialog.tsx'
import style from './selection.module.css'
import { BOOK_ACTIONS, type Given, SERIES_ACTIONS, type SelectionAction } from './selection-actions.ts'
import { SharingDialog } from './sharing-dialog.tsx'
import { TagsDialog } from './tags-dialog.tsx'
import type { UsedSelection } from './use-selection.ts'

/** So many actions stand in the bar of a wide window, the others in its menu. */
const SHOWN = 3

interface BarProps {
  selection: UsedSelection
  isBooks: boolean
  /** Where the focus goes when the bar is gone. */
  onEnd: () => void
}

/** What can be done with everything selected, at the foot of the window. */
export function SelectionBar({ selection, isBooks, onEnd }: BarProps) {
  const permissions = useQuery(meQuery).data?.permissions ?? []
  const actions = (isBooks ? BOOK_ACTIONS : SERIES_ACTIONS).filter(({ needs }) => permissions.includes(needs))
  const { running, start, stop } = useBulkWork(selection, onEnd)
  const [asked, setAsked] = useState<SelectionAction | null>(null)
  const begin = (action: SelectionAction) => (action.ask ? setAsked(action) : start(action))
  const { count, total } = selection
  return (
    <section className={`selection-bar ${style['bar']}`} aria-label={selectionTexts.title()}>
      <p className="count" role="status">
        {running ? runningWords(running) : selectionTexts.count({ count, total })}
      </p>
      {running ? (
        <button type="button" className="btn" onClick={stop}>
          {selectionTexts.stop()}
        </button>
      ) : (
        <>
          {count < total && (
            <button type="button" className={`btn plain ${style['all']}`} onClick={selection.selectAll}>
              {selectionTexts.all({ total })}
            </button>
          )}
          <Actions actions={actions} onAction={begin} />
          <button
            type="button"
            className="icon-btn"
            aria-label={selectionTexts.end()}
            onClick={() => {
              selection.clear()
              onEnd()
            }}
          >
            <Icon of={X} />
          </button>
        </>
      )}
      {asked && <Asked action={asked} isBooks={isBooks} count={count} onStart={start} onClose={() => setAsked(null)} />}
    </section>
  )
}

interface AskedProps {
  action: SelectionAction
  isBooks: boolean
  count: number
  onStart: (action: SelectionAction, given?: Given) => void
  onClose: () => void
}

/** What an action asks before it begins. */
function Asked({ action, isBooks, count, onStart, onClose }: AskedProps) {
  if (action.ask === 'list')
    return (
      <AddToListDialog
        isBooks={isBooks}
        onClose={onClose}
        onAdd={(to, name) => {
          onClose()
          onStart(action, { to, listName: name })
        }}
      />
    )
  if (action.ask === 'sharing')
    return (
      <SharingDialog
        count={count}
        onClose={onClose}
        onChange={(sharing) => {
          onClose()
          onStart(action, { sharing })
        }}
      />
    )
  if (action.ask === 'names')
    return (
      <TagsDialog
        isBooks={isBooks}
        count={count}
        onClose={onClose}
        onChange={(names) => {
          onClose()
          onStart(action, { names })
        }}
      />
    )
  return (
    <Dialog
      title={selectionTexts.confirmMissingTitle()}
      action={selectionTexts.confirmMissingAction()}
      isDangerous
      onAction={() => {
        onClose()
        onStart(action)
      }}
      onClose={onClose}
    >
      <p>{selectionTexts.confirmMissing()}</p>
    </Dialog>
  )
}

interface ActionsProps {
  actions: readonly SelectionAction[]
  onAction: (action: SelectionAction) => void
}

function Actions({ actions, onAction }: ActionsProps) {
  const more = actions.slice(SHOWN)
  const { openFrom, menu } = useMenu(selectionTexts.more(), () =>
    more.map((action) => ({
      text: action.text,
      icon: action.icon,
      ...(action.isDangerous ? { isDangerous: true } : {}),
      run: () => onAction(action),
    })),
  )
  return (
    <>
      {actions.length > 0 && <span className="rule" />}
      {actions.slice(0, SHOWN).map((action) => (
        <button
          key={action.text}
          type="button"
          className={`btn plain ${style['action']}`}
          aria-label={action.text}
          title={action.text}
          onClick={() => onAction(action)}
        >
          <Icon of={action.icon} />
          <span>{action.text}</span>
        </button>
      ))}
      {more.length > 0 && (
        <button type="button" className="icon-btn" aria-label={selectionTexts.more()} aria-haspopup="menu" onClick={openFrom}>
          <Icon of={Ellipsis} />
        </button>
      )}
      {menu}
    </>
  )
}

interface Running {
  /** Still finding out what is selected, or already at it. */
  isReading: boolean
  done: number
  total: number
}

const runningWords = ({ isReading, done, total }: Running) =>
  isReading ? selectionTexts.reading({ done, total }) : selectionTexts.running({ done, total })

/** Runs an action over everything selected, until it is stopped. */
function useBulkWork(selection: UsedSelection, onEnd: () => void) {
  const [running, setRunning] = useState<Running | null>(null)
  const abort = useRef<AbortController | null>(null)
  const start = async (action: SelectionAction, given: Given = {}) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    let [done, total] = [0, selection.count]
    setRunning({ isReading: true, done, total: selection.total })
    try {
      const ids = await selection.collect((read) => setRunning({ isReading: true, done: read, total: selection.total }), signal)
      total = ids.length
      setRunning({ isReading: false, done, total })
      const onDone = (now: number) => {
        done = now
        setRunning({ isReading: false, done, total })
      }
      await action.work(given)(ids, onDone, signal)
      const said = action.said({ count: total })
      say(action.ask === 'list' ? selectionTexts.added({ count: said, list: given.listName ?? '' }) : said)
      selection.clear()
      onEnd()
    } catch (error) {
      if (signal.aborted) say(selectionTexts.stopped({ done, total }))
      else sayFailure(error)
    } finally {
      setRunning(null)
    }
  }
  return { running, start: (...given: Parameters<typeof start>) => void start(...given), stop: () => abort.current?.abort() }
}
