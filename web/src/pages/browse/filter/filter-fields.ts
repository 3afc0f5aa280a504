import type { Permission } from '#api/records.ts'
import type { BrowseKind } from '../browse-address.ts'

/** Operators by family, as the builder offers them. Several values of `is` and `isNot` become several comparisons, or a set of ids. */
export const OPERATORS = {
  text: ['is', 'isNot', 'contains', 'doesNotContain', 'beginsWith', 'endsWith', 'isNull', 'isNotNull'],
  words: ['is', 'isNot', 'isNull', 'isNotNull'],
  word: ['is', 'isNot'],
  id: ['is', 'isNot'],
  flag: ['isTrue', 'isFalse'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'between', 'isNull', 'isNotNull'],
  date: ['onOrAfter', 'onOrBefore', 'after', 'before', 'between', 'isNull', 'isNotNull'],
} as const
export type Family = keyof typeof OPERATORS

/** Where values of a field come from: a field of `GET /filter-values`, or a list of records. */
export type ValueSource =
  | 'genre'
  | 'tag'
  | 'person'
  | 'author'
  | 'publisher'
  | 'language'
  | 'format'
  | 'libraries'
  | 'collections'
  | 'readLists'
  | 'series'
  | 'sharingTags'

export interface FilterField {
  family: Family
  source?: ValueSource
  /** The only values. */
  words?: readonly string[]
  needs?: Permission
  /** Not offered; shown when an address has it. */
  isHidden?: true
}

const TEXT: FilterField = { family: 'text' }
const FLAG: FilterField = { family: 'flag' }
const NUMBER: FilterField = { family: 'number' }
const DATE: FilterField = { family: 'date' }
const READING: FilterField = { family: 'word', words: ['unread', 'in_progress', 'read'], needs: 'progress-read' }
const COVER: FilterField = { family: 'word', words: ['file', 'found', 'custom'] }
const text = (source: ValueSource): FilterField => ({ family: 'text', source })
const id = (source: ValueSource): FilterField => ({ family: 'id', source })

/** Names that books and series have. */
export const TEXT_FIELDS = { genre: text('genre'), tag: text('tag') } as const

/** The fields of both lists, those used most first. */
const SHARED = {
  readStatus: READING,
  ...TEXT_FIELDS,
  person: text('person'),
  publisher: text('publisher'),
  language: text('language'),
  title: TEXT,
  year: NUMBER,
  releaseDate: DATE,
  dateAdded: DATE,
  updatedAt: DATE,
  libraryId: id('libraries'),
} satisfies Record<string, FilterField>

const LAST = {
  summary: TEXT,
  titleSort: TEXT,
  path: TEXT,
  oneshot: FLAG,
  sharingTag: { ...text('sharingTags'), needs: 'system-admin' },
  id: { family: 'id', isHidden: true },
} satisfies Record<string, FilterField>

export const FILTER_FIELDS: Record<BrowseKind, Readonly<Record<string, FilterField>>> = {
  series: {
    ...SHARED,
    status: { family: 'words', words: ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] },
    ageRating: NUMBER,
    userRating: NUMBER,
    hasUserRating: FLAG,
    communityRating: NUMBER,
    wantToRead: { ...FLAG, needs: 'progress-read' },
    completion: FLAG,
    author: text('author'),
    bookAuthor: text('author'),
    inCollection: FLAG,
    collectionId: id('collections'),
    hasExternalSourceId: FLAG,
    name: { ...TEXT, isHidden: true },
    ...LAST,
  },
  books: {
    ...SHARED,
    seriesId: id('series'),
    format: text('format'),
    pageCount: NUMBER,
    number: NUMBER,
    bookType: {
      family: 'words',
      words: ['comic', 'manga', 'novel', 'novella', 'anthology', 'artbook', 'oneshot', 'omnibus', 'graphic_novel', 'magazine'],
    },
    author: text('author'),
    inReadList: FLAG,
    readListId: id('readLists'),
    hasError: FLAG,
    deleted: FLAG,
    missing: FLAG,
    state: { ...TEXT, isHidden: true },
    cover: COVER,
    selectedCover: COVER,
    unselectedCover: COVER,
    ...LAST,
  },
}
