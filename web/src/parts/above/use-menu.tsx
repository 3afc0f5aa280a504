import { type MouseEvent, type PointerEvent, type ReactNode, useCallback, useRef, useState } from 'react'
import { Menu, type MenuEntry, type MenuPlace } from '#parts/above/menu.tsx'

/** How long a finger rests before it opens a menu: what iOS and Android wait. */
const LONG_PRESS_MS = 500
/** A finger that moves further scrolls, in pixels. */
const PRESS_MOVES_MAX = 10

interface UsedMenu {
  /** For the button that opens it. */
  openFrom: (event: { currentTarget: HTMLElement }) => void
  /** Right click, the menu key and long press, for the box that the menu is about. */
  onBox: {
    onContextMenu: (event: MouseEvent<HTMLElement>) => void
    onPointerDown: (event: PointerEvent<HTMLElement>) => void
    onPointerMove: (event: PointerEvent<HTMLElement>) => void
    onPointerUp: () => void
    onPointerCancel: () => void
    onClickCapture: (event: MouseEvent<HTMLElement>) => void
  }
  /** To be rendered beside the box. */
  menu: ReactNode
}

/** One menu that opens by a button, a right click and a long press. @param entries asked for when it opens */
export function useMenu(label: string, entries: () => readonly MenuEntry[]): UsedMenu {
  const [place, setPlace] = useState<MenuPlace | null>(null)
  const press = useRef({ timer: 0, x: 0, y: 0, hasOpened: false })
  const close = useCallback(() => setPlace(null), [])
  const endPress = () => clearTimeout(press.current.timer)
  const focusable = (box: HTMLElement) => box.querySelector<HTMLElement>('a') ?? box
  return {
    openFrom: ({ currentTarget }) => setPlace({ element: currentTarget }),
    onBox: {
      onContextMenu: (event) => {
        event.preventDefault()
        const isByKey = event.button !== 2 && event.clientX === 0 && event.clientY === 0
        const element = focusable(event.currentTarget)
        if (!press.current.hasOpened) setPlace(isByKey ? { element } : { element, x: event.clientX, y: event.clientY })
      },
      onPointerDown: (event) => {
        press.current.hasOpened = false
        if (event.pointerType === 'mouse') return
        const { currentTarget, clientX: x, clientY: y } = event
        const timer = window.setTimeout(() => {
          press.current.hasOpened = true
          setPlace({ element: focusable(currentTarget), x, y })
        }, LONG_PRESS_MS)
        Object.assign(press.current, { timer, x, y })
      },
      onPointerMove: ({ clientX, clientY }) => {
        if (Math.hypot(clientX - press.current.x, clientY - press.current.y) > PRESS_MOVES_MAX) endPress()
      },
      onPointerUp: endPress,
      onPointerCancel: endPress,
      // Lifting the finger after a long press is a click for the browser.
      onClickCapture: (event) => {
        if (!press.current.hasOpened) return
        press.current.hasOpened = false
        event.preventDefault()
        event.stopPropagation()
      },
    },
    menu: place && <Menu label={label} entries={entries()} place={place} onClose={close} />,
  }
}
