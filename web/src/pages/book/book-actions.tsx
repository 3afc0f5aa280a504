import { Check, Download, Ellipsis, Play, RotateCw } from 'lucide-react'
import { Link } from 'wouter'
import { analyzeAgain } from '#api/books.ts'
import { serverAddress } from '#api/client.ts'
import type { FullBookRecord } from '#api/records.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { isReadable } from '#parts/works/is-readable.ts'
import { partRead } from '#parts/works/words.ts'
import { bookEntries, setBookRead } from '#parts/works/work-menus.ts'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** Read, mark as read, download, and the rest in a menu. */
export function BookActions({ book }: { book: FullBookRecord }) {
  const mayWrite = useMayDo('books-write')
  const label = partTexts.more({ title: book.title })
  const { openFrom, menu } = useMenu(label, () => [
    ...bookEntries(book),
    ...(mayWrite ? [{ text: partTexts.analyze(), icon: RotateCw, run: () => retry(book) }] : []),
  ])
  const isRead = book.readProgress?.completed ?? false
  const markLabel = isRead ? partTexts.markUnread() : partTexts.markRead()
  return (
    <>
      {isReadable(book) && (
        <Link className="btn main big" href={`/books/${book.id}/read`}>
          <Icon of={Play} />
          <span>{readWords(book)}</span>
        </Link>
      )}
      <button
        type="button"
        className="icon-btn edge touch"
        aria-label={markLabel}
        title={markLabel}
        aria-pressed={isRead}
        onClick={() => setBookRead(book, !isRead)}
      >
        <Icon of={Check} />
      </button>
      <a
        className="icon-btn edge touch"
        href={serverAddress(`api/v1/books/${book.id}/file`)}
        download
        aria-label={partTexts.download()}
        title={partTexts.download()}
      >
        <Icon of={Download} />
      </a>
      <button type="button" className="icon-btn edge touch" aria-label={label} aria-haspopup="menu" onClick={openFrom}>
        <Icon of={Ellipsis} />
      </button>
      {menu}
    </>
  )
}

/** Has the file read again, and says so. */
export function retry(book: { id: string; title: string }): void {
  analyzeAgain(book.id).then(() => say(partTexts.analyzing({ title: book.title })), sayFailure)
}

function readWords({ readProgress, fileFormat, ...rest }: FullBookRecord): string {
  if (!readProgress) return workTexts.readBook()
  if (readProgress.completed) return workTexts.readAgain()
  return fileFormat === 'epub'
    ? workTexts.continueShortText({ percent: percents.format(partRead({ readProgress, fileFormat, ...rest })) })
    : workTexts.continueShort({ page: readProgress.currentPage })
}
