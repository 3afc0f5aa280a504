import type { ValuesOf } from '#core/fields/record-kind.ts'

interface EmbeddedLink {
  source: string
  /** http or https. */
  url: string
}

/** The metadata of a series in the file of a book. Every member is within the limits of its field. */
export interface SeriesHints {
  /** Values by the names of SERIES_FIELDS. */
  fields?: ValuesOf['series']
  genres?: string[]
  tags?: string[]
  alternateTitles?: { label: string; title: string }[]
  links?: EmbeddedLink[]
}

/** The metadata in a file, and in files beside it. Members without a value are absent. */
export interface Embedded {
  title?: string
  /** Values by the names of BOOK_FIELDS except title; people as `authors`. Every member is within the limits of its field. */
  book?: ValuesOf['book']
  genres?: string[]
  tags?: string[]
  storyArcs?: { name: string; number?: string }[]
  links?: EmbeddedLink[]
  /** Identifiers at other services, by the name of the service, such as goodreads. */
  externalIds?: Record<string, string>
  /** Metadata of its series in the file of this one book. */
  series?: SeriesHints
}

/**
 * The part of {@link Embedded} that is stored in `book_metadata.embedded`: series are aggregated from it; and the title (null if the file has none) and
 * the fields are restored from it when a stronger value is cleared or undone.
 */
export type KeptEmbedded = Omit<Embedded, 'title'> & { title?: string | null }
