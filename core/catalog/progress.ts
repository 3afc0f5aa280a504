import type { Static } from 'typebox'
import type { ReadProgress } from '#core/catalog/book.ts'
import { isoInstant } from '#core/foundation/instant.ts'

/** A row of read_progress: from the table, from jsonb, or with times that were cast to text. */
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
  /** The device or app that recorded it; null when unknown. */
  app: string | null
}

/** The same, with the exact position in addition to the page. */
export interface PositionRow extends ProgressRow {
  /** Device and locator of the last progression, as long as the page matches the locator. */
  locator: unknown
  progression_at: Date | string | null
  sync_place: SyncPosition | null
}

const iso = (time: Date | string) => (typeof time === 'string' ? isoInstant(time) : time.toISOString())

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
    app: row.app,
  }
}

/** The position that an e-reader reported, for itself and similar ones to resume at. */
export interface SyncPosition {
  /** In the format of the e-reader: a page, or a path to an element of the text. */
  progress: string
  device: string
  deviceId: string
}

/** The properties of a book that decide how far along a page is. */
export interface Extent {
  analyzed: boolean
  /** Pages of a comic, positions of an EPUB; 0 when unknown. */
  pageCount: number
  /** Its positions are those of a text, of which apps never report the very last one. */
  isText?: boolean
}

/** Tolerates floating-point error: a fraction that was computed from a page may be slightly less or more than the page when multiplied. */
const ROUNDING = 1e-6

/** The page, from 1, that contains a fraction of a book; the beginning of a page belongs to it. Fractions beyond the end are on the last page. */
export const pageFrom = (part: number, pageCount: number): number =>
  Math.max(1, Math.min(Math.floor(part * pageCount + ROUNDING) + 1, pageCount))

/** The page, from 1, at whose end a fraction of a book is read. */
export const pageUpTo = (part: number, pageCount: number): number => Math.max(1, Math.ceil(part * pageCount - ROUNDING))
/** A text counts as read at this fraction: notes and advertisements follow, and no client app reports the very last position. */
export const TEXT_COMPLETE_FROM = 0.99

export interface ReadPosition {
  currentPage: number
  percentage: number | null
  completed: boolean
}

/**
 * The position of a user on page n: the last page completes the book, unless the client says otherwise. A book that was not analyzed has no
 * last page, so only the client can say that it is completed.
 */
export function readPositionOf(
  extent: Extent,
  reported: { currentPage: number; progressPercentage?: number | null | undefined; completed?: boolean | null | undefined },
): ReadPosition {
  const known = extent.analyzed && extent.pageCount > 0
  const completed = reported.completed ?? (known && reported.currentPage >= extent.pageCount)
  const counted = known ? Math.min(1, reported.currentPage / extent.pageCount) : null
  return { currentPage: reported.currentPage, percentage: completed ? 1 : (reported.progressPercentage ?? counted), completed }
}
