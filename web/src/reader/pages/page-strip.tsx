import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { readerTexts } from '#texts/reader.ts'
import type { Size } from '../shared/use-size.ts'
import { NO_ZOOM, zoomStep } from '../shared/zoom.ts'
import type { PageLoader } from './page-loader.ts'
import { PagePicture } from './page-picture.tsx'
import { isSideways } from './page-rules.ts'
import type { PageSettings } from './page-settings.ts'
import { anchorAt, layStrip, pagesInView, type StripAnchor, type StripLayout, stripPage, topOf } from './strip-layout.ts'
import { useWantedPages } from './use-page-loader.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'
import type { StageZoom } from './use-stage-zoom.ts'
import { useStripZoom } from './use-strip-zoom.ts'

interface StripProps {
  opened: OpenedPages
  view: PageView
  loader: PageLoader
  settings: PageSettings
  screen: Size | null
  stage: RefObject<HTMLDivElement | null>
  /** Set by the strip, for keys. */
  zoomControl: RefObject<StageZoom | null>
  onBars(): void
  /** When the reader scrolls, not when the page is set by other controls. */
  onScrolled(): void
}

/** All pages below each other. Only those in view and one on each side are in the document. */
export function PageStrip({ opened, view, loader, settings, screen, stage, zoomControl, onBars, onScrolled }: StripProps) {
  const [zoom, setZoom] = useState(NO_ZOOM)
  const usual = screen ? stripWidth(screen, settings.stripWidth) : 0
  const width = Math.round(usual * zoom.scale)
  const layout = useMemo(() => layStrip(opened.pages, width || 1, settings.gap), [opened.pages, width, settings.gap])
  const { inView, onScroll, hold } = useStripPlace({ stage, layout, view, screen, onScrolled })
  useStripZoom({ stage, zoom, setZoom, hold, zoomControl })
  const isOnSide = isSideways(settings.rotation)
  const sharpWidth = Math.round(usual * zoomStep(zoom.scale))
  const widthOf = (page: number) => (isOnSide ? ((layout.heights[page - 1] ?? width) / (width || 1)) * sharpWidth : sharpWidth)
  const shown = useMemo(() => ({ ...inView, widthOf }), [inView, sharpWidth, isOnSide, layout])
  useWantedPages(loader, opened, { view, shown: screen ? shown : null })
  const mounted = opened.pages.slice(Math.max(0, inView.first - 1), inView.last + 2)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a tap for the bars; M does the same on a keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div className="strip" ref={stage} onScroll={onScroll} onClick={(event) => isPlain(event.target) && onBars()}>
      <ol style={{ width, height: layout.total }}>
        {mounted.map(({ pageNumber }) => (
          <li key={pageNumber} style={{ top: layout.tops[pageNumber - 1], height: layout.heights[pageNumber - 1] }}>
            <PagePicture
              {...{ loader, page: pageNumber }}
              total={opened.pages.length}
              title={opened.book.title}
              angle={settings.rotation}
              onSkip={() => view.goToPage(pageNumber + 1)}
            />
          </li>
        ))}
      </ol>
      <p className="strip-end">
        <button type="button" className="btn big" onClick={() => view.turn(1)}>
          {readerTexts.goOn()}
        </button>
      </p>
    </div>
  )
}

/** A phone has no width to give away. */
const stripWidth = ({ width }: Size, percent: number): number => (width < 600 ? width : (width * percent) / 100)

const isPlain = (target: EventTarget): boolean => !(target instanceof Element && target.closest('button'))

interface PlaceOptions {
  stage: RefObject<HTMLDivElement | null>
  layout: StripLayout
  view: PageView
  screen: Size | null
  onScrolled(): void
}

/** Keeps the place while sizes change, tells the view which page counts as read, and goes where the view says. */
function useStripPlace({ stage, layout, view, screen, onScrolled }: PlaceOptions) {
  const [inView, setInView] = useState({ first: view.index, last: view.index })
  // It stands `below` the top of the screen, in CSS pixels.
  const anchor = useRef<StripAnchor & { below: number }>({ page: view.index + 1, fraction: 0, below: 0 })
  // The page that scrolling led to: when the view names another, somebody asked to go there.
  const reached = useRef(view.index)
  // A jump to a low page is a jump to it, although the page below it stands a third down the screen.
  const isJump = useRef(false)
  const jump = () => {
    const to = Math.max(0, topOf(layout, anchor.current) - anchor.current.below)
    // Until its event comes: a second jump in the same moment moves nothing.
    isJump.current ||= Math.abs((stage.current?.scrollTop ?? to) - to) > 1
    stage.current?.scrollTo({ top: to })
  }
  const height = screen?.height ?? 0
  const measure = () => {
    const top = stage.current?.scrollTop ?? 0
    const { first, last } = pagesInView(layout, top, Math.max(1, height))
    setInView((before) => (before.first === first && before.last === last ? before : { first, last }))
    return top
  }
  useLayoutEffect(() => {
    if (!stage.current || height === 0) return
    if (view.index !== reached.current) anchor.current = { page: view.index + 1, fraction: 0, below: 0 }
    reached.current = view.index
    jump()
    measure()
    // Scrolling changes the index too, and is already where it leads.
  }, [layout, height])
  useEffect(() => {
    if (view.index === reached.current || !stage.current) return
    reached.current = view.index
    anchor.current = { page: view.index + 1, fraction: 0, below: 0 }
    jump()
  })
  const onScroll = () => {
    const top = measure()
    if (isJump.current) {
      isJump.current = false
      return
    }
    // A screen of another size has moved the strip, which is not laid out for it yet.
    if (stage.current?.clientWidth !== screen?.width || stage.current?.clientHeight !== screen?.height) return
    anchor.current = { ...anchorAt(layout, top), below: 0 }
    onScrolled()
    const page = stripPage(layout, top, height)
    if (page - 1 === reached.current) return
    reached.current = page - 1
    view.goToSpread(page - 1)
  }
  const hold = (below: number) => {
    anchor.current = { ...anchorAt(layout, (stage.current?.scrollTop ?? 0) + below), below }
  }
  return { inView, onScroll, hold }
}
