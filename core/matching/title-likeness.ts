import { normalizeTitle } from '../../plugin-sdk/text.ts'

/** Maximum length of a compared title; the longest known ones have 250 characters. */
const TITLE_LENGTH_MAX = 300
/** Greater than every code point, so that two of them form one number. */
const POINTS = 0x110000

/** A title prepared for comparison: normalized, split and sorted once for any number of comparisons. */
interface PreparedTitle {
  text: string
  /** Pairs of neighboring characters as numbers, sorted. */
  pairs: Float64Array
  /** Distinct words as numbers, sorted. */
  words: Float64Array
}

/** Prepares the titles of one comparison; the numbers of words are valid only within it. */
export function titlePreparer(): (title: string) => PreparedTitle {
  const numbers = new Map<string, number>()
  const numberOf = (word: string): number => {
    const known = numbers.get(word)
    if (known !== undefined) return known
    numbers.set(word, numbers.size)
    return numbers.size - 1
  }
  return (title) => {
    const text = normalizeTitle(title.slice(0, TITLE_LENGTH_MAX))
    const words = Float64Array.from([...new Set(text.split(' '))].map(numberOf))
    return { text, pairs: pairsOf(text), words: words.sort() }
  }
}

function pairsOf(text: string): Float64Array {
  const pairs = new Float64Array(text.length)
  let count = -1
  let before = 0
  for (const letter of text) {
    const point = letter.codePointAt(0) as number
    if (count >= 0) pairs[count] = before * POINTS + point
    before = point
    count += 1
  }
  return pairs.subarray(0, Math.max(count, 0)).sort()
}

/** The upper bound of the similarity by length: if it is below the best so far, the comparison is skipped. */
export const likenessMax = (a: PreparedTitle, b: PreparedTitle): number =>
  a.text === b.text ? 1 : Math.max(diceMax(a.pairs.length, b.pairs.length), diceMax(a.words.length, b.words.length))

const diceMax = (a: number, b: number): number => (2 * Math.min(a, b)) / (a + b || 1)

/** The similarity of two titles, from 0 to 1, like `titleSimilarity` of the SDK. Linear in their lengths. */
export function likeness(a: PreparedTitle, b: PreparedTitle): number {
  if (a.text === '' || b.text === '') return 0
  if (a.text === b.text) return 1
  return Math.max(dice(a.pairs, b.pairs), dice(a.words, b.words))
}

/** Twice the number of shared entries of two sorted lists, divided by the number of all entries. */
function dice(a: Float64Array, b: Float64Array): number {
  let shared = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const x = a[i] as number
    const y = b[j] as number
    if (x === y) shared += 1
    if (x <= y) i += 1
    if (y <= x) j += 1
  }
  return shared === 0 ? 0 : (2 * shared) / (a.length + b.length)
}
