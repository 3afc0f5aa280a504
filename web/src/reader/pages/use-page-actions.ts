import type { RefObject } from 'react'
import type { LevelSettings } from '../shared/use-levels.ts'
import type { Neighbors } from '../shared/use-neighbors.ts'
import { type ReaderAddress, toggleFullScreen } from '../shared/use-reader-address.ts'
import { type ReaderActions, useReaderKeys } from '../shared/use-reader-keys.ts'
import type { PageBookmarks } from './page-bookmarks.ts'
import { type Direction, ROTATIONS, type Rotation } from './page-rules.ts'
import type { PageSettings } from './page-settings.ts'
import type { PageView } from './use-page-view.ts'
import type { StageZoom } from './use-stage-zoom.ts'

/** What lies over the pages. */
export type Panel = 'settings' | 'overview' | 'keys' | null

export interface PageControls {
  view: PageView
  levels: LevelSettings<PageSettings>
  address: ReaderAddress
  neighbors: Neighbors
  stage: RefObject<HTMLDivElement | null>
  zoomControl: RefObject<StageZoom | null>
  pageBox: RefObject<HTMLInputElement | null>
  panel: Panel
  setPanel(panel: Panel): void
  hasBars: boolean
  setBars(isShown: boolean): void
  seriesHref: string
  bookmarks: PageBookmarks
}

/** Of a screen; the rest shows where one was. */
const STEP = 0.9
const ZOOM_STEP = 1.25
const DIRECTIONS: readonly Direction[] = ['ltr', 'rtl', 'ttb']

/** All that keys do. */
export function usePageActions(controls: PageControls): void {
  const { view, address, neighbors } = controls
  const step = (by: 1 | -1) => {
    if (!scroll(controls, by)) view.turn(by)
  }
  const actions: ReaderActions = {
    next: () => step(1),
    previous: () => step(-1),
    first: () => view.goToSpread(0),
    last: () => view.goToSpread(view.spreads.length - 1),
    // A key that is held must not run through the series.
    nextBook: (isRepeat) => neighbors.next && !isRepeat && address.navigate(neighbors.next.href),
    previousBook: (isRepeat) => neighbors.previous && !isRepeat && address.navigate(neighbors.previous.href),
    fullScreen: toggleFullScreen,
    incognito: address.toggleIncognito,
    bookmark: controls.bookmarks.toggle,
    ...lookActions(controls),
    ...panelActions(controls),
  }
  useReaderKeys(view.direction, actions)
}

/** Moves within what is larger than the screen. @returns whether there was something to move */
function scroll({ view, stage, zoomControl }: PageControls, by: 1 | -1): boolean {
  const screen = stage.current
  if (!screen) return false
  if (view.layout !== 'strip') return zoomControl.current?.pan(0, -by * STEP * screen.clientHeight) ?? false
  const isAtEnd = by === 1 ? screen.scrollTop + screen.clientHeight >= screen.scrollHeight - 2 : screen.scrollTop <= 0
  if (!isAtEnd) screen.scrollBy({ top: by * STEP * screen.clientHeight })
  return !isAtEnd
}

function lookActions({ view, levels, zoomControl }: PageControls): ReaderActions {
  const { settings, choose } = levels
  const zoom = (by: number) => {
    const control = zoomControl.current
    control?.scaleTo(control.zoom.scale * by)
  }
  return {
    single: () => choose('layout', 'single'),
    double: () => choose('layout', 'double'),
    strip: () => choose('layout', 'strip'),
    // Where the pairs of a book begin depends on its scan alone.
    offset: () => choose('coverAlone', !settings.coverAlone, 'book'),
    direction: () => choose('direction', DIRECTIONS[(DIRECTIONS.indexOf(view.direction) + 1) % DIRECTIONS.length] as Direction),
    rotate: () => choose('rotation', ROTATIONS[(ROTATIONS.indexOf(settings.rotation) + 1) % ROTATIONS.length] as Rotation, 'book'),
    fitWidth: () => choose('fit', 'width'),
    fitHeight: () => choose('fit', 'height'),
    fitPage: () => choose('fit', 'page'),
    zoomIn: () => zoom(ZOOM_STEP),
    zoomOut: () => zoom(1 / ZOOM_STEP),
    zoomReset: () => zoomControl.current?.reset(),
  }
}

function panelActions({ panel, setPanel, hasBars, setBars, pageBox, address, seriesHref }: PageControls): ReaderActions {
  const toggle = (which: Panel) => setPanel(panel === which ? null : which)
  return {
    overview: () => toggle('overview'),
    settings: () => toggle('settings'),
    help: () => toggle('keys'),
    bars: () => setBars(!hasBars),
    goTo: () => {
      setBars(true)
      // The box cannot take the focus while its bar is hidden.
      requestAnimationFrame(() => pageBox.current?.focus())
    },
    back: () => {
      if (panel) setPanel(null)
      else if (hasBars) address.navigate(seriesHref)
      else setBars(true)
    },
  }
}
