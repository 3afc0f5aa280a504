import { useEffect, useRef, useState } from 'react'
import { markTexts } from '#texts/marks.ts'
import { readerTexts } from '#texts/reader.ts'
import { ReaderPanel } from '../shared/reader-panel.tsx'
import { TimeLeftLine } from '../shared/time-left-line.tsx'
import type { TimeLeft } from '../shared/use-time-left.ts'
import { BookmarkList } from './bookmark-list.tsx'
import { HighlightList } from './highlight-list.tsx'
import type { TextBookmarks } from './text-bookmarks.ts'
import type { BookMap, Locator } from './text-locator.ts'
import { type ContentsEntry, flattenContents } from './text-map.ts'
import type { TextView } from './text-view.ts'
import type { Highlights } from './use-highlights.ts'
import type { OpenedText } from './use-text-view.ts'
import { chapterTitle, type Whereabouts } from './whereabouts.ts'

interface ContentsProps {
  opened: OpenedText
  contents: readonly ContentsEntry[]
  where: Whereabouts
  map: BookMap
  view: TextView | null
  bookmarks: TextBookmarks
  highlights: Highlights
  timeLeft: TimeLeft
  onFollow(locator: Locator): void
  onClose(): void
}

type Tab = 'contents' | 'pages' | 'bookmarks' | 'highlights'

/** The contents of a text with the place of the reader, its printed pages, the bookmarks and the highlights. */
export function ContentsDrawer(props: ContentsProps) {
  const { opened, contents, map, bookmarks, highlights, onFollow, onClose } = props
  const [tab, setTab] = useState<Tab>('contents')
  const pages = flattenContents(opened.manifest.pageList ?? [], readerTexts.untitled())
  const follow = (locator: Locator) => {
    onFollow(locator)
    onClose()
  }
  const edit = (id: string) => {
    void highlights.show({ id, at: null })
    onClose()
  }
  const tabs: { tab: Tab; name: string; count: number }[] = [
    { tab: 'contents', name: readerTexts.contents(), count: 0 },
    ...(pages.length > 0 ? [{ tab: 'pages' as const, name: markTexts.pageList(), count: 0 }] : []),
    { tab: 'bookmarks', name: readerTexts.bookmarks(), count: bookmarks.list.length },
    { tab: 'highlights', name: markTexts.highlights(), count: highlights.list.length },
  ]
  const titleOf = ({ href }: Locator) => chapterTitle(contents, { map, index: map.book.resolve(href)?.index ?? 0 })
  return (
    <ReaderPanel title={tabs.find((each) => each.tab === tab)?.name ?? ''} isDrawer onClose={onClose}>
      <div className="tabs">
        {tabs.map((each) => (
          <button type="button" key={each.tab} aria-current={each.tab === tab || undefined} onClick={() => setTab(each.tab)}>
            {each.name}
            {each.count > 0 && <span className="count">{each.count}</span>}
          </button>
        ))}
      </div>
      {tab === 'contents' && <ContentsList {...props} />}
      {tab === 'pages' && <PlaceButtons {...props} entries={pages} className="page-list" />}
      {tab === 'bookmarks' && <BookmarkList bookmarks={bookmarks} onFollow={follow} />}
      {tab === 'highlights' && <HighlightList list={highlights.list} titleOf={titleOf} onFollow={follow} onEdit={({ id }) => edit(id)} />}
    </ReaderPanel>
  )
}

type PartProps = Pick<ContentsProps, 'map' | 'view' | 'onClose'>

const followIn =
  ({ map, view, onClose }: PartProps) =>
  (href: string) => {
    const target = map.book.resolve(href)
    if (target) void view?.goToTarget(target)
    onClose()
  }

function ContentsList(props: ContentsProps) {
  const { opened, contents, where, map } = props
  const current = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'center' })
  }, [])
  const follow = followIn(props)
  const { timeLeft } = props
  const landmarks = flattenContents(opened.manifest.landmarks ?? [], readerTexts.untitled())
  return (
    <>
      <TimeLeftLine timeLeft={timeLeft} />
      {landmarks.length > 0 && <PlaceButtons {...props} entries={landmarks} className="landmarks" label={markTexts.landmarks()} />}
      {contents.length === 0 && <p>{readerTexts.noContents()}</p>}
      <ol className="toc">
        {contents.map(({ title, href, depth }, index) => (
          // By index: books name the same place twice, and the list never changes.
          <li key={index} className="toc-entry" data-depth={depth}>
            <button
              type="button"
              ref={index === where.entry ? current : undefined}
              className={index < where.entry ? 'read' : undefined}
              aria-current={index === where.entry || undefined}
              disabled={map.book.resolve(href) === null}
              onClick={() => follow(href)}
            >
              <span dir="auto">{title}</span>
            </button>
          </li>
        ))}
      </ol>
    </>
  )
}

/** Places with short names side by side: printed pages, or parts of the book such as its cover. */
function PlaceButtons({
  entries,
  className,
  label,
  ...props
}: PartProps & { entries: readonly ContentsEntry[]; className: string; label?: string }) {
  const follow = followIn(props)
  return (
    <ol className={className} aria-label={label}>
      {entries.map(({ title, href }, index) => (
        // By index: as in the contents.
        <li key={index}>
          <button type="button" className="btn" dir="auto" disabled={props.map.book.resolve(href) === null} onClick={() => follow(href)}>
            {title}
          </button>
        </li>
      ))}
    </ol>
  )
}
