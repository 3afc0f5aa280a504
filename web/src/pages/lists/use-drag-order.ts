import { type CSSProperties, type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { placeOfDragged, type RowBox, shiftOf } from './order.ts'

interface Drag {
  from: number
  to: number
  /** How far, in pixels. */
  by: number
  height: number
}

/** Nearer to an edge of the window than this, the page scrolls, in pixels; under the bars at the top and at the foot of phones it would be too late. */
const EDGE = 96
/** In each frame. */
const SCROLL_STEP = 10

interface UsedDrag {
  /** Of the row that is dragged; null when none is. */
  dragged: number | null
  styleOf: (index: number) => CSSProperties | undefined
  /** For the handle of a row. */
  handleOf: (index: number) => {
    onPointerDown: (event: PointerEvent<HTMLElement>) => void
    onPointerMove: (event: PointerEvent<HTMLElement>) => void
    onPointerUp: () => void
    onPointerCancel: () => void
  }
}

/** Orders the children of a list by dragging, with mouse, pen or finger. Escape leaves everything where it was. */
export function useDragOrder(list: RefObject<HTMLElement | null>, onMove: (from: number, to: number) => void): UsedDrag {
  const [drag, setDrag] = useState<Drag | null>(null)
  const held = useRef({ boxes: [] as RowBox[], startY: 0, clientY: 0 })
  const isDragging = drag !== null
  const follow = () => {
    const { boxes, startY, clientY } = held.current
    const by = clientY + scrollY - startY
    setDrag((last) => last && { ...last, by, to: placeOfDragged(boxes, last.from, by) })
  }
  useScrollAtEdges(isDragging, () => held.current.clientY, follow)
  useEffect(() => {
    if (!isDragging) return
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') setDrag(null)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [isDragging])
  return {
    dragged: drag?.from ?? null,
    styleOf: (index) => {
      if (!drag) return undefined
      return { transform: `translateY(${index === drag.from ? drag.by : shiftOf(index, drag)}px)` }
    },
    handleOf: (index) => ({
      onPointerDown: (event) => {
        if (event.button !== 0 || !list.current) return
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
        const boxes = [...list.current.children].map((row) => {
          const { top, height } = row.getBoundingClientRect()
          return { top: top + scrollY, height }
        })
        held.current = { boxes, startY: event.clientY + scrollY, clientY: event.clientY }
        setDrag({ from: index, to: index, by: 0, height: boxes[index]?.height ?? 0 })
      },
      onPointerMove: (event) => {
        if (!isDragging) return
        held.current.clientY = event.clientY
        follow()
      },
      onPointerUp: () => {
        setDrag(null)
        if (drag && drag.from !== drag.to) onMove(drag.from, drag.to)
      },
      onPointerCancel: () => setDrag(null),
    }),
  }
}

/** Scrolls the page while the pointer stays at its upper or lower edge. */
function useScrollAtEdges(isOn: boolean, readY: () => number, onScroll: () => void): void {
  const latest = useRef({ readY, onScroll })
  latest.current = { readY, onScroll }
  useEffect(() => {
    if (!isOn) return
    let frame = requestAnimationFrame(function step() {
      const y = latest.current.readY()
      const by = y < EDGE ? -SCROLL_STEP : y > innerHeight - EDGE ? SCROLL_STEP : 0
      if (by !== 0) {
        scrollBy({ top: by, behavior: 'instant' })
        latest.current.onScroll()
      }
      frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [isOn])
}
