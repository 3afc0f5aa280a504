/** Longer than any existing name; a longer text is no typing error, and comparing costs length times length. */
export const COMPARED_LENGTH_MAX = 100

/**
 * Edits (insert, delete, replace, swap of neighbors) that turn one text into the other; Infinity if they are more than `most`.
 * Compares only positions at most that far from the diagonal, so that the cost is length times `most`.
 */
export function editDistance(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) > most) return Number.POSITIVE_INFINITY
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 1; i <= from.length; i++) {
    const next = Array<number>(to.length + 1).fill(Number.POSITIVE_INFINITY)
    next[0] = i
    const [first, last] = [Math.max(1, i - most), Math.min(to.length, i + most)]
    for (let j = first; j <= last; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1
      let best = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) best = Math.min(best, before[j - 2]! + 1)
      next[j] = best
    }
    before = row
    row = next
  }
  return row[to.length]! <= most ? row[to.length]! : Number.POSITIVE_INFINITY
}

/** A third of the letters, and at most two: `match` is no guess for `fetch`, nor one host for another of the same domain. */
const editsMax = (length: number): number => Math.min(2, Math.max(1, Math.floor(length / 3)))

/** The name most similar to `given`, or null when none is similar enough: a wrong guess costs more than none. */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (given.length > COMPARED_LENGTH_MAX) return null
  const wanted = given.toLowerCase()
  // Of several names that begin with it, none is the likely one.
  const isBeginning = wanted.length >= 3 && names.filter((name) => name.toLowerCase().startsWith(wanted)).length === 1
  let best: string | null = null
  let bestDistance = editsMax(given.length) + 1
  for (const name of names) {
    const known = name.toLowerCase()
    // One that differs in case alone stands before all others.
    const isClose = known !== wanted && (isPartOrMixed(wanted, known) || (isBeginning && known.startsWith(wanted)))
    const distance = isClose ? 1 : editDistance(wanted, known, bestDistance - 1)
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** A name with more around it, or its letters in another order. */
function isPartOrMixed(given: string, name: string): boolean {
  if (given.length < 3 || name.length < 3) return false
  return given.includes(name) || (given.length === name.length && lettersOf(given) === lettersOf(name))
}

const lettersOf = (text: string): string => [...text].sort().join('')

/** " Did you mean X?", or an empty text. */
export function didYouMean(given: string, names: readonly string[], prefix = ''): string {
  const nearest = nearestName(given, names)
  return nearest === null ? '' : ` Did you mean ${prefix}${nearest}?`
}
