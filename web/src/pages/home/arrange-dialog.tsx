import { ArrowDown, ArrowUp } from 'lucide-react'
import { useLayoutEffect, useRef, useState } from 'react'
import { saveHomeOrder } from '#api/home-order.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { sayFailure } from '#parts/above/toasts.tsx'
import { Check } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { homeTexts } from '#texts/home.ts'
import style from './home.module.css'
import { type HomeOrder, inOrder, moved } from './home-order.ts'

interface ArrangeProps {
  /** In their usual order. */
  shelves: readonly { id: string; title: string }[]
  kept: HomeOrder
  onClose: () => void
}

/** Which shelves the home page has, and in which order. */
export function ArrangeDialog({ shelves, kept, onClose }: ArrangeProps) {
  const usual = shelves.map(({ id }) => id)
  const [order, setOrder] = useState(() => inOrder(usual, kept))
  const [hidden, setHidden] = useState<readonly string[]>(kept.hidden)
  const [last, setLast] = useState<{ id: string; by: -1 | 1 } | null>(null)
  const list = useRef<HTMLUListElement>(null)
  useLayoutEffect(() => {
    if (!last) return
    // A row that moves loses the focus.
    const buttons = list.current?.querySelectorAll<HTMLButtonElement>(`[data-shelf="${CSS.escape(last.id)}"] button`)
    buttons?.[last.by < 0 ? 0 : 1]?.focus()
  }, [last])
  const move = (id: string, by: -1 | 1) => {
    setOrder(moved(order, id, by))
    setLast({ id, by })
  }
  const save = () => {
    // Shelves that are not there at the moment keep what was chosen for them.
    const others = kept.order.filter((id) => !order.includes(id))
    saveHomeOrder({ order: [...order, ...others], hidden }).then(onClose, sayFailure)
  }
  const nameOf = (id: string) => shelves.find((shelf) => shelf.id === id)?.title ?? ''
  return (
    <Dialog title={homeTexts.arrangeTitle()} action={homeTexts.arrangeSave()} onAction={save} onClose={onClose}>
      <p className="quiet">{homeTexts.arrangeWords()}</p>
      <p className="visually-hidden" role="status">
        {last && homeTexts.moved({ name: nameOf(last.id), place: order.indexOf(last.id) + 1, total: order.length })}
      </p>
      <ul ref={list} className={style['arrange']}>
        {order.map((id, at) => (
          <li key={id} data-shelf={id}>
            <Check
              checked={!hidden.includes(id)}
              onChange={({ currentTarget }) => setHidden(currentTarget.checked ? hidden.filter((each) => each !== id) : [...hidden, id])}
            >
              <bdi>{nameOf(id)}</bdi>
            </Check>
            <Move name={nameOf(id)} isEnd={at === 0} by={-1} onMove={() => move(id, -1)} />
            <Move name={nameOf(id)} isEnd={at === order.length - 1} by={1} onMove={() => move(id, 1)} />
          </li>
        ))}
      </ul>
      <button
        type="button"
        className={`btn plain ${style['usual']}`}
        onClick={() => {
          setOrder(usual)
          setHidden([])
        }}
      >
        {homeTexts.usual()}
      </button>
    </Dialog>
  )
}

function Move({ name, isEnd, by, onMove }: { name: string; isEnd: boolean; by: -1 | 1; onMove: () => void }) {
  const label = by < 0 ? homeTexts.moveUp({ name }) : homeTexts.moveDown({ name })
  return (
    <button type="button" className="icon-btn" aria-label={label} aria-disabled={isEnd} onClick={onMove}>
      <Icon of={by < 0 ? ArrowUp : ArrowDown} />
    </button>
  )
}
