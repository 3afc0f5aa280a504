import { useEffect, useRef } from 'react'
import { hasLetterKeys } from '#parts/shortcuts.ts'
import type { Direction } from '../pages/page-rules.ts'
import { actionOfKey, type PressedKey, type ReaderAction } from './keys.ts'

export type ReaderActions = Partial<Record<ReaderAction, (isRepeat: boolean) => void>>

/** Reads keys of the document, and of others such as a chapter's: `handle` takes their events. Fields and dialogs keep their own keys. */
export function useReaderKeys(direction: Direction, actions: ReaderActions): { handle(event: KeyboardEvent): void } {
  const latest = useRef({ direction, actions })
  latest.current = { direction, actions }
  const keys = useRef({
    handle(event: KeyboardEvent) {
      if (event.defaultPrevented || isTyping(event)) return
      const action = actionOfKey(event satisfies PressedKey, latest.current.direction, hasLetterKeys())
      const run = action && latest.current.actions[action]
      if (!run) return
      event.preventDefault()
      run(event.repeat)
    },
  })
  useEffect(() => {
    const { handle } = keys.current
    addEventListener('keydown', handle)
    return () => removeEventListener('keydown', handle)
  }, [])
  return keys.current
}

/** Space and Enter press a focused button; arrows move a slider and a choice. */
function isTyping({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false
  if (key === 'Escape') return false
  if (target.closest('input, textarea, select, [contenteditable]')) return true
  return (key === ' ' || key === 'Enter') && target.closest('button, a') !== null
}
