import { ChevronLeft, ChevronRight } from 'lucide-react'
import { type CSSProperties, type MouseEvent, type RefObject, useEffect, useMemo, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import type { Size } from '../shared/use-size.ts'
import { type Zoom, zoomStep } from '../shared/zoom.ts'
import type { PageLoader } from './page-loader.ts'
import { PagePicture } from './page-picture.tsx'
import { angleOf, isSideways } from './page-rules.ts'
import type { PageSettings } from './page-settings.ts'
import { pagesLabel } from './spreads.ts'
import { useWantedPages } from './use-page-loader.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'
import { type SpreadBox, useSpreadBox } from './use-spread-box.ts'
import { useStageGestures } from './use-stage-gestures.ts'
import { type StageZoom, useStageZoom } from './use-stage-zoom.ts'

interface StageProps {
  opened: OpenedPages
  view: PageView
  loader: PageLoader
  settings: PageSettings
  /** Of the element of `stage`. */
  screen: Size | null
  stage: RefObject<HTMLDivElement | null>
  /** Set by the stage, for keys. */
  zoomControl: RefObject<StageZoom | null>
  onBars(): void
}

/** One spread on screen, turned by taps, swipes and buttons. */
export function PageStage({ opened, view, loader, settings, screen, stage, zoomControl, onBars }: StageProps) {
  const spread = view.spreads[view.index]
  const box = useSpreadBox(opened, { spread, settings, screen })
  const zoom = useStageZoom({ box, screen, direction: view.direction, resetBy: `${view.index} ${settings.fit} ${view.layout}` })
  useEffect(() => {
    zoomControl.current = zoom
  })
  const figure = useRef<HTMLElement>(null)
  useStageGestures({ stage, figure, zoom, view, onBars })
  const angleOfPage = (page: number) => angleOf(opened.pages[page - 1] ?? UNKNOWN_SIZE, settings)
  const isOnSide = spread?.some(({ page }) => isSideways(angleOfPage(page))) ?? false
  useWantedPages(loader, opened, { view, shown: useShown(view.index, box && { ...box, isOnSide }, zoom.zoom) })
  return (
    <div className="stage" ref={stage}>
      {box && spread && (
        <figure
          className="spread"
          ref={figure}
          data-parts={spread.length}
          dir={view.direction === 'rtl' ? 'rtl' : 'ltr'}
          aria-label={spread.length > 1 ? readerTexts.pages({ pages: pagesLabel(spread) }) : readerTexts.page({ page: view.page })}
          style={boxStyle(box, zoom.zoom)}
        >
          {spread.map(({ page, half }, at) => (
            <PagePicture
              key={`${page} ${half}`}
              {...{ loader, page }}
              total={opened.pages.length}
              title={opened.book.title}
              half={half === 'whole' ? 'whole' : (half === 'first') === (view.direction !== 'rtl') ? 'left' : 'right'}
              angle={angleOfPage(page)}
              style={{ flexGrow: (box.ratios[at] ?? 1) * GROW }}
              onSkip={() => view.turn(1)}
            />
          ))}
        </figure>
      )}
      <TurnButtons view={view} />
    </div>
  )
}

/** Shares that sum to less than one leave a part of the line empty. */
const GROW = 1000

const boxStyle = ({ width, height }: SpreadBox, { scale, x, y }: Zoom): CSSProperties => ({
  width,
  height,
  transform: scale === 1 && x === 0 && y === 0 ? 'none' : `translate(${x}px, ${y}px) scale(${scale})`,
})

const UNKNOWN_SIZE = { width: null, height: null }

function useShown(index: number, box: (SpreadBox & { isOnSide: boolean }) | null, { scale }: Zoom) {
  const step = zoomStep(scale)
  const across = box && (box.isOnSide ? box.height : box.width / box.ratios.length)
  return useMemo(() => (across === null ? null : { first: index, last: index, widthOf: () => across * step }), [index, across, step])
}

/** For the keyboard and screen readers, and the arrows under a pointer. Taps on them are gestures of the page. */
function TurnButtons({ view }: { view: PageView }) {
  const turn = (by: 1 | -1) => (event: MouseEvent) => {
    // Clicks of a pointer have a number, those of keys have none.
    if (event.detail === 0) view.turn(by)
  }
  const dir = view.direction === 'rtl' ? 'rtl' : 'ltr'
  return (
    <>
      <button type="button" className="turn previous" dir={dir} aria-label={readerTexts.previousPage()} onClick={turn(-1)}>
        <Icon of={ChevronLeft} flips />
      </button>
      <button type="button" className="turn next" dir={dir} aria-label={readerTexts.nextPage()} onClick={turn(1)}>
        <Icon of={ChevronRight} flips />
      </button>
    </>
  )
}
