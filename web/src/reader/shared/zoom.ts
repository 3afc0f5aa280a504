export const ZOOM_MAX = 6
/** What a double tap enlarges to: a balloon of a page is readable on a phone. */
export const ZOOM_DOUBLE_TAP = 2.5

/** `x` and `y`: how far the middle of the content is moved from the middle of the screen, in CSS pixels. */
export interface Zoom {
  scale: number
  x: number
  y: number
}

export const NO_ZOOM: Zoom = { scale: 1, x: 0, y: 0 }

/** Larger pictures are fetched in steps of half, not for each move of two fingers. */
export const zoomStep = (scale: number): number => Math.ceil(scale * 2) / 2

interface Box {
  width: number
  height: number
}

/** Keeps the content on the screen: never moved so far that there is a gap beside it while it is larger than the screen. */
export function limitZoom({ scale, x, y }: Zoom, content: Box, screen: Box): Zoom {
  const kept = Math.min(ZOOM_MAX, Math.max(1, scale))
  const limit = (value: number, size: number, room: number) => {
    const most = Math.max(0, (size * kept - room) / 2)
    // `|| 0`: a minus zero would be another number for comparisons.
    return Math.min(most, Math.max(-most, value)) || 0
  }
  return { scale: kept, x: limit(x, content.width, screen.width), y: limit(y, content.height, screen.height) }
}

/**
 * Zooms so that the point under the pointer stays there.
 * @param at from the middle of the screen, in CSS pixels
 */
export function zoomAt(zoom: Zoom, scale: number, at: { x: number; y: number }): Zoom {
  const kept = Math.min(ZOOM_MAX, Math.max(1, scale))
  const by = kept / zoom.scale
  return { scale: kept, x: at.x - (at.x - zoom.x) * by, y: at.y - (at.y - zoom.y) * by }
}
