import { loadChapter, type TextBook, type TextTarget } from './text-book.ts'
import type { TextView } from './text-view.ts'

/** An anchor before a note, not the note itself, has no more letters. */
const ANCHOR_LETTERS = 8

/** The text of a note, of a chapter on screen or of another; null where there is none. */
export async function noteText(book: TextBook, { index, fragment }: TextTarget, view: TextView | null): Promise<string | null> {
  const onScreen = view?.docs.find((doc) => book.resolve(doc.URL)?.index === index)
  // The link leads to the place of the note where its text cannot be had.
  const doc = onScreen ?? (await loadChapter(book.sections[index]?.address ?? '').catch(() => null))
  const found = doc?.getElementById(fragment)
  if (!found) return null
  const isAnchor = (found.textContent ?? '').trim().length <= ANCHOR_LETTERS
  const note = isAnchor ? (found.closest('p, li, dd, aside, td, div') ?? found) : found
  return note.textContent?.trim() || null
}
