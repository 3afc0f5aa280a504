/** Comparing titles and reading ISBNs the same way in every plugin. */

/**
 * Marks that people leave out or cannot type: accents of Latin, Greek and Cyrillic, points of Hebrew and vowel signs of Arabic. Marks of other
 * scripts stay, for there they are letters: without them が would be か and कि would be क.
 */
const LOOSE_MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/g
/** Letters that no decomposition takes apart, as they are spelled without them. */
const SPELLED: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ς: 'σ' }

/** A title without what people spell differently: case, accents, width, English articles in front, signs and double spaces. */
export function normalizeTitle(title: string): string {
  const plain = title.normalize('NFKD').replace(LOOSE_MARKS, '').toLowerCase()
  // Lower case has marks of its own, in İ for one.
  const folded = plain
    .normalize('NFKD')
    .replace(LOOSE_MARKS, '')
    .replace(/[ßæœøłđðþıς]/g, (letter) => SPELLED[letter] as string)
    .normalize('NFC')
  const words = folded
    .replace(/[’‘ʼ'`]/g, '')
    .replace(/&/g, ' and ')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
    .replace(/^(?:(?:the|an|a) )+/, '')
  // A title of nothing but signs is known by them.
  return words === '' ? folded.replace(/\s+/g, ' ').trim() : words
}

/** How alike two titles are, from 0 to 1: the better of their letters in order and their words in any order. */
export function titleSimilarity(a: string, b: string): number {
  const [x, y] = [normalizeTitle(a), normalizeTitle(b)]
  if (x === '' || y === '') return 0
  if (x === y) return 1
  return Math.max(pairSimilarity(x, y), wordSimilarity(x, y))
}

/** Twice the shared pairs of neighbours over all pairs (Dice). */
function pairSimilarity(a: string, b: string): number {
  const first = pairsOf(a)
  const second = pairsOf(b)
  const counts = new Map<string, number>()
  for (const pair of first) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  let shared = 0
  for (const pair of second) {
    const left = counts.get(pair) ?? 0
    if (left === 0) continue
    counts.set(pair, left - 1)
    shared += 1
  }
  return shared === 0 ? 0 : (2 * shared) / (first.length + second.length)
}

const pairsOf = (text: string): string[] => {
  const letters = [...text]
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)
}

function wordSimilarity(a: string, b: string): number {
  const [x, y] = [new Set(a.split(' ')), new Set(b.split(' '))]
  const shared = [...x].filter((word) => y.has(word)).length
  return (2 * shared) / (x.size + y.size)
}

/**
 * ISBN-10 or ISBN-13 without hyphens, spaces and what stands in front of it, such as `ISBN 978-0-441-17271-9` or `urn:isbn:0441172717`; null when
 * it is none or its check digit is wrong.
 */
export function readIsbn(text: string): string | null {
  const digits = text
    .trim()
    .replace(/^(urn:)?isbn(-1[03])?[:\s]*/i, '')
    .replace(/[\s\u00ad\u2010-\u2015-]/g, '')
    .toUpperCase()
  if (/^97[89]\d{10}$/.test(digits)) return digits.endsWith(check13(digits)) ? digits : null
  if (/^\d{9}[\dX]$/.test(digits)) return digits.endsWith(check10(digits)) ? digits : null
  return null
}

/** The ISBN-13 of an ISBN in any spelling, so that two can be compared; null when it is none. */
export function readIsbn13(text: string): string | null {
  const isbn = readIsbn(text)
  if (isbn === null || isbn.length === 13) return isbn
  const stem = `978${isbn.slice(0, 9)}`
  return stem + check13(stem)
}

const weighted = (digits: string, count: number, weight: (index: number) => number): number =>
  [...digits.slice(0, count)].reduce((total, digit, index) => total + Number(digit) * weight(index), 0)

const check13 = (digits: string): string => String((10 - (weighted(digits, 12, (index) => (index % 2 === 0 ? 1 : 3)) % 10)) % 10)

function check10(digits: string): string {
  const rest = (11 - (weighted(digits, 9, (index) => 10 - index) % 11)) % 11
  return rest === 10 ? 'X' : String(rest)
}
