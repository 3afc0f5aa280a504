import type { Static } from 'typebox'
import type { ReadProgress } from '#core/catalog/book.ts'

/** A row of read_progress, as a table or as jsonb gives it. */
export interface ProgressRow {
  id: string
  user_id: string
  book_id: string
  current_page: number
  percentage: number | null
  completed: boolean
  started_at: Date | string
  updated_at: Date | string
  completed_at: Date | string | null
}

/** The same with what was told of the place beside its page. */
export interface PlaceRow extends ProgressRow {
  /** Device and locator of the last progression, as long as the page is that of the locator. */
  locator: unknown
  progression_at: Date | string | null
  sync_place: SyncPlace | null
}

const iso = (time: Date | string) => new Date(time).toISOString()

export function progressOf(row: ProgressRow): Static<typeof ReadProgress> {
  return {
    id: row.id,
    userId: row.user_id,
    bookId: row.book_id,
    currentPage: row.current_page,
    progressPercentage: row.percentage,
    completed: row.completed,
    startedAt: iso(row.started_at),
    updatedAt: iso(row.updated_at),
    completedAt: row.completed_at && iso(row.completed_at),
  }
}

/** What an e-reader said of its place, for it and its like to come back to. */
export interface SyncPlace {
  /** In words of the e-reader: a page, or a path to an element of the text. */
  progress: string
  device: string
  deviceId: string
}

/** What of a book decides how far a page is in it. */
export interface Extent {
  analyzed: boolean
  /** Pages of a comic, positions of an EPUB; 0 when unknown. */
  pageCount: number
  /** Its places are those of a text, in which nobody reaches the very last one. */
  isText?: boolean
}

/** A part that was divided out of a page is a hair less or more than the page when it is multiplied. */
const ROUNDING = 1e-6

/** The page, from 1, in which a part of a book lies; its beginning counts to it. Beyond the last page is the last. */
export const pageFrom = (part: number, pageCount: number): number =>
  Math.max(1, Math.min(Math.floor(part * pageCount + ROUNDING) + 1, pageCount))

/** The page, from 1, up to whose end a part of a book was read. */
export const pageUpTo = (part: number, pageCount: number): number => Math.max(1, Math.ceil(part * pageCount - ROUNDING))
/** A text is read when this part of it is: notes and advertisements follow, and no reader app shows the very last position. */
export const TEXT_COMPLETE_FROM = 0.99

export interface Place {
  currentPage: number
  percentage: number | null
  completed: boolean
}

/**
 * Where a reader is who says "page n": the last page completes the book, unless the reader says otherwise. A book that was not analysed has no
 * last page, so only the reader can say that it is done.
 */
export function placeOf(
  extent: Extent,
  said: { currentPage: number; progressPercentage?: number | null | undefined; completed?: boolean | null | undefined },
): Place {
  const known = extent.analyzed && extent.pageCount > 0
  const completed = said.completed ?? (known && said.currentPage >= extent.pageCount)
  const counted = known ? Math.min(1, said.currentPage / extent.pageCount) : null
  return { currentPage: said.currentPage, percentage: completed ? 1 : (said.progressPercentage ?? counted), completed }
}
