import type { KeptEmbedded } from '#core/metadata/embedded.ts'
import type { SetEntries } from '#core/metadata/metadata-set.ts'
import { NAME_LENGTH_MAX, NAMES_MAX } from '#core/metadata/name.ts'
import { sourceKey } from '#core/metadata/source-key.ts'

/** The sets of a book that its file can provide. */
export const EMBEDDED_SETS = ['genres', 'tags', 'externalLinks', 'externalIds'] as const
type EmbeddedSet = (typeof EMBEDDED_SETS)[number]

/**
 * The entries that a file provides, as far as they fit. Identifiers have the keys of their services.
 * @param idNames the names of services that installed plugins use
 */
export function embeddedEntries(
  { genres, tags, links = [], externalIds = {} }: KeptEmbedded,
  idNames: ReadonlySet<string>,
): { readonly [Name in EmbeddedSet]: readonly SetEntries[Name][] } {
  return {
    genres: namesThatFit(genres),
    tags: namesThatFit(tags),
    externalLinks: links,
    externalIds: Object.entries(externalIds).map(([source, externalId]) => ({ source: sourceKey(source, idNames), externalId })),
  }
}

/** Sentences are not genres, and a list of keywords beyond the limit is cut. */
const namesThatFit = (names: readonly string[] = []): string[] => names.filter((name) => name.length <= NAME_LENGTH_MAX).slice(0, NAMES_MAX)
