/** What of a stream we need; process.stdout and stderr are ones. */
interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

/** Text for people: lines that stay, and one line of progress that is rewritten in place where that is possible. */
export interface Terminal {
  /** A line that stays. */
  line(text?: string): void
  /** The state of something long: rewritten at most once a second on a terminal, a line every ten seconds elsewhere. */
  progress(text: string): void
  /** Ends the line of progress. */
  progressDone(): void
  /** For the log, which writes whole lines between the others. */
  write(text: string): void
}

/** Names of files may hold newlines and escape codes; a person sees them as \x1b and the terminal obeys none. */
export function escapeControls(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (found) => {
    const code = found.charCodeAt(0)
    return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).padStart(2, '0')}`
  })
}

const REWRITE_MS = 1_000
const REPEAT_MS = 10_000
const CLEAR_LINE = '\r\u001b[2K'

export function openTerminal(output: Output, now: () => number = Date.now): Terminal {
  const isTerminal = output.isTTY === true
  let shown = ''
  let shownAt = Number.NEGATIVE_INFINITY

  const clear = () => {
    if (shown !== '' && isTerminal) output.write(CLEAR_LINE)
  }
  const write = (text: string) => {
    clear()
    output.write(text)
    if (shown !== '' && isTerminal) output.write(shown)
  }
  return {
    write,
    line: (text = '') => write(`${text}\n`),
    progress(text) {
      if (now() - shownAt < (isTerminal ? REWRITE_MS : REPEAT_MS)) return
      shownAt = now()
      if (!isTerminal) {
        output.write(`${text}\n`)
        return
      }
      clear()
      // A line that wraps cannot be rewritten.
      shown = text.slice(0, (output.columns || 80) - 1)
      output.write(shown)
    },
    progressDone() {
      clear()
      shown = ''
      shownAt = Number.NEGATIVE_INFINITY
    },
  }
}
