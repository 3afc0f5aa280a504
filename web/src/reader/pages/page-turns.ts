/** What is recorded of a book of pages. */
export interface SentPage {
  page: number
  /** Once the end was reached, leafing back keeps the book finished. */
  isCompleted: boolean
}

/**
 * What is recorded after a turn. Leafing back from the end, as in double pages, keeps the book finished for as long as the reader is open.
 * @param before of the turn before, null for the first: a book that is opened at its end was not read to it
 * @param page that counts as read
 */
export function turnedTo(before: SentPage | null, page: number, pageCount: number): SentPage {
  const isCompleted = before?.isCompleted === true || page === pageCount
  return before?.page === page && before.isCompleted === isCompleted ? before : { page, isCompleted }
}
