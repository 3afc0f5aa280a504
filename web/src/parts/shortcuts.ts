import { useEffect } from 'react'

/** Whether keys go into something that takes text. Checkboxes and sliders do not. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input:not([type="checkbox"], [type="range"]), textarea, select, [contenteditable]') !== null

const KEY = 'carrel.letter-keys'
let areOn: boolean | null = null

/** Whether single letters, digits and signs are keys, as they are until somebody turns them off: who speaks to the browser would press them by accident (WCAG 2.1.4). */
export function hasLetterKeys(): boolean {
  try {
    areOn ??= localStorage.getItem(KEY) !== 'off'
  } catch {
    areOn ??= true
  }
  return areOn
}

/** Keeps it in this browser. */
export function setLetterKeys(isOn: boolean): void {
  areOn = isOn
  try {
    if (isOn) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, 'off')
  } catch {
    // The browser refuses storage: the choice lasts until the page is closed.
  }
}

/** `/` outside of fields, and ctrl+K or command+K everywhere, open the search. */
export function useSearchKeys(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isSlash = event.key === '/' && hasLetterKeys() && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target)
      const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      if (!isSlash && !isK) return
      event.preventDefault()
      open()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [open])
}
