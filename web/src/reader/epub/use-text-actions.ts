import type { Neighbors } from '../shared/use-neighbors.ts'
import { type ReaderAddress, toggleFullScreen } from '../shared/use-reader-address.ts'
import { useReaderKeys } from '../shared/use-reader-keys.ts'
import type { TextPanel } from './text-panel.ts'

interface ActionOptions {
  address: ReaderAddress
  over: { panel: TextPanel; setPanel(panel: TextPanel): void; hasBars: boolean; setBars(isShown: boolean): void }
  seriesHref: string
  direction: 'ltr' | 'rtl'
  turn(by: 1 | -1): void
  goToEnd(end: 'first' | 'last'): void
  neighbors: Neighbors
  toggleBookmark(): void
  /** Closes what floats over the text. @returns whether something did */
  closeFloating(): boolean
}

/** All that keys do in a text. */
export function useTextActions(controls: ActionOptions): ReturnType<typeof useReaderKeys> {
  const { over, address, seriesHref, direction, turn, goToEnd, neighbors, toggleBookmark, closeFloating } = controls
  const { panel, setPanel, hasBars, setBars } = over
  const toggle = (which: TextPanel) => setPanel(panel === which ? null : which)
  return useReaderKeys(direction, {
    next: () => turn(1),
    previous: () => turn(-1),
    first: () => goToEnd('first'),
    last: () => goToEnd('last'),
    // A key that is held must not run through the series.
    nextBook: (isRepeat) => neighbors.next && !isRepeat && address.navigate(neighbors.next.href),
    previousBook: (isRepeat) => neighbors.previous && !isRepeat && address.navigate(neighbors.previous.href),
    fullScreen: toggleFullScreen,
    incognito: address.toggleIncognito,
    bookmark: toggleBookmark,
    contents: () => toggle('contents'),
    overview: () => toggle('contents'),
    search: () => toggle('search'),
    settings: () => toggle('settings'),
    help: () => toggle('keys'),
    bars: () => setBars(!hasBars),
    back: () => {
      if (closeFloating()) return
      if (panel) setPanel(null)
      else if (hasBars) address.navigate(seriesHref)
      else setBars(true)
    },
  })
}
