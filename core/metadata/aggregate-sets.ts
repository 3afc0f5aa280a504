import { isDeepStrictEqual } from 'node:util'
import type { SeriesHints } from '#core/fields/embedded.ts'
import type { SetChanges } from '#core/metadata/apply-change.ts'
import type { SetChange } from '#core/metadata/apply-set.ts'
import { keyedEntries, type MetadataSet, type MetadataSets, SET_RULES, type SetEntries } from '#core/metadata/metadata-set.ts'

/** The sets that books can contribute to a series. */
export const AGGREGATED_SETS = ['genres', 'tags', 'alternateTitles', 'externalLinks'] as const
type AggregatedName = (typeof AGGREGATED_SETS)[number]

/** Keys of the entries that books contributed before. */
export type Aggregated = { readonly [Name in AggregatedName]?: readonly string[] }
/** The entries that books contribute now. */
export type AggregatedEntries = { readonly [Name in AggregatedName]: readonly SetEntries[Name][] }

export const aggregatedOf = ({ genres = [], tags = [], alternateTitles = [], links = [] }: SeriesHints): AggregatedEntries => ({
  genres,
  tags,
  alternateTitles,
  externalLinks: links,
})

/**
 * Adds entries that books contribute for the first time, and removes those that they no longer contribute. An entry that a person removed, from the series or
 * everywhere, is not added again.
 */
export function diffAggregated(hints: AggregatedEntries, aggregated: Aggregated): SetChanges {
  const changeOf = <Name extends AggregatedName>(name: Name): SetChange<Name> => {
    const old = new Set(aggregated[name])
    const entries = keyedEntries(name, hints[name] as readonly SetEntries[Name][])
    return {
      add: [...entries].filter(([key]) => !old.has(key)).map(([, entry]) => entry),
      remove: [...old].filter((key) => !entries.has(key)),
    }
  }
  return Object.fromEntries(AGGREGATED_SETS.map((name) => [name, changeOf(name)]))
}

/**
 * The keys to store after a change; null if they are the same as before. Entries that the change removed are forgotten, so that books can contribute them
 * again; entries that a lock kept out are not stored, so that they are added when the lock is gone.
 */
export function rememberAggregated(
  hints: AggregatedEntries,
  how: { aggregated: Aggregated; before: MetadataSets; after: MetadataSets; locks: ReadonlySet<string> },
): Aggregated | null {
  const { aggregated, before, after, locks } = how
  const remembered: { [Name in AggregatedName]?: readonly string[] } = { ...aggregated }
  for (const name of AGGREGATED_SETS) {
    const lock = SET_RULES[name].lock.series
    if (lock !== null && locks.has(lock)) continue
    const [was, is] = [before[name] as MetadataSet | undefined, after[name] as MetadataSet | undefined]
    const keys = keyedEntries<AggregatedName>(name, hints[name]).keys()
    const kept = (aggregated[name] ?? []).filter((key) => !(was?.entries.has(key) && !is?.entries.has(key)))
    const all = [...new Set([...kept, ...keys])]
    if (all.length > 0 || aggregated[name]) remembered[name] = all
  }
  return isDeepStrictEqual(remembered, aggregated) ? null : remembered
}
