import type { TitleRules } from '#core/conditions/title-rules.ts'

/** How the metadata of a provider is used, as an administrator has set it; what is missing has its default. */
export interface MatchingSettings {
  /** Libraries that it is used for; all where none is named. */
  libraryIds?: string[]
  /** Metadata that is taken from it, by field; all where none is named. */
  metadataTargets?: string[] | null
  /** A template over the context of a series or book, which writes what is searched for. */
  searchQueryTemplate?: string | null
  /** Regular expressions that take away parts of a title before it is searched for. */
  searchPreprocessingRules?: TitleRules | null
  /** Conditions that say which series are matched by themselves. */
  autoMatchConditions?: unknown
  /** An identifier that is known is looked up before anything is searched for. */
  useExistingExternalId?: boolean
  /** Of several that offer a field, the lowest number is asked first. */
  priority?: number
  /** Results of a search by hand where nobody says how many. */
  searchResultsLimit?: number | null
}
