import { normalizeText } from '#core/foundation/text.ts'

/** Longest name that file systems accept, in bytes of UTF-8. */
const NAME_BYTES_MAX = 255
/** How many characters of a name are processed before it is cut to that; decomposed letters have several. */
const NAME_LENGTH_MAX = 4_096
/** Room for " (12345)" before the extension. */
const COUNT_BYTES = 8
/** Separators, characters that Windows refuses, control characters, and marks that reverse text, so that "exe" looks like "cbz". */
const UNSAFE = /[\p{Cc}"*/:<>?\\|\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
/** Device names of Windows, with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i
const EXTENSION = /(?:\.kepub)?\.[^.\s]{1,10}$/i

/** A name that every file system accepts and that stays in its folder. */
export function safeFileName(name: string): string {
  const begun = normalizeText(name.toWellFormed(), NAME_LENGTH_MAX)
    .replace(UNSAFE, '_')
    .replace(/^[\s.]+/, (start) => '_'.repeat(start.length))
  const plain = withoutEnd(begun).replace(RESERVED, '_$&')
  return cutName(plain === '' ? '_' : plain, NAME_BYTES_MAX - COUNT_BYTES)
}

/**
 * Names for files of one folder, in their order: safe and unique. Names that differ only in case are the same on many disks, so they get a number
 * too: `a.cbz`, `A (2).cbz`.
 */
export function uniqueFileNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return names.map((given) => {
    const name = safeFileName(given)
    const extension = EXTENSION.exec(name)?.[0] ?? ''
    const stem = name.slice(0, name.length - extension.length)
    let count = counts.get(keyOf(name)) ?? 1
    let free = name
    while (taken.has(keyOf(free))) free = `${stem} (${++count})${extension}`
    counts.set(keyOf(name), count)
    taken.add(keyOf(free))
    return free
  })
}

const keyOf = (name: string) => normalizeText(name.toLowerCase(), NAME_LENGTH_MAX)

/** Windows refuses spaces and dots at the end. A loop: a regular expression would start again at each of them. */
function withoutEnd(name: string): string {
  let end = name.length
  while (end > 0 && /[\s.]/.test(name.charAt(end - 1))) end -= 1
  return name.slice(0, end)
}

/** Shortens the stem, by whole characters; the extension stays, because it gives the type of the file. */
function cutName(name: string, bytesMax: number): string {
  if (Buffer.byteLength(name) <= bytesMax) return name
  const extension = EXTENSION.exec(name)?.[0] ?? ''
  const room = bytesMax - Buffer.byteLength(extension)
  let stem = ''
  let bytes = 0
  for (const character of name.slice(0, name.length - extension.length)) {
    bytes += Buffer.byteLength(character)
    if (bytes > room) break
    stem += character
  }
  return stem.trimEnd() + extension
}
