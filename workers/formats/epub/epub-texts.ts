import { encodePath } from '#core/reading/publication.ts'
import { BookProblem } from '../../book-problem.ts'
import { EPUB_TEXT_COST, EPUB_TEXTS_LENGTH_MAX } from '../../limits.ts'

/** A character takes three bytes at most in the file of a text, and each of them three characters of an address. */
const ENCODED_PER_BYTE = 3

/** Counts all texts of an EPUB that answers contain: names of files, paths of the package, links and titles of the contents. */
export class EpubTexts {
  #length = 0

  /** @throws BookProblem (`parser`) if all texts so far are too long together */
  add(text: string): void {
    this.#length += text.length + EPUB_TEXT_COST
    if (this.#length <= EPUB_TEXTS_LENGTH_MAX) return
    throw new BookProblem(
      'parser',
      `The names, paths and contents of this EPUB have more than ${EPUB_TEXTS_LENGTH_MAX} characters together, which is more than any book needs.`,
      { charactersMax: EPUB_TEXTS_LENGTH_MAX },
    )
  }

  addPath(path: string): void {
    this.add(encodePath(path))
  }

  /** Whether the contents in a file of this size may be too long. */
  mayExceed(bytes: number): boolean {
    return this.#length + bytes * ENCODED_PER_BYTE > EPUB_TEXTS_LENGTH_MAX
  }
}
