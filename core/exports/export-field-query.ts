import { visibleFilePathSql } from '#core/account/path-view.ts'
import type { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { ExportedBy } from '#core/fields/field.ts'
import type { SERIES_FIELDS } from '#core/fields/series-metadata.ts'

/** One column of an export that users can choose. */
export interface ExportField {
  label: string
  /** Its value, in the statements of core/exports/export-query.ts. */
  sql: string
  /** Replaces it for users who may see the folders of the libraries. */
  whole?: string
  /** Has several values. */
  many?: true
  /** Differs between users; `progress` is what they have read. */
  own?: 'progress' | 'rating'
}

/** A column for every metadata field that is marked as exported, and others. */
type Columns<Exported extends string> = Record<Exported, ExportField> & Record<string, ExportField>

/** As in lists: omits series without existing books, and books with a missing file. */
export const PRESENT_BOOKS = 'FROM books WHERE books.series_id = series.id AND books.deleted_at IS NULL'
const READ = 'EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = :userId AND p.completed)'

const namesOf = (kind: 'series' | 'book', taxonomy: 'genre' | 'tag', id: string) =>
  `ARRAY(SELECT n.name FROM ${kind}_${taxonomy}s j JOIN ${taxonomy}s n ON n.id = j.${taxonomy}_id
     WHERE j.${kind}_id = ${id} ORDER BY lower(n.name), n.name)`
const entriesOf = (table: string, members: string) =>
  `(SELECT coalesce(jsonb_agg(jsonb_build_object(${members}) ORDER BY f.created_at, f.id), '[]') FROM ${table} f WHERE f.series_id = series.id)`
const myRating = (column: 'rating' | 'notes') =>
  `(SELECT r.${column} FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = :userId)`

/** The columns for series; every export contains the first, which identifies the rows. */
export const SERIES_EXPORT_FIELDS = {
  series_name: { label: 'Series', sql: 'series.title' },
  series_id: { label: 'Series ID', sql: 'series.id' },
  library_id: { label: 'Library ID', sql: 'series.library_id' },
  library_name: { label: 'Library', sql: 'libraries.name' },
  path: { label: 'Path', sql: 'series.path', whole: `rtrim(libraries.path || '/' || series.path, '/')` },
  created_at: { label: 'Added', sql: 'series.created_at' },
  updated_at: { label: 'Changed', sql: 'series.updated_at' },
  title: { label: 'Title', sql: 'series.title' },
  title_sort: { label: 'Sort title', sql: 'series.title_sort' },
  summary: { label: 'Summary', sql: 'm.summary' },
  publisher: { label: 'Publisher', sql: 'm.publisher' },
  imprint: { label: 'Imprint', sql: 'm.imprint' },
  status: { label: 'Status', sql: 'm.status' },
  year: { label: 'Year', sql: 'm.year' },
  age_rating: { label: 'Age rating', sql: 'm.age_rating' },
  language: { label: 'Language', sql: 'm.language' },
  authors: { label: 'Authors', sql: `coalesce(m.authors, '[]')`, many: true },
  genres: { label: 'Genres', sql: namesOf('series', 'genre', 'series.id'), many: true },
  tags: { label: 'Tags', sql: namesOf('series', 'tag', 'series.id'), many: true },
  alternate_titles: { label: 'Other titles', sql: entriesOf('series_alternate_titles', `'label', f.label, 'title', f.title`), many: true },
  external_ids: {
    label: 'IDs at other services',
    sql: entriesOf('series_external_ids', `'source', f.source, 'externalId', f.external_id`),
    many: true,
  },
  expected_book_count: { label: 'Expected books', sql: 'm.total_volume_count' },
  expected_chapter_count: { label: 'Expected chapters', sql: 'm.total_chapter_count' },
  actual_book_count: { label: 'Books', sql: `(SELECT count(*) ${PRESENT_BOOKS})` },
  unread_book_count: { label: 'Unread books', sql: `(SELECT count(*) ${PRESENT_BOOKS} AND NOT ${READ})`, own: 'progress' },
  progress: {
    label: 'Read, in percent of the books',
    sql: `(SELECT round(100.0 * count(*) FILTER (WHERE ${READ}) / count(*)) ${PRESENT_BOOKS})`,
    own: 'progress',
  },
  user_rating: { label: 'My rating', sql: myRating('rating'), own: 'rating' },
  user_notes: { label: 'My notes', sql: myRating('notes'), own: 'rating' },
  community_avg_rating: {
    label: 'Average rating of all users',
    sql: '(SELECT round(avg(r.rating), 2) FROM series_user_ratings r WHERE r.series_id = series.id)',
  },
  external_ratings: {
    label: 'Ratings at other services',
    sql: entriesOf('series_external_ratings', `'source', f.source, 'rating', f.rating, 'voteCount', f.vote_count`),
    many: true,
  },
} as const satisfies Columns<ExportedBy<typeof SERIES_FIELDS>>
export type SeriesExportField = keyof typeof SERIES_EXPORT_FIELDS

/** The columns for books; every export of books contains the first. */
export const BOOK_EXPORT_FIELDS = {
  book_name: { label: 'Book', sql: 'books.title' },
  book_id: { label: 'Book ID', sql: 'books.id' },
  series_id: { label: 'Series ID', sql: 'books.series_id' },
  series_name: { label: 'Series', sql: 'series.title' },
  library_id: { label: 'Library ID', sql: 'books.library_id' },
  library_name: { label: 'Library', sql: 'libraries.name' },
  path: { label: 'Path', sql: visibleFilePathSql(false), whole: visibleFilePathSql(true) },
  file_name: { label: 'File', sql: 'books.file_name' },
  file_format: { label: 'Format', sql: 'books.file_format' },
  file_size: { label: 'Size in bytes', sql: 'books.file_size' },
  file_hash: { label: 'SHA-256 of the file', sql: 'books.file_hash' },
  page_count: { label: 'Pages', sql: 'books.page_count' },
  created_at: { label: 'Added', sql: 'books.created_at' },
  updated_at: { label: 'Changed', sql: 'books.updated_at' },
  number: { label: 'Number', sql: 'books.number' },
  volume: { label: 'Volume', sql: 'books.volume' },
  chapter: { label: 'Chapter', sql: 'books.chapter' },
  title: { label: 'Title', sql: 'books.title' },
  title_sort: { label: 'Sort title', sql: 'books.title_sort' },
  subtitle: { label: 'Subtitle', sql: 'm.subtitle' },
  original_title: { label: 'Original title', sql: 'm.original_title' },
  summary: { label: 'Summary', sql: 'm.summary' },
  authors: { label: 'Authors', sql: `coalesce(m.authors, '[]')`, many: true },
  publisher: { label: 'Publisher', sql: 'm.publisher' },
  imprint: { label: 'Imprint', sql: 'm.imprint' },
  edition: { label: 'Edition', sql: 'm.edition' },
  language: { label: 'Language', sql: 'm.language_iso' },
  // As precise as known: 2012, 2012-03, 2012-03-14.
  release_date: {
    label: 'Release date',
    sql: `CASE WHEN m.year > 0 THEN concat_ws('-', lpad(m.year::text, 4, '0'), lpad(m.month::text, 2, '0'),
    CASE WHEN m.month IS NOT NULL THEN lpad(m.day::text, 2, '0') END) END`,
  },
  isbns: { label: 'ISBNs', sql: `regexp_split_to_array(nullif(trim(m.isbns), ''), '\\s*,\\s*')`, many: true },
  genres: { label: 'Genres', sql: namesOf('book', 'genre', 'books.id'), many: true },
  tags: { label: 'Tags', sql: namesOf('book', 'tag', 'books.id'), many: true },
  subjects: { label: 'Subjects', sql: `coalesce(m.subjects, '{}')`, many: true },
  current_page: { label: 'Current page', sql: 'p.current_page', own: 'progress' },
  progress: {
    label: 'Read, in percent',
    sql: `CASE WHEN p.completed THEN 100 WHEN p.percentage IS NOT NULL THEN round((100 * p.percentage)::numeric)
    WHEN p.current_page IS NOT NULL AND books.page_count > 0 THEN least(100, round(100.0 * p.current_page / books.page_count)) END`,
    own: 'progress',
  },
  completed: { label: 'Completed', sql: 'coalesce(p.completed, false)', own: 'progress' },
  last_read_at: { label: 'Last read', sql: 'p.updated_at', own: 'progress' },
} as const satisfies Columns<ExportedBy<typeof BOOK_FIELDS>>
export type BookExportField = keyof typeof BOOK_EXPORT_FIELDS

export const SERIES_ANCHOR = 'series_name' satisfies SeriesExportField
export const BOOK_ANCHOR = 'book_name' satisfies BookExportField

/** What a language model, or a person, needs to choose the next book: audience, content and ratings; no ids and paths. */
export const CHOICE_OF_SERIES: readonly SeriesExportField[] = [
  'series_name',
  'summary',
  'status',
  'year',
  'language',
  'authors',
  'genres',
  'tags',
  'actual_book_count',
  'unread_book_count',
  'progress',
  'user_rating',
  'user_notes',
  'community_avg_rating',
  'external_ratings',
]
export const CHOICE_OF_BOOKS: readonly BookExportField[] = [
  'book_name',
  'series_name',
  'number',
  'volume',
  'summary',
  'authors',
  'language',
  'release_date',
  'page_count',
  'genres',
  'tags',
  'progress',
  'completed',
  'last_read_at',
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
