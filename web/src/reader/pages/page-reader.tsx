import { BookOpen, Expand, LayoutGrid, Settings } from 'lucide-react'
import { type CSSProperties, useMemo, useRef, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { EndCard } from '../shared/end-card.tsx'
import { KeySheet } from '../shared/key-sheet.tsx'
import { BarTool, BookmarkIcon, TopBar } from '../shared/reader-bars.tsx'
import { ReaderNotes } from '../shared/reader-notes.tsx'
import { useLevels } from '../shared/use-levels.ts'
import { useNeighbors } from '../shared/use-neighbors.ts'
import { toggleFullScreen, useReaderAddress } from '../shared/use-reader-address.ts'
import type { Recording } from '../shared/use-recorder.ts'
import { useSize } from '../shared/use-size.ts'
import { useTimeLeft } from '../shared/use-time-left.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { usePageBookmarks } from './page-bookmarks.ts'
import { PageFoot } from './page-foot.tsx'
import { pageKeys } from './page-keys.ts'
import { PageOverview } from './page-overview.tsx'
import type { PageElsewhere } from './page-progress.ts'
import { turnSize } from './page-rules.ts'
import { PAGE_DEFAULTS, type PageSettings } from './page-settings.ts'
import { PageSettingsPanel } from './page-settings-panel.tsx'
import { PageStage } from './page-stage.tsx'
import { PageStrip } from './page-strip.tsx'
import { pagesLabel } from './spreads.ts'
import { type PageControls, type Panel, usePageActions } from './use-page-actions.ts'
import { usePageLoader } from './use-page-loader.ts'
import { usePageRecorder } from './use-page-recorder.ts'
import { type OpenedPages, type PageView, startPage, usePageView } from './use-page-view.ts'
import type { StageZoom } from './use-stage-zoom.ts'

/** The reader of comics and PDFs. */
export default function PageReader({ opened }: { opened: OpenedPages }) {
  const controls = usePageControls(opened)
  const { view, levels, address, stage, screen, panel, hasBars, setBars } = controls
  usePageActions(controls)
  const loader = usePageLoader(opened)
  const recording = usePageRecorder(opened, view, address.isIncognito)
  const { settings } = levels
  const shared = {
    ...{ opened: controls.turned, view, loader, settings, screen, stage },
    zoomControl: controls.zoomControl,
    onBars: () => setBars(!hasBars),
  }
  return (
    <main
      className="reader"
      data-bars={hasBars ? 'shown' : 'hidden'}
      data-desk={deskOf(settings)}
      style={lightOf(settings)}
      ref={controls.box}
    >
      <div className={panel === 'settings' ? 'stage-room reader-has-panel' : 'stage-room'}>
        {view.layout === 'strip' ? <PageStrip {...shared} onScrolled={() => setBars(false)} /> : <PageStage {...shared} />}
      </div>
      <Bars opened={opened} controls={controls} />
      <div className="hairline" dir={view.direction === 'rtl' ? 'rtl' : 'ltr'} style={atOf(view.index, view.spreads.length)}>
        <i />
      </div>
      <p className="visually-hidden" role="status">
        {readerTexts.pageOf({ page: pagesLabel(view.spreads[view.index]), total: opened.pages.length })}
      </p>
      <ReaderNotes recording={recording} isIncognito={address.isIncognito} unmarked={controls.bookmarks.refused} />
      <Overlays opened={opened} controls={controls} recording={recording} />
    </main>
  )
}

/** What lies over the pages: panels and questions. */
function Overlays({ opened, controls, recording }: { opened: OpenedPages; controls: PageControls; recording: Recording<PageElsewhere> }) {
  const { view, levels, address, panel, setPanel } = controls
  return (
    <>
      {panel === 'settings' && (
        <PageSettingsPanel of={levels} layout={view.layout} onKeys={() => setPanel('keys')} onClose={() => setPanel(null)} />
      )}
      {panel === 'overview' && (
        <PageOverview opened={opened} view={view} bookmarked={controls.bookmarks.pages} onClose={() => setPanel(null)} />
      )}
      {panel === 'keys' && (
        <KeySheet
          groups={pageKeys(view.direction)}
          note={view.direction === 'rtl' ? readerTexts.keysRtl() : undefined}
          onClose={() => setPanel(null)}
        />
      )}
      {view.isEnded && (
        <EndCard
          book={opened.book}
          neighbors={controls.neighbors}
          stay={readerTexts.stayOn({ page: view.page })}
          isIncognito={address.isIncognito}
          forget={recording.forget}
          onStay={view.stayAtEnd}
        />
      )}
      {recording.conflict && (
        <ConflictDialog
          book={opened.book}
          here={view.page}
          elsewhere={recording.conflict}
          onChoose={(choice) => {
            if (choice === 'theirs') {
              view.goToPage(recording.conflict?.page ?? view.page)
              // It is recorded already.
              view.forgetTurns()
            }
            recording.settle(choice)
          }}
        />
      )}
    </>
  )
}

/** The book with the sizes that its pages have once they are turned. */
function useTurnedPages(opened: OpenedPages, rotation: PageSettings['rotation']): OpenedPages {
  return useMemo(() => ({ ...opened, pages: opened.pages.map((page) => turnSize(page, rotation)) }), [opened, rotation])
}

function usePageControls(opened: OpenedPages) {
  const { book } = opened
  const address = useReaderAddress()
  const box = useRef<HTMLElement>(null)
  const stage = useRef<HTMLDivElement>(null)
  const pageBox = useRef<HTMLInputElement>(null)
  const zoomControl = useRef<StageZoom>(null)
  const levels = useLevels({ kind: 'pages', defaults: PAGE_DEFAULTS, initial: opened.levels, bookId: book.id, seriesId: book.seriesId })
  const screen = useSize(stage)
  const [start] = useState(() => startPage(opened, address.search.get('page')))
  const turned = useTurnedPages(opened, levels.settings.rotation)
  const pageView = usePageView(turned, { settings: levels.settings, screen: useSize(box), start })
  const [panel, setPanel] = useState<Panel>(null)
  // The bars show what can be done until the first turn.
  const [hasBars, setBars] = useState(true)
  const view: PageView = {
    ...pageView,
    turn(by) {
      setBars(false)
      return pageView.turn(by)
    },
  }
  const neighbors = useNeighbors(book, address.search)
  const timeLeft = useTimeLeft(book, {
    ...{ isText: false, isIncognito: address.isIncognito, page: view.page },
    ahead: { book: opened.pages.length - view.page, chapter: null },
  })
  const bookmarks = usePageBookmarks(opened, view)
  const refs = { box, stage, pageBox, zoomControl }
  return {
    ...refs,
    turned,
    bookmarks,
    levels,
    screen,
    view,
    address,
    neighbors,
    timeLeft,
    panel,
    setPanel,
    hasBars,
    setBars,
    seriesHref: `/series/${book.seriesId}`,
  }
}

interface BarsProps {
  opened: OpenedPages
  controls: ReturnType<typeof usePageControls>
}

function Bars({ opened, controls }: BarsProps) {
  const { view, levels, panel, setPanel } = controls
  const { book } = opened
  const isDouble = view.layout === 'double'
  const tools = (
    <>
      <BarTool label={readerTexts.allPages()} icon={<Icon of={LayoutGrid} />} onPress={() => setPanel('overview')} />
      <BarTool
        label={readerTexts.layoutDouble()}
        className="wide-only"
        icon={<Icon of={BookOpen} />}
        isPressed={isDouble}
        onPress={() => levels.choose('layout', isDouble ? 'single' : 'double')}
      />
      <BarTool
        label={readerTexts.bookmarkKey()}
        icon={<BookmarkIcon isSet={controls.bookmarks.isHere} />}
        isPressed={controls.bookmarks.isHere}
        onPress={controls.bookmarks.toggle}
      />
      <BarTool label={readerTexts.fullScreen()} className="wide-only" icon={<Icon of={Expand} />} onPress={toggleFullScreen} />
      <BarTool
        label={readerTexts.settingsKey()}
        icon={<Icon of={Settings} />}
        isPressed={panel === 'settings'}
        onPress={() => setPanel(panel === 'settings' ? null : 'settings')}
      />
    </>
  )
  return (
    <>
      <TopBar back={{ href: controls.seriesHref, label: book.seriesName }} title={book.title} subtitle={book.seriesName} tools={tools} />
      <PageFoot
        opened={opened}
        view={view}
        bookmarked={controls.bookmarks.pages}
        neighbors={controls.neighbors}
        timeLeft={controls.timeLeft}
        pageBox={controls.pageBox}
      />
    </>
  )
}

const deskOf = ({ desk }: PageSettings): string | undefined => (desk === 'theme' ? undefined : desk)

const lightOf = ({ brightness, contrast, invert }: PageSettings): CSSProperties =>
  ({ '--brightness': brightness / 100, '--contrast': contrast / 100, '--invert': invert ? 1 : 0 }) as CSSProperties

const atOf = (index: number, count: number): CSSProperties =>
  ({ '--at': `${count > 1 ? (index / (count - 1)) * 100 : 100}%` }) as CSSProperties
