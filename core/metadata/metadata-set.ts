import type { Giver } from '#core/fields/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/fields/limits.ts'
import { NAMES_MAX, nameKey } from '#core/metadata/name.ts'

/** The members of an entry of each set. Absent and null members have no value. */
export interface SetEntries {
  genres: string
  tags: string
  alternateTitles: { label: string; title: string }
  externalIds: { source: string; externalId: string; externalUrl?: string | null; metadataHash?: string | null }
  externalLinks: { source: string; url: string; externalId?: string | null }
  /** From 0 to 100. */
  externalRatings: { source: string; rating: number; voteCount?: number | null }
}
export type SetName = keyof SetEntries

/** An entry with its source. */
export interface GivenEntry<Name extends SetName = SetName> {
  value: SetEntries[Name]
  giver: Giver
  /** Id of its row, if it has one of its own. */
  id?: string
}

/** All entries of a set of one book or series, by their keys. */
export interface MetadataSet<Name extends SetName = SetName> {
  entries: ReadonlyMap<string, GivenEntry<Name>>
  /** Keys (`removedKeyOf`) of entries that a person removed or corrected, which machines must not add again; latest first. */
  removed: readonly string[]
  /** How often a person has set all entries at once: after that, the undo of an earlier change does not change the set. */
  replacements?: number
}

/** The sets of one book or series, as far as they were read. */
export type MetadataSets = { readonly [Name in SetName]?: MetadataSet<Name> }

/** The sets of books and series, in display order. */
export const SETS = {
  series: ['genres', 'tags', 'alternateTitles', 'externalIds', 'externalLinks', 'externalRatings'],
  book: ['genres', 'tags', 'externalIds', 'externalLinks'],
} as const satisfies Record<'book' | 'series', readonly SetName[]>

interface SetRule<Name extends SetName> {
  keyOf: (entry: SetEntries[Name]) => string
  /**
   * The key that identifies a removed entry when a machine gives it again: a title under any label, a link or rating of the same service. For an
   * identifier it includes the value, because another identifier of the same service may be the right one.
   */
  removedKeyOf: (entry: SetEntries[Name]) => string
  /** Maximum number of entries. */
  most: number
  /** The lock that excludes machines. Without one, machines keep the entries of people. */
  lock: { book: string | null; series: string | null }
  /** The entries, for messages. */
  what: string
}

/** There are fewer services. */
const SERVICES_MAX = 200
const NO_LOCK = { book: null, series: null }
const bySource = ({ source }: { source: string }): string => source

export const SET_RULES: { readonly [Name in SetName]: SetRule<Name> } = {
  genres: { keyOf: nameKey, removedKeyOf: nameKey, most: NAMES_MAX, lock: { book: 'genre', series: 'genres' }, what: 'genres' },
  tags: { keyOf: nameKey, removedKeyOf: nameKey, most: NAMES_MAX, lock: { book: null, series: 'tags' }, what: 'tags' },
  alternateTitles: {
    // JSON, because a text in the database cannot contain NUL as a separator.
    keyOf: ({ label, title }) => JSON.stringify([label, title]),
    removedKeyOf: ({ title }) => nameKey(title),
    most: ALTERNATE_TITLES_MAX,
    lock: { book: null, series: 'alternateTitles' },
    what: 'further titles',
  },
  externalIds: {
    keyOf: bySource,
    removedKeyOf: ({ source, externalId }) => JSON.stringify([source, externalId]),
    most: SERVICES_MAX,
    lock: NO_LOCK,
    what: 'identifiers at other services',
  },
  externalLinks: { keyOf: bySource, removedKeyOf: bySource, most: SERVICES_MAX, lock: NO_LOCK, what: 'links to other services' },
  externalRatings: { keyOf: bySource, removedKeyOf: bySource, most: SERVICES_MAX, lock: NO_LOCK, what: 'ratings at other services' },
}

/** Sets of names: an edit by a person locks them, if they have a lock, and a plugin always gives all of them at once. */
export const isNames = (name: SetName): name is 'genres' | 'tags' => name === 'genres' || name === 'tags'

export const emptySet = <Name extends SetName>(): MetadataSet<Name> => ({ entries: new Map(), removed: [] })

/** The entries by key; the first entry of a key counts. */
export function keyedEntries<Name extends SetName>(name: Name, entries: readonly SetEntries[Name][]): Map<string, SetEntries[Name]> {
  const keyed = new Map<string, SetEntries[Name]>()
  for (const entry of entries) {
    const key = SET_RULES[name].keyOf(entry)
    if (!keyed.has(key)) keyed.set(key, entry)
  }
  return keyed
}

/** A set in the form of proposals: names in their order, titles as a list, all others by the names of services. */
export function valueOfSet<Name extends SetName>(name: Name, entries: Iterable<readonly [string, SetEntries[Name]]>): unknown {
  const all = [...entries]
  if (isNames(name)) return all.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
  if (name === 'alternateTitles')
    return all.map(([, value]) => {
      const { label, title } = value as SetEntries['alternateTitles']
      return { label, title }
    })
  const publicValue = SERVICE_VALUES[name as keyof typeof SERVICE_VALUES] as (value: SetEntries[Name]) => unknown
  return Object.fromEntries(all.map(([source, value]) => [source, publicValue(value)]))
}

const SERVICE_VALUES = {
  externalIds: ({ externalId, externalUrl = null }: SetEntries['externalIds']) => ({ externalId, externalUrl }),
  externalLinks: ({ url }: SetEntries['externalLinks']) => url,
  externalRatings: ({ rating, voteCount = null }: SetEntries['externalRatings']) => ({ rating, voteCount }),
}
