import { isDeepStrictEqual } from 'node:util'
import type { SetChanges } from '#core/metadata/apply-change.ts'
import type { SetChange } from '#core/metadata/apply-set.ts'
import type { SeriesHints } from '#core/metadata/embedded.ts'
import { keyedEntries, type MetadataSet, type MetadataSets, SET_RULES, type SetEntries } from '#core/metadata/metadata-set.ts'

/** The sets that books can contribute to a series. */
type AggregatedName = 'genres' | 'tags' | 'alternateTitles' | 'externalLinks'

/** What books have contributed before, by keys. */
export type Aggregated = { readonly [Name in AggregatedName]?: readonly string[] }
/** What books contribute now. */
export type AggregatedEntries = { readonly [Name in AggregatedName]: readonly SetEntries[Name][] }

const NAMES = ['genres', 'tags', 'alternateTitles', 'externalLinks'] as const

export const aggregatedOf = ({ genres = [], tags = [], alternateTitles = [], links = [] }: SeriesHints): AggregatedEntries => ({
  ...{ genres, tags, alternateTitles },
  externalLinks: links,
})

/**
 * What books give for the first time, and what they have given and say no more. A person who took something away, from the series or everywhere, is not
 * asked again.
 */
export function diffAggregated(said: AggregatedEntries, aggregated: Aggregated): SetChanges {
  const changeOf = <Name extends AggregatedName>(name: Name): SetChange<Name> => {
    const old = new Set(aggregated[name])
    const entries = keyedEntries(name, said[name] as readonly SetEntries[Name][])
    return {
      add: [...entries].filter(([key]) => !old.has(key)).map(([, entry]) => entry),
      remove: [...old].filter((key) => !entries.has(key)),
    }
  }
  return Object.fromEntries(NAMES.map((name) => [name, changeOf(name)]))
}

/**
 * What books have given then; null when that is what it was. What was taken back is forgotten, so that it may come again, and what a lock kept out may come
 * when it is gone.
 */
export function rememberAggregated(
  said: AggregatedEntries,
  how: { aggregated: Aggregated; before: MetadataSets; after: MetadataSets; locks: ReadonlySet<string> },
): Aggregated | null {
  const { aggregated, before, after, locks } = how
  const remembered: { [Name in AggregatedName]?: readonly string[] } = { ...aggregated }
  for (const name of NAMES) {
    const lock = SET_RULES[name].lock.series
    if (lock !== null && locks.has(lock)) continue
    const [was, is] = [before[name] as MetadataSet | undefined, after[name] as MetadataSet | undefined]
    const keys = keyedEntries(name, said[name] as never).keys()
    const kept = (aggregated[name] ?? []).filter((key) => !(was?.entries.has(key) && !is?.entries.has(key)))
    const all = [...new Set([...kept, ...keys])]
    if (all.length > 0 || aggregated[name]) remembered[name] = all
  }
  return isDeepStrictEqual(remembered, aggregated) ? null : remembered
}
