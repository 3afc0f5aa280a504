import type { KeptEmbedded } from '#core/fields/embedded.ts'
import { sourceKey } from '#core/fields/source-key.ts'
import type { SetEntries } from '#core/metadata/metadata-set.ts'
import { NAMES_MAX, TAXONOMY_NAME_LENGTH_MAX } from '#core/metadata/name.ts'

/** The sets of a book that its file can provide. */
export const EMBEDDED_SETS = ['genres', 'tags', 'externalLinks', 'externalIds'] as const
type EmbeddedSet = (typeof EMBEDDED_SETS)[number]

/**
 * The entries that a file provides, within the limits. Identifiers have the keys of their services.
 * @param idNames the names that installed plugins use for their services
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

/** Drops names that are too long to be genres, and cuts the list at the limit. */
const namesThatFit = (names: readonly string[] = []): string[] =>
  names.filter((name) => name.length <= TAXONOMY_NAME_LENGTH_MAX).slice(0, NAMES_MAX)
