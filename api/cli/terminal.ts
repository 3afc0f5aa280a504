import { escapedLines, escapedText, messageLines } from '#core/foundation/stranger-text.ts'

/** The part of a stream that is used; process.stdout and stderr have it. */
interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

const REWRITE_MS = 1_000
const REPEAT_MS = 10_000
const CLEAR_LINE = '\r\u001b[2K'

/** Text output for people: permanent lines, and one progress line that is rewritten in place if possible. */
export class Terminal {
  readonly #output: Output
  readonly #now: () => number
  readonly #isTerminal: boolean
  #progressLine = ''
  #printedAt = Number.NEGATIVE_INFINITY

  constructor(output: Output, now: () => number = Date.now) {
    this.#output = output
    this.#now = now
    this.#isTerminal = output.isTTY === true
  }

  /** Prints a permanent line. */
  line(text = ''): void {
    // No line of a command contains escape codes; only the progress line needs one.
    this.write(`${escapedLines(text)}\n`)
  }

  /** Prints a message with words of strangers in it, wrapped so that no line begins with them. */
  message(text: string): void {
    this.write(`${messageLines(text).join('\n')}\n`)
  }

  /** Prints whole lines of the log between the others. */
  write(text: string): void {
    this.#clear()
    this.#output.write(text)
    if (this.#progressLine !== '' && this.#isTerminal) this.#output.write(this.#progressLine)
  }

  /** Shows progress: rewritten at most once a second on a terminal, otherwise a line every ten seconds. */
  progress(text: string): void {
    const shown = escapedText(text)
    if (this.#now() - this.#printedAt < (this.#isTerminal ? REWRITE_MS : REPEAT_MS)) return
    this.#printedAt = this.#now()
    if (!this.#isTerminal) {
      this.#output.write(`${shown}\n`)
      return
    }
    this.#clear()
    // A line that wraps cannot be rewritten.
    this.#progressLine = shown.slice(0, (this.#output.columns || 80) - 1)
    this.#output.write(this.#progressLine)
  }

  /** Ends the progress line. */
  progressDone(): void {
    this.#clear()
    this.#progressLine = ''
    this.#printedAt = Number.NEGATIVE_INFINITY
  }

  #clear(): void {
    if (this.#progressLine !== '' && this.#isTerminal) this.#output.write(CLEAR_LINE)
  }
}
