/** Text around a place, by which it is found in another edition of the file. */
export interface Quote {
  before?: string | undefined
  highlight: string
}

/** Letters that are quoted: enough to be unique on a page. */
const QUOTED_LETTERS = 80
const BEFORE_LETTERS = 32

/** With single spaces. */
export const squeeze = (text: string): string => text.replace(/\s+/g, ' ')

/** The quote of a place in a text. @param at offset of its first letter */
export const quoteAt = (text: string, at: number, length = QUOTED_LETTERS): Quote => ({
  before: squeeze(text.slice(Math.max(0, at - BEFORE_LETTERS), at)),
  highlight: squeeze(text.slice(at, at + length)).trim(),
})

/** Where a quote is in a text; null if it is not there. Of several, the one after the same words, else the nearest to a place. */
export function findQuote(text: string, { before, highlight }: Quote, near: number): { at: number; length: number } | null {
  const { squeezed, offsets } = squeezeWithOffsets(text)
  const wanted = squeeze(highlight).trim()
  if (wanted === '') return null
  const found: number[] = []
  for (let at = squeezed.indexOf(wanted); at !== -1; at = squeezed.indexOf(wanted, at + 1)) found.push(at)
  const after = before ? found.filter((at) => squeezed.slice(0, at).trimEnd().endsWith(squeeze(before).trim())) : []
  const candidates = (after.length > 0 ? after : found).map((at) => {
    const first = offsets[at] as number
    return { at: first, length: (offsets[at + wanted.length - 1] as number) + 1 - first }
  })
  return candidates.toSorted((a, b) => Math.abs(a.at - near) - Math.abs(b.at - near))[0] ?? null
}

/** A text with single spaces, and for each of its letters the offset before. */
function squeezeWithOffsets(text: string): { squeezed: string; offsets: number[] } {
  const offsets: number[] = []
  let squeezed = ''
  let wasSpace = false
  for (let at = 0; at < text.length; at++) {
    const isSpace = /\s/.test(text[at] as string)
    if (isSpace && wasSpace) continue
    squeezed += isSpace ? ' ' : text[at]
    offsets.push(at)
    wasSpace = isSpace
  }
  return { squeezed, offsets }
}
