import { Check, CircleAlert, X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { Icon } from '#parts/icon.tsx'
import { partTexts } from '#texts/parts.ts'
import style from './toasts.module.css'

interface Toast {
  id: number
  text: string
  isBad: boolean
  undo: (() => void) | null
}

/** Long enough to read a sentence and to reach Undo. */
const SHOWN_MS = 8_000
/** More would hide the page. */
const TOASTS_MAX = 3

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

const close = (id: number) => set(toasts.filter((each) => each.id !== id))

/** Says for a moment what happened, and offers to take it back. */
export function say(text: string, undo: (() => void) | null = null, isBad = false): void {
  const id = ++lastId
  set([...toasts.slice(1 - TOASTS_MAX), { id, text, isBad, undo }])
  setTimeout(() => close(id), SHOWN_MS)
}

/** Says that something failed, with the sentence of the server. */
export const sayFailure = (error: unknown): void => say(error instanceof Error ? error.message : String(error), null, true)

/** The place of `say` at the foot of the window; once in the frame. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div className={style['place']} role="status" aria-live="polite">
      {shown.map(({ id, text, isBad, undo }) => (
        <div className="toast" key={id}>
          <Icon of={isBad ? CircleAlert : Check} />
          <span dir="auto">{text}</span>
          {undo && (
            <button
              type="button"
              className="btn"
              onClick={() => {
                close(id)
                undo()
              }}
            >
              {partTexts.undo()}
            </button>
          )}
          <button type="button" className="icon-btn" aria-label={partTexts.close()} onClick={() => close(id)}>
            <Icon of={X} />
          </button>
        </div>
      ))}
    </div>
  )
}
