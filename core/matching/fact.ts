import { isDeepStrictEqual } from 'node:util'
import type { Giver } from '#core/metadata/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
import type { Kind } from '#core/metadata/metadata-record-store.ts'
import { NAMES_MAX, nameKey } from '#core/metadata/name.ts'

/** What stands beside the fields of a series or book, as far as a provider may say it. */
export interface Facts {
  genres: string[]
  tags: string[]
  /** Of a series only. */
  alternateTitles: { label: string; title: string }[]
  /** By source. */
  externalIds: Record<string, { externalId: string; externalUrl: string | null }>
  /** Addresses by source. */
  externalLinks: Record<string, string>
  /** Of a series only, by source, from 0 to 100. */
  externalRatings: Record<string, { rating: number; voteCount: number | null }>
}
export type FactName = keyof Facts

export const FACTS: Record<Kind, readonly FactName[]> = {
  series: ['genres', 'tags', 'alternateTitles', 'externalIds', 'externalLinks', 'externalRatings'],
  book: ['genres', 'tags', 'externalIds', 'externalLinks'],
}

/** Who gave each entry of a fact, by its key. */
export type Givers = Readonly<Record<string, Giver>>

/** A fact, and who gave what of it. */
export interface GivenFact<Name extends FactName = FactName> {
  value: Facts[Name]
  givers: Givers
}

interface Entry {
  value: unknown
  giver: Giver
}

const isNames = (name: FactName) => name === 'genres' || name === 'tags'

/** Entries of a fact by their keys: genres and tags by their folded name, titles by their label and text, the rest by source. */
export function entriesOf(name: FactName, value: Facts[FactName]): [key: string, value: unknown][] {
  if (isNames(name)) return (value as string[]).map((one) => [nameKey(one), one])
  if (name === 'alternateTitles') return (value as Facts['alternateTitles']).map((one) => [JSON.stringify([one.label, one.title]), one])
  return Object.entries(value)
}

function factOf<Name extends FactName>(name: Name, entries: ReadonlyMap<string, Entry>): GivenFact<Name> {
  const givers = Object.fromEntries([...entries].map(([key, { giver }]) => [key, giver]))
  if (isNames(name)) {
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
    return { value: sorted.map(([, { value }]) => value) as Facts[Name], givers }
  }
  if (name === 'alternateTitles') return { value: [...entries.values()].map(({ value }) => value) as Facts[Name], givers }
  return { value: Object.fromEntries([...entries].map(([key, { value }]) => [key, value])) as Facts[Name], givers }
}

/** What nobody is known to have given counts as a person's. */
const giverOf = (givers: Givers, key: string): Giver => (Object.hasOwn(givers, key) ? givers[key] : undefined) ?? 'user'

/**
 * What a fact would be when a plugin gives it. Genres and tags take the place of those that machines gave, as many as there is room for beside those of
 * people; the rest is added to. What a person gave stays as it is, and what a person took away does not come back.
 * @param removed keys that a person took away
 * @returns also whether a person's word kept something out
 */
export function mergedFact<Name extends FactName>(
  name: Name,
  before: GivenFact<Name>,
  given: Facts[Name],
  removed: readonly string[] = [],
): GivenFact<Name> & { isRefused: boolean } {
  const merged = new Map<string, Entry>()
  const known = new Map(entriesOf(name, before.value))
  for (const [key, value] of known) {
    const giver = giverOf(before.givers, key)
    if (!isNames(name) || giver === 'user') merged.set(key, { value, giver })
  }
  const titles = new Set(name === 'alternateTitles' ? (before.value as Facts['alternateTitles']).map(({ title }) => nameKey(title)) : [])
  const taken = new Set(removed)
  let isRefused = false
  for (const [key, value] of entriesOf(name, given)) {
    const standing = merged.get(key)
    if (taken.has(key)) isRefused = true
    else if (standing?.giver === 'user') isRefused ||= !isNames(name) && !isDeepStrictEqual(standing.value, value)
    else if (isNames(name)) {
      if (merged.has(key) || merged.size < NAMES_MAX) merged.set(key, { value: known.get(key) ?? value, giver: 'plugin' })
    } else if (name === 'alternateTitles') {
      const title = nameKey((value as Facts['alternateTitles'][number]).title)
      if (standing) merged.set(key, { ...standing, giver: 'plugin' })
      else if (merged.size < ALTERNATE_TITLES_MAX && !titles.has(title)) merged.set(key, { value, giver: 'plugin' })
      titles.add(title)
    } else merged.set(key, { value, giver: 'plugin' })
  }
  return { ...factOf(name, merged), isRefused }
}

/** What a fact is when it is put back: as it was before, and with it whatever a person has given since. */
export function restoredFact<Name extends FactName>(name: Name, now: GivenFact<Name>, before: GivenFact<Name>): GivenFact<Name> {
  const restored = new Map<string, Entry>()
  for (const [key, value] of entriesOf(name, now.value)) {
    if (giverOf(now.givers, key) === 'user') restored.set(key, { value, giver: 'user' })
  }
  for (const [key, value] of entriesOf(name, before.value)) {
    if (restored.has(key) || (isNames(name) && restored.size >= NAMES_MAX)) continue
    restored.set(key, { value, giver: giverOf(before.givers, key) })
  }
  return factOf(name, restored)
}
