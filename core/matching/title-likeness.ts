import { normalizeTitle } from '../../plugin-sdk/text.ts'

/** Of a title that is compared; the longest that are known have 250. */
const TITLE_LENGTH_MAX = 300
/** Code points lie below it: two of them make one number. */
const POINTS = 0x110000

/** A title as it is compared: normalized, taken apart and sorted once, however many others it is compared with. */
interface PreparedTitle {
  text: string
  /** Pairs of neighbors, each as a number, sorted. */
  pairs: Float64Array
  /** Different words, each by its number, sorted. */
  words: Float64Array
}

/** Prepares the titles of one comparison: words have their numbers in there alone. */
export function openTitles(): (title: string) => PreparedTitle {
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

/** As alike as two titles can be by how long they are: what is less than is known already need not be looked at. */
export const likenessMax = (a: PreparedTitle, b: PreparedTitle): number =>
  a.text === b.text ? 1 : Math.max(diceMax(a.pairs.length, b.pairs.length), diceMax(a.words.length, b.words.length))

const diceMax = (a: number, b: number): number => (2 * Math.min(a, b)) / (a + b || 1)

/** How alike two titles are, from 0 to 1, as `titleSimilarity` of the SDK says. Takes as long as both together are. */
export function likeness(a: PreparedTitle, b: PreparedTitle): number {
  if (a.text === '' || b.text === '') return 0
  if (a.text === b.text) return 1
  return Math.max(dice(a.pairs, b.pairs), dice(a.words, b.words))
}

/** Twice what two sorted lists share over all that they have. */
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
