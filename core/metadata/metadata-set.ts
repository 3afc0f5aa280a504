import type { Giver } from '#core/metadata/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
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
  /** Keys of entries that a person removed, which machines must not add again; latest first. */
  removed: readonly string[]
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
  genres: { keyOf: nameKey, most: NAMES_MAX, lock: { book: 'genre', series: 'genres' }, what: 'genres' },
  tags: { keyOf: nameKey, most: NAMES_MAX, lock: { book: null, series: 'tags' }, what: 'tags' },
  alternateTitles: {
    // JSON, since a text of the database holds no NUL that could part the two.
    keyOf: ({ label, title }) => JSON.stringify([label, title]),
    most: ALTERNATE_TITLES_MAX,
    lock: { book: null, series: 'alternateTitles' },
    what: 'further titles',
  },
  externalIds: { keyOf: bySource, most: SERVICES_MAX, lock: NO_LOCK, what: 'identifiers at other services' },
  externalLinks: { keyOf: bySource, most: SERVICES_MAX, lock: NO_LOCK, what: 'links to other services' },
  externalRatings: { keyOf: bySource, most: SERVICES_MAX, lock: NO_LOCK, what: 'ratings at other services' },
}

/** Sets of names: a person who changes them is done with them, so that a lock is set where there is one, and a plugin gives all of them at once. */
export const isNames = (name: SetName): name is 'genres' | 'tags' => name === 'genres' || name === 'tags'

/** A lock keeps what a person took away from coming back; where there is none it is remembered. Only tags of books are given again all the time. */
export const remembersRemoved = (kind: 'book' | 'series', name: SetName): boolean => kind === 'book' && name === 'tags'

export const emptySet = <Name extends SetName>(): MetadataSet<Name> => ({ entries: new Map(), removed: [] })

/** The entries by key; of equal keys the first counts. */
export function keyedEntries<Name extends SetName>(name: Name, entries: readonly SetEntries[Name][]): Map<string, SetEntries[Name]> {
  const keyed = new Map<string, SetEntries[Name]>()
  for (const entry of entries) {
    const key = SET_RULES[name].keyOf(entry)
    if (!keyed.has(key)) keyed.set(key, entry)
  }
  return keyed
}

/** A set as proposals show it: names in their order, titles as a list, the rest by the names of services. */
export function valueOfSet<Name extends SetName>(name: Name, entries: Iterable<readonly [string, SetEntries[Name]]>): unknown {
  const all = [...entries]
  if (isNames(name)) return all.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
  if (name === 'alternateTitles')
    return (all as unknown as [string, SetEntries['alternateTitles']][]).map(([, { label, title }]) => ({ label, title }))
  const shown = SHOWN_OF_SERVICE[name as keyof typeof SHOWN_OF_SERVICE] as (value: SetEntries[Name]) => unknown
  return Object.fromEntries(all.map(([source, value]) => [source, shown(value)]))
}

const SHOWN_OF_SERVICE = {
  externalIds: ({ externalId, externalUrl = null }: SetEntries['externalIds']) => ({ externalId, externalUrl }),
  externalLinks: ({ url }: SetEntries['externalLinks']) => url,
  externalRatings: ({ rating, voteCount = null }: SetEntries['externalRatings']) => ({ rating, voteCount }),
}
