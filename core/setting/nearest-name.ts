/** Edits (insert, delete, replace, swap of neighbours) that turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1
      let best = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) best = Math.min(best, before[j - 2]! + 1)
      next.push(best)
    }
    before = row
    row = next
  }
  return row[to.length]!
}

/** The name most like `given`, or null when none is like it enough to be what was meant. */
export function nearestName(given: string, names: readonly string[]): string | null {
  let best: string | null = null
  // Half of the letters wrong is no slip of the finger any more.
  let bestDistance = Math.floor(given.length / 2) + 1
  for (const name of names) {
    const begins = given.length >= 3 && name.toLowerCase().startsWith(given.toLowerCase())
    const distance = begins ? 1 : editDistance(given.toLowerCase(), name.toLowerCase())
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
