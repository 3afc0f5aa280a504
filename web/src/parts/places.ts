import { useEffect } from 'react'

/** Where a person was in a list, to be found again when they come back. */
export interface KeptPlace {
  /** Index of the first item that was seen. */
  top: number
  /** Index of the item that had the focus. */
  active: number
}

const KEY = 'carrel.places'
/** A person goes back a few pages; older places only fill the storage. */
const PLACES_MAX = 50

const places = readPlaces()
let cameBack = isReload()

// Before the listeners of the router, which draw the page at once: those of the capturing phase run first.
addEventListener('popstate', () => noteMove(true), { capture: true })
addEventListener('pushState', () => noteMove(false), { capture: true })
history.scrollRestoration = 'manual'

function noteMove(isBack: boolean): void {
  cameBack = isBack
}

/** The place where a person left this address, when they came back to it by the buttons of the browser or by loading it again. */
export function placeToRestore(address: string): KeptPlace | null {
  return cameBack ? (places.get(address) ?? null) : null
}

/** Remembers the place of this address until the tab is closed. */
export function keepPlace(address: string, place: KeptPlace): void {
  places.delete(address)
  places.set(address, place)
  for (const oldest of [...places.keys()].slice(0, Math.max(0, places.size - PLACES_MAX))) places.delete(oldest)
}

/** Begins a page at its top, unless the person came back to it: then where they left it. For pages that are drawn as a whole. */
export function useTopOfPage(isReady: boolean): void {
  useEffect(() => {
    if (!isReady) return
    const address = location.pathname + location.search
    scrollTo({ top: cameBack ? (places.get(address)?.top ?? 0) : 0, behavior: 'instant' })
    const keep = () => keepPlace(address, { top: scrollY, active: 0 })
    addEventListener('scrollend', keep)
    return () => removeEventListener('scrollend', keep)
  }, [isReady])
}

addEventListener('pagehide', () => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...places]))
  } catch {
    // Without storage a reload begins at the top.
  }
})

function readPlaces(): Map<string, KeptPlace> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as [string, KeptPlace][])
  } catch {
    return new Map()
  }
}

function isReload(): boolean {
  const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return entry?.type === 'reload' || entry?.type === 'back_forward'
}
