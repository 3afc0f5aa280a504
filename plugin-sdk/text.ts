/** Comparing titles and reading ISBNs the same way in every plugin. */

/** A title without what people spell differently: case, accents, articles in front, signs and double spaces. */
export function normalizeTitle(title: string): string {
  const folded = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[’'`]/g, '')
    .replace(/&/g, ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  const bare = folded.replace(/^(the|an|a) /, '')
  return bare === '' ? folded : bare
}

/** How alike two titles are, from 0 to 1: the better of their letters in order and their words in any order. */
export function titleSimilarity(a: string, b: string): number {
  const [x, y] = [normalizeTitle(a), normalizeTitle(b)]
  if (x === '' || y === '') return 0
  if (x === y) return 1
  return Math.max(bigramSimilarity(x, y), wordSimilarity(x, y))
}

/** Twice the shared pairs of neighbours over all pairs (Dice). */
function bigramSimilarity(a: string, b: string): number {
  const pairsOf = (text: string) => Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => text.slice(index, index + 2))
  const counts = new Map<string, number>()
  const first = pairsOf(a)
  for (const pair of first) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  let shared = 0
  const second = pairsOf(b)
  for (const pair of second) {
    const left = counts.get(pair) ?? 0
    if (left > 0) {
      counts.set(pair, left - 1)
      shared += 1
    }
  }
  return first.length + second.length === 0 ? 0 : (2 * shared) / (first.length + second.length)
}

function wordSimilarity(a: string, b: string): number {
  const [x, y] = [new Set(a.split(' ')), new Set(b.split(' '))]
  const shared = [...x].filter((word) => y.has(word)).length
  return (2 * shared) / (x.size + y.size)
}

/** ISBN-10 or ISBN-13 without hyphens and spaces; null when its check digit is wrong. */
export function readIsbn(text: string): string | null {
  const digits = text.replace(/[\s-]/g, '').toUpperCase()
  const sum = (weights: (index: number) => number) =>
    [...digits].reduce((total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * weights(index), 0)
  if (/^\d{13}$/.test(digits)) return sum((index) => (index % 2 === 0 ? 1 : 3)) % 10 === 0 ? digits : null
  if (/^\d{9}[\dX]$/.test(digits)) return sum((index) => 10 - index) % 11 === 0 ? digits : null
  return null
}
