/** Writings with thousands of signs stand below one of them. */
const LARGE: readonly [RegExp, string][] = [
  [/\p{Script=Han}/u, '漢'],
  [/\p{Script=Hangul}/u, '한'],
]

/** The letter that a name stands below: without accents, in capitals; `#` for what begins with no letter. */
export function letterOf(name: string): string {
  const [first = ''] = name.trim().normalize('NFD')
  const large = LARGE.find(([script]) => script.test(first.normalize('NFC')))
  if (large) return large[1]
  return /\p{L}/u.test(first) ? [...first.toLocaleUpperCase()][0]! : '#'
}

/** Names below their letters, in the order in which the letters come first. */
export function byLetter<T extends { name: string }>(entries: readonly T[]): Map<string, T[]> {
  const letters = new Map<string, T[]>()
  for (const entry of entries) {
    const letter = letterOf(entry.name)
    const known = letters.get(letter)
    if (known) known.push(entry)
    else letters.set(letter, [entry])
  }
  return letters
}
