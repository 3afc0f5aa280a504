import { visibleFilePathSql } from '#core/account/path-view.ts'
import type { Permission } from '#core/account/permission.ts'
import type { FilterField } from '#core/catalog/list-condition.ts'
import { BOOK_TYPES } from '#core/fields/book-metadata.ts'
import { SERIES_STATUSES } from '#core/fields/series-metadata.ts'

/** A part of a WHERE clause. Every value is a binding; the text comes only from this folder. */
export interface Fragment {
  sql: string
  bindings: unknown[]
}

/** Marks the place of the caller's id in the bindings of a test. */
export const CALLER = Symbol('caller')

/** Rows that belong to a record: of those in `from` the ones whose column `by` is the column `of` of the record. */
interface Rows {
  of: string
  from: string
  by: string
}

/** A field in SQL: an expression to compare, a set of rows with names, or a special test. */
export type Column = FilterField & {
  /** The permission that a caller needs to use the field. */
  needs?: Permission
  /** Of ratings of all users. */
  isAverage?: true
} /** `folded` is a column with the folded text, if there is one. `visibleExpression` replaces the expression for callers who may not see its value: a comparison would reveal it. `isNullable`: a bool that is null for some records. */ & (
    | { expression: string; visibleExpression?: string; callerBinding?: true; folded?: string; isNullable?: true }
    /** Rows that belong to the record, and their value to compare. `key`: it is a normalized name, or a person with a role. */
    | { sets: Rows[]; name: string; folded?: string; key?: 'name' | 'person' }
    | { test: (value: string) => Fragment }
  )

const READ_STATUS = ['unread', 'in_progress', 'read'] as const
const seriesMetadata = (column: string) => `(SELECT m.${column} FROM series_metadata m WHERE m.series_id = series.id)`
const FOLDED = new Set(['publisher', 'summary'])
/** A text of the metadata, as rows: a subquery for each record could not use the index. */
const metadataText = (owner: 'book' | 'series', column: string): { family: 'text'; sets: Rows[]; name: string; folded?: string } => ({
  family: 'text',
  sets: [{ of: owner === 'book' ? 'books.id' : 'series.id', from: `${owner}_metadata m`, by: `m.${owner}_id` }],
  name: `m.${column}`,
  ...(FOLDED.has(column) && { folded: `m.${column}_fold` }),
})
const peopleOf = (owner: 'book' | 'series'): Rows => ({
  of: owner === 'book' ? 'books.id' : 'series.id',
  from: `${owner}_people x JOIN people n ON n.id = x.person_id`,
  by: `x.${owner}_id`,
})
/** A person with the role, as `writer:Alan Moore`: both must match the same entry. */
export const PERSON = "(x.role || ':' || n.name_fold)"
const PEOPLE_OF_BOOKS: Rows = {
  of: 'series.id',
  from: 'book_people x JOIN people n ON n.id = x.person_id JOIN books b ON b.id = x.book_id AND b.deleted_at IS NULL',
  by: 'b.series_id',
}
/** A day as the moment when it begins. */
const beginOf = (day: string) => `(${day}::timestamp AT TIME ZONE 'UTC')`
const namesOf = (owner: 'book' | 'series', kind: 'genre' | 'tag', of: string): Rows => ({
  of,
  from: `${owner}_${kind}s x JOIN ${kind}s n ON n.id = x.${kind}_id`,
  by: `x.${owner}_id`,
})
const sharingTagsOf = (of: string): Rows => ({
  of,
  from: 'series_sharing_tags x JOIN sharing_tags n ON n.id = x.sharing_tag_id',
  by: 'x.series_id',
})
const present = 'FROM books b WHERE b.series_id = series.id AND b.deleted_at IS NULL'
/** Where a cover of a book comes from; a plugin or another book found it if no user uploaded it. */
const COVER_SOURCES = ['file', 'found', 'custom'] as const
const mine = (book: string, more = '') => `EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = ${book} AND p.user_id = ?${more})`

