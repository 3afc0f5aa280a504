import { BookCheck, BookOpen, BookX, Download, Heart, HeartOff, Library } from 'lucide-react'
import { serverAddress } from '#api/client.ts'
import { markBook, markSeries, wantToRead } from '#api/reading.ts'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { isReadable } from '#parts/works/is-readable.ts'
import { partTexts } from '#texts/parts.ts'

/** Marks a book, says so, and offers to take it back. A place in the middle of a book cannot be given back by "unread", so it is not offered then. */
export function setBookRead(book: BookRecord, isRead: boolean): void {
  const words = { title: book.title }
  const hadPlace = book.readProgress !== null && !book.readProgress.completed
  const undo = hadPlace ? null : () => void markBook(book, !isRead).catch(sayFailure)
  markBook(book, isRead).then(() => say(isRead ? partTexts.markedRead(words) : partTexts.markedUnread(words), undo), sayFailure)
}

/** Marks all books of a series; which ones were read before is not kept, so it is not offered to take it back. */
export function setSeriesRead(series: SeriesRecord, isRead: boolean): void {
  const words = { title: series.title }
  markSeries(series, isRead).then(() => say(isRead ? partTexts.markedRead(words) : partTexts.markedUnread(words)), sayFailure)
}

export function setWanted(series: { id: string; title: string }, isWanted: boolean): void {
  const words = { title: series.title }
  const undo = () => void wantToRead(series.id, !isWanted).catch(sayFailure)
  wantToRead(series.id, isWanted).then(() => say(isWanted ? partTexts.wanted(words) : partTexts.unwanted(words), undo), sayFailure)
}

/** What can be done with a book where it is shown as a card or row. */
export function bookEntries(book: BookRecord): MenuEntry[] {
  const { id, readProgress, seriesId } = book
  const entries: MenuEntry[] = []
  if (isReadable(book)) {
    const isBegun = readProgress && !readProgress.completed
    entries.push({ text: isBegun ? partTexts.continueReading() : partTexts.read(), icon: BookOpen, href: `/books/${id}/read` })
  }
  if (!readProgress?.completed) entries.push({ text: partTexts.markRead(), icon: BookCheck, run: () => setBookRead(book, true) })
  if (readProgress) entries.push({ text: partTexts.markUnread(), icon: BookX, run: () => setBookRead(book, false) })
  entries.push({ text: partTexts.toSeries(), icon: Library, href: `/series/${seriesId}` })
  entries.push({ text: partTexts.download(), icon: Download, file: serverAddress(`api/v1/books/${id}/file`) })
  return entries
}

/** @param isWanted whether it is known to be in the list of the user; the record of a series does not say */
export function seriesEntries(series: SeriesRecord, isWanted = false): MenuEntry[] {
  const entries: MenuEntry[] = []
  if (series.unreadCount !== 0) entries.push({ text: partTexts.markRead(), icon: BookCheck, run: () => setSeriesRead(series, true) })
  if (series.unreadCount !== series.bookCount)
    entries.push({ text: partTexts.markUnread(), icon: BookX, run: () => setSeriesRead(series, false) })
  entries.push(
    isWanted
      ? { text: partTexts.dropWantToRead(), icon: HeartOff, run: () => setWanted(series, false) }
      : { text: partTexts.wantToRead(), icon: Heart, run: () => setWanted(series, true) },
  )
  return entries
}
