import type { TitleRules } from '#core/conditions/title-rules.ts'

/** How to use the metadata of a provider, as configured by an administrator; missing members have defaults. */
export interface MatchingSettings {
  /** Libraries that use it; none means all. */
  libraryIds?: string[]
  /** Fields to take from it; none means all. */
  metadataTargets?: string[] | null
  /** A template over the context of a series or book for the search query. */
  searchQueryTemplate?: string | null
  /** Regular expressions that remove parts of a title before the search. */
  searchPreprocessingRules?: TitleRules | null
  /** Conditions on series that are matched automatically. */
  autoMatchConditions?: unknown
  /** Looks up a known identifier before searching. */
  useExistingExternalId?: boolean
  /** If several providers offer a field, the lowest number comes first. */
  priority?: number
  /** Default number of results of a manual search. */
  searchResultsLimit?: number | null
}
