/** A place of words in a text, with what stands around it. */
export interface FoundWords {
  /** Offset of the first letter. */
  at: number
  length: number
  before: string
  words: string
  after: string
}

/** Letters around found words: two lines of a panel. */
const AROUND = 60

/** All places of words in a text, without regard to case, accents and the kind of spaces. @param most of them at most */
export function findWords(text: string, query: string, most: number): FoundWords[] {
  const wanted = fold(query).folded.trim()
  if (wanted === '') return []
  const { folded, offsets } = fold(text)
  const found: FoundWords[] = []
  for (let at = folded.indexOf(wanted); at !== -1 && found.length < most; at = folded.indexOf(wanted, at + wanted.length)) {
    const start = offsets[at] as number
    const end = (offsets[at + wanted.length - 1] as number) + 1
    found.push({
      at: start,
      length: end - start,
      before: text.slice(Math.max(0, start - AROUND), start),
      words: text.slice(start, end),
      after: text.slice(end, end + AROUND),
    })
  }
  return found
}

/** A text in plain lower-case letters with single spaces, and for each the offset before. */
function fold(text: string): { folded: string; offsets: number[] } {
  const offsets: number[] = []
  let folded = ''
  for (let at = 0; at < text.length; at++) {
    const plain = plainOf(text[at] as string)
    if (plain === ' ' && folded.endsWith(' ')) continue
    for (const letter of plain) {
      folded += letter
      offsets.push(at)
    }
  }
  return { folded, offsets }
}

/** Most letters are ASCII, and need no normalization. */
function plainOf(letter: string): string {
  if (letter >= '!' && letter <= '~') return letter.toLowerCase()
  return /\s/.test(letter) ? ' ' : letter.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
