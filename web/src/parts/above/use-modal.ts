import { type MouseEvent, type PointerEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

/**
 * Opens a dialog above everything else, and gives the focus back when it is gone: browsers do that for a dialog that is closed, not for one that is
 * removed, as after its main action.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null)
  const [before] = useState(() => document.activeElement)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  // Not at the end of the effect above: the dialog is still there then, and nothing below it can take the focus.
  useEffect(() => () => giveFocusBack(before), [before])
  return dialog
}

/** To where it was; to the page where that is gone, so that a keyboard does not begin at the top of the window. */
function giveFocusBack(before: Element | null): void {
  // The browser gave it back itself, or another dialog has it.
  if (!isLost()) return
  if (before instanceof HTMLElement) before.focus({ preventScroll: true })
  if (isLost()) document.querySelector('main')?.focus({ preventScroll: true })
}

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body

interface Scrim {
  onPointerDown: (event: PointerEvent<HTMLDialogElement>) => void
  onInput: () => void
  onClick: (event: MouseEvent<HTMLDialogElement>) => void
}

/**
 * Lets a click beside the box close a dialog: one that began there, as selecting text may end there. Once something in the box was entered or pressed,
 * only its buttons and Escape close it, or a click that missed would lose that.
 */
export function useScrim(): Scrim {
  const press = useRef({ isOutside: false, isUsed: false })
  return {
    onPointerDown: ({ target, currentTarget }) => {
      press.current.isOutside = target === currentTarget
    },
    onInput: () => {
      press.current.isUsed = true
    },
    onClick: ({ target, currentTarget }) => {
      const { isOutside, isUsed } = press.current
      if (target === currentTarget && isOutside && !isUsed) currentTarget.close()
      else if (target instanceof Element && target.closest('button')) press.current.isUsed = true
    },
  }
}
