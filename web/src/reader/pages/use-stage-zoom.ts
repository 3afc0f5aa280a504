import { useLayoutEffect, useRef, useState } from 'react'
import type { Size } from '../shared/use-size.ts'
import { limitZoom, NO_ZOOM, type Zoom, zoomAt } from '../shared/zoom.ts'
import type { Direction } from './page-rules.ts'
import type { SpreadBox } from './use-spread-box.ts'

export interface StageZoom {
  zoom: Zoom
  /** @param at CSS pixels from the middle of the screen */
  scaleTo(scale: number, at?: { x: number; y: number }): void
  scaleBy(by: number, at: { x: number; y: number }): void
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
  // Two fingers send several events before the next rendering; each goes on from the one before.
  const latest = useRef(zoom)
  const set = (next: Zoom) => {
    latest.current = next
    setZoom(next)
  }
  const start = box && screen ? startOf(box, screen, direction) : NO_ZOOM
  // Before the paint, or the new page would show for a moment where the old one was moved to. The size of the screen starts it anew too.
  useLayoutEffect(() => set(start), [resetBy, box])
  const change = (to: (before: Zoom) => Zoom) => {
    if (!box || !screen) return false
    const before = latest.current
    const next = limitZoom(to(before), box, screen)
    if (next.scale === before.scale && next.x === before.x && next.y === before.y) return false
    set(next)
    return true
  }
  return {
    zoom,
    scaleTo: (scale, at = { x: 0, y: 0 }) => change((before) => zoomAt(before, scale, at)),
    scaleBy: (by, at) => change((before) => zoomAt(before, before.scale * by, at)),
    pan: (dx, dy) => change((before) => ({ scale: before.scale, x: before.x + dx, y: before.y + dy })),
    reset: () => set(start),
  }
}
