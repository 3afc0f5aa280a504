import { useEffect } from 'react'

/** Where a person was in a page, to be found again when they come back. */
export interface KeptPlace {
  /** Of a list: index of the first item that was seen. Of other pages: pixels scrolled. */
  top: number
  /** Index of the item that had the focus. */
  active: number
}

const KEY = 'carrel.places'
/** A person goes back a few pages; older places only fill the storage. */
const PLACES_MAX = 50

const places = readPlaces()
let stamps = 0
history.scrollRestoration = 'manual'

/**
 * Names the entry of the history of this tab that is shown. Entries that a link made have no name yet; those that a person comes back to, by
 * the buttons of the browser or by loading the page again, have one.
 */
export function currentEntry(): string {
  const state = history.state as { entry?: unknown } | null
  if (typeof state?.entry === 'string') return state.entry
  stamps += 1
  const entry = `${performance.timeOrigin}.${stamps}`
  // Not history.replaceState, which the router watches: nothing else changes.
  History.prototype.replaceState.call(history, { ...state, entry }, '')
  return entry
}

/** Where a person left an entry that they came back to; null for a new one. */
export const placeToRestore = (entry: string): KeptPlace | null => places.get(entry) ?? null

/** Remembers the place in an entry until the tab is closed. */
export function keepPlace(entry: string, place: KeptPlace): void {
  places.delete(entry)
  places.set(entry, place)
  for (const oldest of [...places.keys()].slice(0, Math.max(0, places.size - PLACES_MAX))) places.delete(oldest)
}

/** Begins a page at its top, unless the person came back to it: then where they left it. For pages that are drawn as a whole. */
export function useTopOfPage(isReady: boolean): void {
  useEffect(() => {
    if (!isReady) return
    const entry = currentEntry()
    scrollTo({ top: placeToRestore(entry)?.top ?? 0, behavior: 'instant' })
    // Not scrollend, which Safari lacks before 26.2. The next page may scroll to its top before this one is gone.
    const keep = () => currentEntry() === entry && keepPlace(entry, { top: scrollY, active: 0 })
    addEventListener('scroll', keep)
    return () => removeEventListener('scroll', keep)
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