const SERIES: Record<string, Column> = {
  id: { family: 'uuid', expression: 'series.id' },
  libraryId: { family: 'uuid', expression: 'series.library_id' },
  genre: { family: 'text', sets: [namesOf('series', 'genre', 'series.id')], name: 'n.name_key', key: 'name' },
  tag: { family: 'text', sets: [namesOf('series', 'tag', 'series.id')], name: 'n.name_key', key: 'name' },
  sharingTag: { family: 'text', sets: [sharingTagsOf('series.id')], name: 'n.name', needs: 'system-admin' },
  author: { family: 'text', sets: [peopleOf('series')], name: 'n.name_key', key: 'name' },
  bookAuthor: { family: 'text', sets: [PEOPLE_OF_BOOKS], name: 'n.name_key', key: 'name' },
  person: { family: 'text', sets: [peopleOf('series'), PEOPLE_OF_BOOKS], name: PERSON, key: 'person' },
  ageRating: { family: 'number', expression: seriesMetadata('age_rating') },
  releaseDate: {
    family: 'date',
    expression: beginOf('(SELECT min(b.released) FROM books b WHERE b.series_id = series.id AND b.deleted_at IS NULL)'),
  },
  oneshot: { family: 'bool', expression: 'series.oneshot' },
  status: { ...metadataText('series', 'status'), words: SERIES_STATUSES },
  publisher: metadataText('series', 'publisher'),
  language: metadataText('series', 'language'),
  summary: metadataText('series', 'summary'),
  name: { family: 'text', expression: 'series.title', folded: 'series.title_fold' },
  title: { family: 'text', expression: 'series.title', folded: 'series.title_fold' },
  titleSort: { family: 'text', expression: 'series.sort_key', folded: 'series.sort_key COLLATE "default"' },
  path: { family: 'text', expression: 'series.path' },
  year: { family: 'number', expression: seriesMetadata('year') },
  userRating: {
    family: 'number',
    expression: '(SELECT r.rating FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = ?)',
    callerBinding: true,
  },
  communityRating: {
    family: 'number',
    expression: '(SELECT avg(r.rating) FROM series_user_ratings r WHERE r.series_id = series.id)',
    isAverage: true,
  },
  dateAdded: { family: 'date', expression: 'series.created_at' },
  updatedAt: { family: 'date', expression: 'series.updated_at' },
  readStatus: { family: 'word', words: READ_STATUS, test: seriesReadStatus, needs: 'progress-read' },
  completion: {
    family: 'bool',
    // If the total is unknown: such a series is neither complete nor incomplete.
    isNullable: true,
    expression: `((SELECT count(*) ${present}) >= ${seriesMetadata('total_volume_count')})`,
  },
  hasExternalSourceId: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM series_external_ids e WHERE e.series_id = series.id)' },
  hasUserRating: {
    family: 'bool',
    expression: 'EXISTS (SELECT 1 FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = ?)',
    callerBinding: true,
  },
  inCollection: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM collection_series c WHERE c.series_id = series.id)' },
  collectionId: {
    family: 'uuid',
    sets: [{ of: 'series.id', from: 'collection_series c', by: 'c.series_id' }],
    name: 'c.collection_id',
  },
  wantToRead: {
    family: 'bool',
    expression: 'EXISTS (SELECT 1 FROM want_to_read w WHERE w.series_id = series.id AND w.user_id = ?)',
    callerBinding: true,
    needs: 'progress-read',
  },
}

