import { ALargeSmall, ChevronLeft, ChevronRight, Expand, List, Search } from 'lucide-react'
import { type CSSProperties, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { BarTool, BookmarkIcon, TopBar } from '../shared/reader-bars.tsx'
import { toggleFullScreen } from '../shared/use-reader-address.ts'
import type { TextBookmarks } from './text-bookmarks.ts'
import type { BookMap } from './text-locator.ts'
import { placeOf, positionAt } from './text-map.ts'
import type { TextPanel } from './text-panel.ts'
import type { TextView } from './text-view.ts'
import type { OpenedText } from './use-text-view.ts'
import type { Whereabouts } from './whereabouts.ts'

interface BarsProps {
  opened: OpenedText
  where: Whereabouts
  map: BookMap
  view: TextView | null
  panel: TextPanel
  bookmarks: TextBookmarks
  setPanel(panel: TextPanel): void
  seriesHref: string
}

/** The bars over a text. The lower one is a single line, as high as the foot of the page, so that it hides no text. */
export function TextBars({ opened: { book }, where, map, view, panel, bookmarks, setPanel, seriesHref }: BarsProps) {
  const toggle = (which: TextPanel) => setPanel(panel === which ? null : which)
  return (
    <>
      <TopBar
        back={{ href: seriesHref, label: book.seriesName }}
        start={
          <BarTool
            label={readerTexts.contentsKey()}
            icon={<Icon of={List} />}
            isPressed={panel === 'contents'}
            onPress={() => toggle('contents')}
          />
        }
        title={book.title}
        subtitle={where.chapter}
        tools={
          <>
            <BarTool
              label={readerTexts.searchKey()}
              icon={<Icon of={Search} />}
              isPressed={panel === 'search'}
              onPress={() => toggle('search')}
            />
            <BarTool
              label={readerTexts.bookmarkKey()}
              icon={<BookmarkIcon isSet={bookmarks.isHere} />}
              isPressed={bookmarks.isHere}
              onPress={bookmarks.toggle}
            />
            <BarTool label={readerTexts.fullScreen()} className="wide-only" icon={<Icon of={Expand} />} onPress={toggleFullScreen} />
            <BarTool
              label={readerTexts.textSettingsKey()}
              icon={<Icon of={ALargeSmall} />}
              isPressed={panel === 'settings'}
              onPress={() => toggle('settings')}
            />
          </>
        }
      />
      <footer className="rbar rbar-foot rbar-line" dir={map.book.dir === 'rtl' ? 'rtl' : 'ltr'}>
        <ChapterStep view={view} map={map} where={where} by={-1} />
        <PlaceSeek view={view} map={map} where={where} />
        <ChapterStep view={view} map={map} where={where} by={1} />
      </footer>
      <div className="hairline" style={{ '--at': `${where.total * 100}%` } as CSSProperties}>
        <i />
      </div>
    </>
  )
}

type PartProps = Pick<BarsProps, 'view' | 'map' | 'where'>

function ChapterStep({ view, map, where, by }: PartProps & { by: 1 | -1 }) {
  const to = where.index + by
  // Of a pair of a fixed layout, both pages are on screen.
  const go = () => void (view?.isFixed ? view.turn(by) : view?.goTo(to))
  const label = by === 1 ? readerTexts.nextChapter() : readerTexts.previousChapter()
  return (
    <button type="button" className="icon-btn" aria-label={label} title={label} disabled={to < 0 || to >= map.spans.length} onClick={go}>
      <Icon of={by === 1 ? ChevronRight : ChevronLeft} flips />
    </button>
  )
}

/** Steps of the slider: finer than a page of any book that is read. */
const STEPS = 1000

function PlaceSeek({ view, map, where }: PartProps) {
  const [dragged, setDragged] = useState<number | null>(null)
  const total = dragged ?? where.total
  const finish = () => {
    if (dragged !== null) {
      const { index, fraction } = placeOf(map.spans, dragged)
      void view?.goTo(index, fraction)
    }
    setDragged(null)
  }
  const page = positionAt(total, Math.max(1, map.count))
  return (
    <div className="seek" style={{ '--at': `${total * 100}%` } as CSSProperties}>
      <i className="seek-fill" />
      {dragged !== null && (
        <output className="peek">
          <b>{readerTexts.pageOf({ page, total: map.count })}</b>
        </output>
      )}
      <input
        type="range"
        min={0}
        max={STEPS}
        value={Math.round(total * STEPS)}
        aria-label={readerTexts.place()}
        aria-valuetext={readerTexts.placeValue({ page, total: map.count, chapter: where.chapter })}
        onChange={(event) => setDragged(Math.min(0.9999, Number(event.target.value) / STEPS))}
        onPointerUp={finish}
        onKeyUp={finish}
        onBlur={finish}
      />
    </div>
  )
}
