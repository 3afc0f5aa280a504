import { useLayoutEffect, useState } from 'react'
import type { Size } from '../shared/use-size.ts'
import { limitZoom, NO_ZOOM, type Zoom, zoomAt } from '../shared/zoom.ts'
import type { Direction } from './page-rules.ts'
import type { SpreadBox } from './use-spread-box.ts'

export interface StageZoom {
  zoom: Zoom
  /** @param at CSS pixels from the middle of the screen */
  scaleTo(scale: number, at?: { x: number; y: number }): void
  /** @returns whether the content moved */
  pan(dx: number, dy: number): boolean
  reset(): void
}

/** Where a page that is larger than the screen begins: at its top, and on the side where reading begins. */
function startOf(box: SpreadBox, screen: Size, direction: Direction): Zoom {
  const x = direction === 'rtl' ? -box.width : box.width
  return limitZoom({ scale: 1, x, y: box.height }, box, screen)
}

interface Options {
  box: SpreadBox | null
  screen: Size | null
  direction: Direction
  /** The zoom ends when this changes. */
  resetBy: string
}

export function useStageZoom({ box, screen, direction, resetBy }: Options): StageZoom {
  const [zoom, setZoom] = useState<Zoom>(NO_ZOOM)
  const start = box && screen ? startOf(box, screen, direction) : NO_ZOOM
  // Before the paint, or the new page would show for a moment where the old one was moved to. The size of the screen starts it anew too.
  useLayoutEffect(() => setZoom(start), [resetBy, box])
  const change = (to: Zoom) => {
    if (!box || !screen) return false
    const next = limitZoom(to, box, screen)
    if (next.scale === zoom.scale && next.x === zoom.x && next.y === zoom.y) return false
    setZoom(next)
    return true
  }
  return {
    zoom,
    scaleTo: (scale, at = { x: 0, y: 0 }) => change(zoomAt(zoom, scale, at)),
    pan: (dx, dy) => change({ scale: zoom.scale, x: zoom.x + dx, y: zoom.y + dy }),
    reset: () => setZoom(start),
  }
}
