import { escapedLines, escapedText, messageLines } from '#core/foundation/stranger-text.ts'

/** The part of a stream that is used; process.stdout and stderr have it. */
interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

/** Text output for people: permanent lines, and one progress line that is rewritten in place if possible. */
export interface Terminal {
  /** Prints a permanent line. */
  line(text?: string): void
  /** Prints a message with words of strangers in it, wrapped so that no line begins with them. */
  message(text: string): void
  /** Shows progress: rewritten at most once a second on a terminal, otherwise a line every ten seconds. */
  progress(text: string): void
  /** Ends the progress line. */
  progressDone(): void
  /** Prints whole lines of the log between the others. */
  write(text: string): void
}

const REWRITE_MS = 1_000
const REPEAT_MS = 10_000
const CLEAR_LINE = '\r\u001b[2K'

export function openTerminal(output: Output, now: () => number = Date.now): Terminal {
  const isTerminal = output.isTTY === true
  let progressLine = ''
  let printedAt = Number.NEGATIVE_INFINITY

  const clear = () => {
    if (progressLine !== '' && isTerminal) output.write(CLEAR_LINE)
  }
  const write = (text: string) => {
    clear()
    output.write(text)
    if (progressLine !== '' && isTerminal) output.write(progressLine)
  }
  return {
    write,
    // No line of a command contains escape codes; only the progress line needs one.
    line: (text = '') => write(`${escapedLines(text)}\n`),
    message: (text) => write(`${messageLines(text).join('\n')}\n`),
    progress(text) {
      const shown = escapedText(text)
      if (now() - printedAt < (isTerminal ? REWRITE_MS : REPEAT_MS)) return
      printedAt = now()
      if (!isTerminal) {
        output.write(`${shown}\n`)
        return
      }
      clear()
      // A line that wraps cannot be rewritten.
      progressLine = shown.slice(0, (output.columns || 80) - 1)
      output.write(progressLine)
    },
    progressDone() {
      clear()
      progressLine = ''
      printedAt = Number.NEGATIVE_INFINITY
    },
  }
}
