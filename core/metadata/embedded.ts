import type { ValuesOf } from '#core/metadata/record-kind.ts'

interface EmbeddedLink {
  source: string
  /** http or https. */
  url: string
}

/** What a file says of the series it belongs to. Every member has passed the limits of its field. */
export interface SeriesHints {
  /** Values by the names of SERIES_FIELDS. */
  fields?: ValuesOf['series']
  genres?: string[]
  tags?: string[]
  alternateTitles?: { label: string; title: string }[]
  links?: EmbeddedLink[]
}

/** What metadata in a file, and in files beside it, says. Members without a value are absent. */
export interface Embedded {
  title?: string
  /** Values by the names of BOOK_FIELDS but title; people as `authors`. Every member has passed the limits of its field. */
  book?: ValuesOf['book']
  genres?: string[]
  tags?: string[]
  storyArcs?: { name: string; number?: string }[]
  links?: EmbeddedLink[]
  /** Identifiers at other services by their name, such as goodreads. */
  externalIds?: Record<string, string>
  /** What the file of this one book says of its series. */
  series?: SeriesHints
  /** What a file beside the books (series.json) says of their series as such; it knows better than the books. */
  seriesSidecar?: SeriesHints
}

/**
 * What of {@link Embedded} is kept in `book_metadata.embedded`: for the series, which is aggregated from it; and the title (null where the file has none) and
 * the fields, for when what hides them is given up or undone.
 */
export type KeptEmbedded = Omit<Embedded, 'title'> & { title?: string | null }
