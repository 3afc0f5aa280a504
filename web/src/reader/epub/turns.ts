/** What a renderer of foliate tells of a place. */
interface Told {
  /** Why the text is there; undefined of a fixed layout that was sent there. */
  reason: string | null | undefined
  /** Whether it was somewhere else before. */
  isMoved: boolean
  /** Fulfilled when the faces of the chapter are loaded; null in a fixed layout. */
  faces: Promise<unknown> | null
}

/**
 * Tells where a person went from where the text only moved: opening a book, another size of the screen or of the letters, and faces that are
 * loaded later make the renderer tell a place too.
 */
export class Turns {
  /** Whether a person asked for what the renderer does. */
  #isAsked = false
  /** The faces of the chapter to which the last turn led, while they are loaded. */
  #settling: Promise<unknown> | null = null

  /** Before the renderer is sent to a place. */
  going(isTurn: boolean): void {
    this.#isAsked = isTurn
    this.#settling = null
  }

  /** @returns whether a person went there */
  relocated({ reason, isMoved, faces }: Told): boolean {
    // The chapter is laid out again. That belongs to a turn only until its faces are there: without them it may have shown its end too early.
    if (reason === 'anchor') return this.#settling !== null
    // For a finger, the wheel and a selection beyond the page nobody sends the renderer; a finger also leads to another chapter.
    if (reason === 'page' || reason === 'scroll' || reason === 'snap') this.#isAsked = true
    // A tap ends in the same place, but foliate calls it a move.
    const isTurn = this.#isAsked && (reason !== 'snap' || isMoved)
    this.#settle(isTurn ? faces : null)
    return isTurn
  }

  #settle(faces: Promise<unknown> | null): void {
    this.#settling = faces
    void faces?.then(() => {
      if (this.#settling === faces) this.#settling = null
    })
  }
}
