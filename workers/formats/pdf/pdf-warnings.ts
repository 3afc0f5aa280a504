/**
 * pdf.js repairs what it can and reports it only through console.warn: a picture that it left out, a page count that it
 * corrected. We read those few warnings here and keep all of them out of the log: a sloppy but readable PDF causes
 * hundreds.
 */

const FROM_PDFJS = 'Warning: '

const listeners = new Set<(message: string) => void>()

const warn = console.warn
console.warn = (...args: unknown[]) => {
  const [first] = args
  if (typeof first !== 'string' || !first.startsWith(FROM_PDFJS)) return warn(...args)
  for (const listener of listeners) listener(first.slice(FROM_PDFJS.length))
}

/** Runs `work` and returns its result with the first warning of pdf.js meanwhile that contains `sign` (of any document in this thread). */
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
