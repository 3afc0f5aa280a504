import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import { NO_ZOOM, type Zoom, zoomAt } from '../shared/zoom.ts'
import type { StageZoom } from './use-stage-zoom.ts'

interface Options {
  stage: RefObject<HTMLDivElement | null>
  /** `x` is where the middle of the strip goes; up and down its own layout keeps the place. */
  zoom: Zoom
  setZoom(zoom: Zoom): void
  /** Keeps what is so many CSS pixels below the top of the screen where it is, while the sizes change. */
  hold(below: number): void
  /** Set here, for keys. */
  zoomControl: RefObject<StageZoom | null>
}

const MIDDLE = { x: 0, y: 0 }

/** Makes a strip wider than its settings say, by keys, by ctrl and the wheel, and by two fingers. What is beside the screen is scrolled to. */
export function useStripZoom({ stage, zoom, setZoom, hold, zoomControl }: Options): void {
  // Two fingers send several events before the next rendering; each goes on from the one before.
  const latest = useRef(zoom)
  const set = (next: Zoom, below: number) => {
    hold(below)
    latest.current = next
    setZoom(next)
  }
  const scaleTo = (scale: number, { x, y } = MIDDLE) => {
    const screen = stage.current
    if (!screen) return
    const before = latest.current === zoom ? { ...zoom, x: middleOf(screen) } : latest.current
    const next = zoomAt(before, scale, { x, y: 0 })
    if (next.scale !== before.scale) set(next, y + screen.clientHeight / 2)
  }
  const scaleBy = (by: number, at: { x: number; y: number }) => scaleTo(latest.current.scale * by, at)
  useLayoutEffect(() => {
    const screen = stage.current
    screen?.scrollBy({ left: middleOf(screen) - zoom.x, behavior: 'instant' })
  }, [stage, zoom])
  const control = useRef({ scaleBy })
  useEffect(() => {
    control.current = { scaleBy }
    // Fingers and the wheel move a strip by themselves.
    zoomControl.current = { zoom, scaleTo, scaleBy, pan: () => false, reset: () => set(NO_ZOOM, (stage.current?.clientHeight ?? 0) / 2) }
  })
  useEffect(() => {
    if (!stage.current) return
    return readPinches(stage.current, (by, at) => control.current.scaleBy(by, at))
  }, [stage])
}

/** How far the middle of the strip is from the middle of the screen. */
function middleOf(screen: HTMLElement): number {
  const { left = 0, width = 0 } = screen.firstElementChild?.getBoundingClientRect() ?? {}
  return pointIn(screen, { x: left + width / 2, y: 0 }).x
}

/** A point of the window, from the middle of an element. */
function pointIn(element: HTMLElement, { x, y }: { x: number; y: number }) {
  const { left, top, width, height } = element.getBoundingClientRect()
  return { x: x - left - width / 2, y: y - top - height / 2 }
}

/** Reads two fingers, and the wheel with ctrl, on what the browser scrolls: pointer events would end as soon as it does. @returns what ends it */
function readPinches(element: HTMLElement, pinch: (by: number, at: { x: number; y: number }) => void): () => void {
  const ending = new AbortController()
  const { signal } = ending
  let apart = 0
  const onStart = ({ touches }: TouchEvent) => {
    apart = distanceOf(touches)
  }
  const onMove = (event: TouchEvent) => {
    // While the browser scrolls, the fingers are its own.
    if (apart === 0 || !event.cancelable) return
    event.preventDefault()
    const now = distanceOf(event.touches)
    const [one, other] = event.touches
    if (now === 0 || !one || !other) return
    pinch(now / apart, pointIn(element, { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 }))
    apart = now
  }
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return
    event.preventDefault()
    pinch(Math.exp(-event.deltaY / 300), pointIn(element, { x: event.clientX, y: event.clientY }))
  }
  for (const type of ['touchstart', 'touchend', 'touchcancel'] as const) element.addEventListener(type, onStart, { signal, passive: true })
  element.addEventListener('touchmove', onMove, { signal, passive: false })
  element.addEventListener('wheel', onWheel, { signal, passive: false })
  return () => ending.abort()
}

/** Of two fingers; 0 for any other number of them. */
function distanceOf([one, other, ...others]: Iterable<Touch>): number {
  return one && other && others.length === 0 ? Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1 : 0
}
