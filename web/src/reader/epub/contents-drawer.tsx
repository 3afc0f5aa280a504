import { useEffect, useRef, useState } from 'react'
import { readerTexts } from '#texts/reader.ts'
import { ReaderPanel } from '../shared/reader-panel.tsx'
import { BookmarkList } from './bookmark-list.tsx'
import type { TextBookmarks } from './text-bookmarks.ts'
import type { BookMap, Locator } from './text-locator.ts'
import type { ContentsEntry } from './text-map.ts'
import type { TextView } from './text-view.ts'
import type { Whereabouts } from './whereabouts.ts'

interface ContentsProps {
  contents: readonly ContentsEntry[]
  where: Whereabouts
  map: BookMap
  view: TextView | null
  bookmarks: TextBookmarks
  onFollow(locator: Locator): void
  onClose(): void
}

/** The contents of a text with the place of the reader, and the bookmarks. */
export function ContentsDrawer(props: ContentsProps) {
  const { bookmarks, onFollow, onClose } = props
  const [isOfBookmarks, setOfBookmarks] = useState(false)
  const follow = (locator: Locator) => {
    onFollow(locator)
    onClose()
  }
  return (
    <ReaderPanel title={isOfBookmarks ? readerTexts.bookmarks() : readerTexts.contents()} isDrawer onClose={onClose}>
      <div className="tabs">
        <button type="button" aria-current={!isOfBookmarks || undefined} onClick={() => setOfBookmarks(false)}>
          {readerTexts.contents()}
        </button>
        <button type="button" aria-current={isOfBookmarks || undefined} onClick={() => setOfBookmarks(true)}>
          {readerTexts.bookmarks()}
          <span className="count">{bookmarks.list.length}</span>
        </button>
      </div>
      {isOfBookmarks ? <BookmarkList bookmarks={bookmarks} onFollow={follow} /> : <ContentsList {...props} />}
    </ReaderPanel>
  )
}

function ContentsList({ contents, where, map, view, onClose }: ContentsProps) {
  const current = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'center' })
  }, [])
  const follow = (href: string) => {
    const target = map.book.resolve(href)
    if (target) void view?.goToTarget(target)
    onClose()
  }
  if (contents.length === 0) return <p>{readerTexts.noContents()}</p>
  return (
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
  )
}