const BOOKS: Record<string, Column> = {
  id: { family: 'uuid', expression: 'books.id' },
  libraryId: { family: 'uuid', expression: 'books.library_id' },
  seriesId: { family: 'uuid', expression: 'books.series_id' },
  genre: {
    family: 'text',
    sets: [namesOf('book', 'genre', 'books.id'), namesOf('series', 'genre', 'books.series_id')],
    name: 'n.name_key',
    key: 'name',
  },
  tag: {
    family: 'text',
    sets: [namesOf('book', 'tag', 'books.id'), namesOf('series', 'tag', 'books.series_id')],
    name: 'n.name_key',
    key: 'name',
  },
  sharingTag: { family: 'text', sets: [sharingTagsOf('books.series_id')], name: 'n.name', needs: 'system-admin' },
  author: { family: 'text', sets: [peopleOf('book')], name: 'n.name_key', key: 'name' },
  person: { family: 'text', sets: [peopleOf('book')], name: PERSON, key: 'person' },
  releaseDate: { family: 'date', expression: beginOf('books.released') },
  state: { family: 'text', expression: 'books.state' },
  deleted: { family: 'bool', expression: '(books.deleted_at IS NOT NULL)' },
  missing: { family: 'bool', expression: '(books.deleted_at IS NOT NULL OR books.missing_why IS NOT NULL)' },
  oneshot: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM series s WHERE s.id = books.series_id AND s.oneshot)' },
  title: { family: 'text', expression: 'books.title', folded: 'books.title_fold' },
  titleSort: { family: 'text', expression: 'books.sort_key', folded: 'books.sort_key COLLATE "default"' },
  summary: metadataText('book', 'summary'),
  publisher: metadataText('book', 'publisher'),
  language: metadataText('book', 'language_iso'),
  bookType: { ...metadataText('book', 'book_type'), words: BOOK_TYPES },
  path: { family: 'text', expression: visibleFilePathSql(true), visibleExpression: visibleFilePathSql(false) },
  format: { family: 'text', expression: 'books.file_format' },
  pageCount: { family: 'number', expression: 'books.page_count' },
  number: { family: 'number', expression: 'books.number' },
  year: { family: 'number', expression: 'extract(year FROM books.released)::int' },
  dateAdded: { family: 'date', expression: 'books.created_at' },
  updatedAt: { family: 'date', expression: 'books.updated_at' },
  readStatus: { family: 'word', words: READ_STATUS, test: bookReadStatus, needs: 'progress-read' },
  hasError: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM book_errors e WHERE e.book_id = books.id)' },
  cover: { family: 'word', words: COVER_SOURCES, test: bookCover(null) },
  selectedCover: { family: 'word', words: COVER_SOURCES, test: bookCover(true) },
  unselectedCover: { family: 'word', words: COVER_SOURCES, test: bookCover(false) },
  inReadList: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM read_list_books r WHERE r.book_id = books.id)' },
  readListId: { family: 'uuid', sets: [{ of: 'books.id', from: 'read_list_books r', by: 'r.book_id' }], name: 'r.read_list_id' },
}

export const COLUMNS = { books: BOOKS, series: SERIES }

/** The fields of conditions with their permissions, for the page that describes them. */
export const FILTER_FIELDS: Readonly<Record<keyof typeof COLUMNS, Readonly<Record<string, FilterField & { needs?: Permission }>>>> = COLUMNS

/** Whether a book has a cover from a source. @param selected only one that is shown, or only one that is not */
function bookCover(selected: boolean | null): (source: string) => Fragment {
  const exists = (more: string) => `EXISTS (SELECT 1 FROM covers c WHERE c.book_id = books.id AND ${more})`
  // The cover from the file has no row, and is shown unless another is selected.
  const shown = selected === null ? '' : ` AND ${selected ? 'NOT ' : ''}${exists('c.is_selected')}`
  const chosen = selected === null ? '' : ` AND ${selected ? '' : 'NOT '}c.is_selected`
  const tests: Record<string, string> = {
    file: `(books.cover_hash IS NOT NULL${shown})`,
    found: exists(`c.source <> 'custom'${chosen}`),
    custom: exists(`c.source = 'custom'${chosen}`),
  }
  return (source) => ({ sql: tests[source] as string, bindings: [] })
}

/** A test with the id of the caller in place of each question mark. */
const ofCaller = (sql: string): Fragment => ({ sql, bindings: Array.from(sql.matchAll(/\?/g), () => CALLER) })

function bookReadStatus(value: string): Fragment {
  const tests: Record<string, string> = {
    read: mine('books.id', ' AND p.completed'),
    in_progress: mine('books.id', ' AND NOT p.completed'),
    unread: `NOT ${mine('books.id')}`,
  }
  return ofCaller(tests[value] as string)
}

function seriesReadStatus(value: string): Fragment {
  const begun = `EXISTS (SELECT 1 ${present} AND ${mine('b.id')})`
  const unfinished = `EXISTS (SELECT 1 ${present} AND NOT ${mine('b.id', ' AND p.completed')})`
  const tests: Record<string, string> = {
    read: `(${begun} AND NOT ${unfinished})`,
    in_progress: `(${begun} AND ${unfinished})`,
    unread: `NOT ${begun}`,
  }
  return ofCaller(tests[value] as string)
}
