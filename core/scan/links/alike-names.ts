import { normalizeText } from '#core/foundation/text.ts'

/** As long as any name that a file system allows, in characters. */
const NAME_LENGTH_MAX = 255

/** Pairs of names that differ only in case or Unicode form. The first of several alike is in every pair. */
export function findAlike(names: readonly string[]): [string, string][] {
  if (names.length < 2) return []
  const firsts = new Map<string, string>()
  const pairs: [string, string][] = []
  for (const name of names) {
    const key = keyOf(name)
    const first = firsts.get(key)
    if (first === undefined) firsts.set(key, name)
    // Equal names are no UTF-8, see unreadable-reason.ts.
    else if (first !== name) pairs.push([first, name])
  }
  return pairs
}

const keyOf = (name: string) => normalizeText(name, NAME_LENGTH_MAX).toLowerCase()

/** What is the matter with two names that are alike, as a sentence about the paths. */
export function describeAlike(one: string, other: string): string {
  const what = one.toLowerCase() === other.toLowerCase() ? 'case' : 'Unicode form (composed or decomposed characters, as macOS makes them)'
  return `"${one}" and "${other}" differ only in ${what}: they are separate. If they are the same, rename or merge them.`
}
