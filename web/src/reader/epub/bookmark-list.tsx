import { Trash2 } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { percentLabel } from '../shared/labels.ts'
import type { TextBookmarks } from './text-bookmarks.ts'
import type { Locator } from './text-locator.ts'

interface ListProps {
  bookmarks: TextBookmarks
  onFollow(locator: Locator): void
}

/** The bookmarks of a text: the words where each begins, and how far in the book it is. */
export function BookmarkList({ bookmarks: { list, remove }, onFollow }: ListProps) {
  if (list.length === 0) return <p>{readerTexts.noBookmarks()}</p>
  return (
    <ol className="toc">
      {list.map((bookmark) => {
        const { locator } = bookmark
        const percent = percentLabel(locator.locations?.totalProgression ?? 0)
        return (
          <li key={bookmark.id} className="bookmark">
            <button type="button" onClick={() => onFollow(locator)}>
              <span dir="auto">{locator.text?.highlight ?? percent}</span>
              <small>{percent}</small>
            </button>
            <button
              type="button"
              className="icon-btn"
              aria-label={readerTexts.removeBookmark()}
              title={readerTexts.removeBookmark()}
              onClick={() => remove(bookmark)}
            >
              <Icon of={Trash2} />
            </button>
          </li>
        )
      })}
    </ol>
  )
}
