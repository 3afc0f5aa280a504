/**
 * pdf.js mends what it can and says so only through console.warn: a picture it left out, a page count it did not believe.
 * Those few lines are facts about the book, so its warnings are listened to here, and kept from the log: a sloppy but
 * readable PDF gives hundreds.
 */

const FROM_PDFJS = 'Warning: '

const listeners = new Set<(message: string) => void>()

const warn = console.warn
console.warn = (...args: unknown[]) => {
  const [first] = args
  if (typeof first !== 'string' || !first.startsWith(FROM_PDFJS)) return warn(...args)
  for (const listener of listeners) listener(first.slice(FROM_PDFJS.length))
}

/** Runs `work` and answers, beside its result, what pdf.js warned of meanwhile with `sign` in it (first such line, in any document of this thread). */
export async function withWarning<T>(sign: string, work: () => Promise<T>): Promise<{ result: T; warning: string | null }> {
  let warning: string | null = null
  const listener = (message: string) => {
    if (message.includes(sign)) warning ??= message
  }
  listeners.add(listener)
  try {
    const result = await work()
    return { result, warning }
  } finally {
    listeners.delete(listener)
  }
}
