import type { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { ExportedBy } from '#core/fields/field.ts'
import type { SERIES_FIELDS } from '#core/fields/series-metadata.ts'

/** One column of an export that users can choose. */
export interface ExportField {
  label: string
  /** Has several values. */
  many?: true
  /** Differs between users; `progress` is what they have read. */
  own?: 'progress' | 'rating'
}

/** A column for every metadata field that is marked as exported, and others. */
type Columns<Exported extends string> = Record<Exported, ExportField> & Record<string, ExportField>

/** The columns for series; every export contains the first, which identifies the rows. */
export const SERIES_EXPORT_FIELDS = {
  series_name: { label: 'Series' },
  series_id: { label: 'Series ID' },
  library_id: { label: 'Library ID' },
  library_name: { label: 'Library' },
  path: { label: 'Path' },
  created_at: { label: 'Added' },
  updated_at: { label: 'Changed' },
  title: { label: 'Title' },
  title_sort: { label: 'Sort title' },
  summary: { label: 'Summary' },
  publisher: { label: 'Publisher' },
  imprint: { label: 'Imprint' },
  status: { label: 'Status' },
  year: { label: 'Year' },
  age_rating: { label: 'Age rating' },
  language: { label: 'Language' },
  authors: { label: 'Authors', many: true },
  genres: { label: 'Genres', many: true },
  tags: { label: 'Tags', many: true },
  alternate_titles: { label: 'Other titles', many: true },
  external_ids: { label: 'IDs at other services', many: true },
  expected_book_count: { label: 'Expected books' },
  expected_chapter_count: { label: 'Expected chapters' },
  actual_book_count: { label: 'Books' },
  unread_book_count: { label: 'Unread books', own: 'progress' },
  progress: { label: 'Read, in percent of the books', own: 'progress' },
  user_rating: { label: 'My rating', own: 'rating' },
  user_notes: { label: 'My notes', own: 'rating' },
  community_avg_rating: { label: 'Average rating of all users' },
  external_ratings: { label: 'Ratings at other services', many: true },
} as const satisfies Columns<ExportedBy<typeof SERIES_FIELDS>>
export type SeriesExportField = keyof typeof SERIES_EXPORT_FIELDS

/** The columns for books; every export of books contains the first. */
export const BOOK_EXPORT_FIELDS = {
  book_name: { label: 'Book' },
  book_id: { label: 'Book ID' },
  series_id: { label: 'Series ID' },
  series_name: { label: 'Series' },
  library_id: { label: 'Library ID' },
  library_name: { label: 'Library' },
  path: { label: 'Path' },
  file_name: { label: 'File' },
  file_format: { label: 'Format' },
  file_size: { label: 'Size in bytes' },
  file_hash: { label: 'SHA-256 of the file' },
  page_count: { label: 'Pages' },
  created_at: { label: 'Added' },
  updated_at: { label: 'Changed' },
  number: { label: 'Number' },
  volume: { label: 'Volume' },
  chapter: { label: 'Chapter' },
  title: { label: 'Title' },
  title_sort: { label: 'Sort title' },
  subtitle: { label: 'Subtitle' },
  original_title: { label: 'Original title' },
  summary: { label: 'Summary' },
  authors: { label: 'Authors', many: true },
  publisher: { label: 'Publisher' },
  imprint: { label: 'Imprint' },
  edition: { label: 'Edition' },
  language: { label: 'Language' },
  release_date: { label: 'Release date' },
  isbns: { label: 'ISBNs', many: true },
  genres: { label: 'Genres', many: true },
  tags: { label: 'Tags', many: true },
  subjects: { label: 'Subjects', many: true },
  current_page: { label: 'Current page', own: 'progress' },
  progress: { label: 'Read, in percent', own: 'progress' },
  completed: { label: 'Completed', own: 'progress' },
  last_read_at: { label: 'Last read', own: 'progress' },
} as const satisfies Columns<ExportedBy<typeof BOOK_FIELDS>>
export type BookExportField = keyof typeof BOOK_EXPORT_FIELDS

export const SERIES_ANCHOR = 'series_name' satisfies SeriesExportField
export const BOOK_ANCHOR = 'book_name' satisfies BookExportField

/** What a language model, or a person, needs to choose the next book: audience, content and ratings; no ids and paths. */
export const CHOICE_OF_SERIES: readonly SeriesExportField[] = [
  ...(['series_name', 'summary', 'status', 'year', 'language', 'authors', 'genres', 'tags', 'actual_book_count'] as const),
  ...(['unread_book_count', 'progress', 'user_rating', 'user_notes', 'community_avg_rating', 'external_ratings'] as const),
]
export const CHOICE_OF_BOOKS: readonly BookExportField[] = [
  ...(['book_name', 'series_name', 'number', 'volume', 'summary', 'authors', 'language', 'release_date', 'page_count'] as const),
  ...(['genres', 'tags', 'progress', 'completed', 'last_read_at'] as const),
]

export const EXPORT_FORMATS = ['json', 'csv', 'md'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
/** Series, their books, or series with their books. */
export const EXPORT_TYPES = ['series', 'books', 'both'] as const
export type ExportType = (typeof EXPORT_TYPES)[number]

/** The columns, in this order; the anchor comes first. */
export interface ExportColumns {
  type: ExportType
  fields: readonly SeriesExportField[]
  bookFields: readonly BookExportField[]
}

/** The chosen fields that contain what the owner of the export has read. */
export const progressFields = (chosen: { fields: readonly SeriesExportField[]; bookFields: readonly BookExportField[] }): string[] => [
  ...chosen.fields.filter((name) => isProgress(SERIES_EXPORT_FIELDS[name])),
  ...chosen.bookFields.filter((name) => isProgress(BOOK_EXPORT_FIELDS[name])),
]

const isProgress = (field: ExportField | undefined): boolean => field?.own === 'progress'
