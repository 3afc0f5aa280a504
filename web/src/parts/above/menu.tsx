import type { LucideIcon } from 'lucide-react'
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import style from './menu.module.css'

/** A row of a menu: a link or something that runs. */
export type MenuEntry =
  | { text: string; icon: LucideIcon; isDangerous?: boolean; run: () => void }
  /** One of several choices. */
  | { text: string; icon: LucideIcon; isChosen: boolean; run: () => void }
  | { text: string; icon: LucideIcon; href: string }
  /** A file of the server, which the browser downloads. */
  | { text: string; icon: LucideIcon; file: string }

/** Where a menu opens: below an element, or where the pointer was. */
export type MenuPlace = { element: HTMLElement } | { element: HTMLElement; x: number; y: number }

/** A menu keeps this far from the edges of the window, in pixels. */
const EDGE = 8

interface MenuProps {
  label: string
  entries: readonly MenuEntry[]
  place: MenuPlace
  onClose: () => void
}

/** A menu above the page, a sheet from below on phones. Arrows, Home, End and first letters move; the focus returns where it was. */
export function Menu({ label, entries, place, onClose }: MenuProps) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const menu = box.current
    if (!menu) return
    menu.showPopover()
    position(menu, place)
    rowsOf(menu)[0]?.focus()
  }, [place])
  const close = () => {
    place.element.focus({ preventScroll: true })
    onClose()
  }
  // Not popover="manual": the browser would close it when the button of a right click, or the finger of a long press, is lifted.
  useEffect(() => {
    const onPress = ({ target }: Event) => {
      if (!box.current?.contains(target as Node)) onClose()
    }
    addEventListener('pointerdown', onPress, { capture: true })
    addEventListener('resize', onClose)
    return () => {
      removeEventListener('pointerdown', onPress, { capture: true })
      removeEventListener('resize', onClose)
    }
  }, [onClose])
  return (
    <div
      ref={box}
      popover="manual"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      className={`menu ${style['menu']}`}
      onKeyDown={(event) => moveInMenu(event, close)}
      onContextMenu={(event) => event.preventDefault()}
    >
      {entries.map((entry) => (
        <Row key={entry.text} entry={entry} onDone={close} />
      ))}
    </div>
  )
}

function Row({ entry, onDone }: { entry: MenuEntry; onDone: () => void }) {
  const words = (
    <>
      <Icon of={entry.icon} />
      <span>{entry.text}</span>
    </>
  )
  const shared = { className: 'item', role: 'menuitem', tabIndex: -1 }
  if ('href' in entry)
    return (
      <Link {...shared} href={entry.href} onClick={onDone}>
        {words}
      </Link>
    )
  if ('file' in entry)
    return (
      <a {...shared} href={entry.file} download onClick={onDone}>
        {words}
      </a>
    )
  const run = () => {
    onDone()
    entry.run()
  }
  if ('isChosen' in entry)
    return (
      <button type="button" {...shared} role="menuitemradio" aria-checked={entry.isChosen} onClick={run}>
        {words}
      </button>
    )
  return (
    <button type="button" {...shared} className={entry.isDangerous ? 'item bad' : 'item'} onClick={run}>
      {words}
    </button>
  )
}

const rowsOf = (menu: HTMLElement): HTMLElement[] => [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')]

function moveInMenu(event: KeyboardEvent<HTMLDivElement>, close: () => void): void {
  event.stopPropagation()
  const rows = rowsOf(event.currentTarget)
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const to = { ArrowDown: (at + 1) % rows.length, ArrowUp: (at - 1 + rows.length) % rows.length, Home: 0, End: rows.length - 1 }[event.key]
  if (to !== undefined) {
    event.preventDefault()
    rows[to]?.focus()
  } else if (event.key === 'Tab' || event.key === 'Escape') {
    event.preventDefault()
    close()
  } else if (event.key.length === 1 && event.key !== ' ') {
    const after = [...rows.slice(at + 1), ...rows.slice(0, at + 1)]
    after.find((row) => row.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus()
  }
}

function position(menu: HTMLElement, place: MenuPlace): void {
  const from = place.element.getBoundingClientRect()
  const isRight = getComputedStyle(place.element).direction === 'rtl'
  const { offsetWidth: width, offsetHeight: height } = menu
  const x = 'x' in place ? place.x : isRight ? from.left : from.right - width
  const below = 'y' in place ? place.y : from.bottom + 4
  const y = below + height > innerHeight - EDGE ? ('y' in place ? place.y : from.top - 4) - height : below
  menu.style.setProperty('--x', `${Math.max(EDGE, Math.min(x, innerWidth - width - EDGE))}px`)
  menu.style.setProperty('--y', `${Math.max(EDGE, y)}px`)
}
