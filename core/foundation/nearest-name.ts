/** Longer than any name there is; with more letters it is no slip of the finger, and comparing costs length times length. */
export const COMPARED_LENGTH_MAX = 100

/**
 * Edits (insert, delete, replace, swap of neighbours) that turn one text into the other; Infinity where they are more than `most`.
 * Only places at most that far off the diagonal are looked at, so that it costs length times `most`.
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

/** The name most like `given`, or null when none is like it enough to be what was meant. */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (given.length > COMPARED_LENGTH_MAX) return null
  const wanted = given.toLowerCase()
  let best: string | null = null
  // Half of the letters wrong is no slip of the finger any more.
  let bestDistance = Math.floor(given.length / 2) + 1
  for (const name of names) {
    const begins = given.length >= 3 && name.toLowerCase().startsWith(wanted)
    const distance = begins ? 1 : editDistance(wanted, name.toLowerCase(), bestDistance - 1)
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** " Did you mean X?" or nothing. */
export function didYouMean(given: string, names: readonly string[], prefix = ''): string {
  const nearest = nearestName(given, names)
  return nearest === null ? '' : ` Did you mean ${prefix}${nearest}?`
}
