/** A place that could not be sent, as it is kept on this device. */
export interface Unsent {
  sent: unknown
  basedOn: string | null
}

const keyOf = (bookId: string) => `carrel.unsent.${bookId}`

/** Keeps a place over the end of the page; null forgets it. Storage may be refused: then it is lost with the page. */
export function keepUnsent(bookId: string, unsent: Unsent | null): void {
  try {
    if (unsent) localStorage.setItem(keyOf(bookId), JSON.stringify(unsent))
    else localStorage.removeItem(keyOf(bookId))
  } catch {}
}

/** The kept place of a book; null without one, or for what no version of this program wrote. */
export function findUnsent(bookId: string): Unsent | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(bookId)) ?? 'null')
    return typeof value === 'object' && value !== null && 'sent' in value && 'basedOn' in value ? (value as Unsent) : null
  } catch {
    return null
  }
}
