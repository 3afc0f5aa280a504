import type { BookRecord, SeriesRecord } from '#api/records.ts'
import type { CoverMark, KnownCover } from '#parts/works/cover.tsx'
import { partTexts } from '#texts/parts.ts'

/** How a record names its cover and language; the server sends them beside what older records have. */
interface Shown {
  cover?: KnownCover | null
  language?: string | null
  numberLabel?: string | null
}

export const knownCover = (record: object): KnownCover | null => (record as Shown).cover ?? null
/** The address of the picture of a record, or null when the record has none. @param path without the last part */
export const coverPath = (record: object, path: string): string | null => ((record as Shown).cover === null ? null : `${path}/thumbnail`)
export const languageOf = (record: object): string | undefined => (record as Shown).language ?? undefined

/** 0 to 1. */
export function partRead({ readProgress, pageCount }: BookRecord): number {
  if (!readProgress) return 0
  if (readProgress.completed) return 1
  const counted = pageCount > 0 ? readProgress.currentPage / pageCount : 0
  return Math.min(1, readProgress.progressPercentage ?? counted)
}

export function markOfBook(book: BookRecord): CoverMark {
  if (!book.readProgress) return null
  return book.readProgress.completed ? { kind: 'finished' } : { kind: 'progress', part: partRead(book) }
}

export function markOfSeries({ unreadCount, bookCount }: SeriesRecord): CoverMark {
  if (unreadCount === null || bookCount === 0) return null
  return unreadCount === 0 ? { kind: 'finished' } : { kind: 'unread', count: unreadCount }
}

/** "Volume 4", "Chapter 12.5", "No. 3", or '' when the book has no number. */
export function numberWords(book: BookRecord): string {
  if (book.volume !== null) return partTexts.volume({ number: String(book.volume) })
  if (book.chapter !== null) return partTexts.chapter({ number: String(book.chapter) })
  const number = (book as Shown).numberLabel ?? book.number
  return number === null || number === undefined ? '' : partTexts.number({ number: String(number) })
}

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** Where the reader is: "page 41 of 196", for text "21%", or '' when nothing was begun. */
export function placeWords(book: BookRecord): string {
  const { readProgress, pageCount, fileFormat } = book
  if (!readProgress || readProgress.completed) return ''
  if (fileFormat === 'epub') return percents.format(partRead(book))
  return partTexts.pageOf({ page: readProgress.currentPage, total: pageCount })
}

/** The line below the name of a book. */
export function bookWords(book: BookRecord): string {
  const place = placeWords(book) || (book.pageCount > 0 && book.fileFormat !== 'epub' ? partTexts.pages({ count: book.pageCount }) : '')
  return [numberWords(book), place].filter(Boolean).join(' · ')
}
