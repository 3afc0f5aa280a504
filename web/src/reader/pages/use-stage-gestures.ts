import { type RefObject, useEffect, useRef } from 'react'
import { type GestureActions, Gestures } from '../shared/gestures.ts'
import { ZOOM_DOUBLE_TAP } from '../shared/zoom.ts'
import { tapAction } from './page-rules.ts'
import type { PageView } from './use-page-view.ts'
import type { StageZoom } from './use-stage-zoom.ts'

interface Options {
  stage: RefObject<HTMLDivElement | null>
  /** What follows the finger during a swipe. */
  figure: RefObject<HTMLElement | null>
  zoom: StageZoom
  view: PageView
  onBars(): void
}

/** Taps, swipes, pinches and the wheel on a page. */
export function useStageGestures({ stage, figure, zoom, view, onBars }: Options): void {
  const actions = useRef<GestureActions>(null)
  // The move of a swipe is set on the element itself: sixty renderings a second would be late.
  const moveFigure = (dx: number) => figure.current?.style.setProperty('translate', dx === 0 ? 'none' : `${dx}px`)
  useEffect(() => {
    actions.current = {
      tap({ x }, { width }) {
        const action = tapAction(x / width + 0.5, view.direction)
        if (action === 'bars') onBars()
        else view.turn(action === 'next' ? 1 : -1)
      },
      doubleTap: (at) => (zoom.zoom.scale > 1 ? zoom.reset() : zoom.scaleTo(ZOOM_DOUBLE_TAP, at)),
      pinch: zoom.scaleBy,
      pan: zoom.pan,
      dragged: moveFigure,
      swiped(by) {
        moveFigure(0)
        if (by !== 0) view.turn(by < 0 === (view.direction !== 'rtl') ? 1 : -1)
      },
    }
  })
  useEffect(() => {
    if (!stage.current) return
    const gestures = new Gestures(stage.current, () => actions.current!)
    return () => gestures.close()
  }, [stage])
}
