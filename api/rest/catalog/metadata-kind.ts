import Type, { type TObject, type TSchema } from 'typebox'
import type { Kind } from '#core/fields/record-kind.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { BookLocks, BookLocksPatch, BookMetadata, BookMetadataPatch } from '#core/metadata/book-metadata-schema.ts'
import {
  FullSeriesMetadata,
  SeriesLocks,
  SeriesLocksPatch,
  SeriesMetadata,
  SeriesMetadataPatch,
} from '#core/metadata/series-metadata-schema.ts'

/** One page of a large list; each book is a row that stays locked until all are written. */
const BULK_BOOKS_MAX = 500
/** Each series may have hundreds of books, whose search index changes with it. */
const BULK_SERIES_MAX = 100

/** The words and schemas in which the metadata routes of books and series differ. The schemas limit patches and locks. */
interface KindWords {
  many: 'books' | 'series'
  /** In names of operations. */
  noun: 'Book' | 'Series'
  idName: 'bookId' | 'seriesId'
  idsName: 'bookIds' | 'seriesIds'
  /** Larger changes would lock too many rows at once. */
  bulkMax: number
  readSummary: string
  Patch: TObject
  LocksPatch: TObject
  Locks: TSchema
  /** What GET answers, and what a change answers. */
  Read: TSchema
  Changed: TSchema
}

export const KINDS: Readonly<Record<Kind, KindWords>> = {
  book: {
    many: 'books',
    noun: 'Book',
    idName: 'bookId',
    idsName: 'bookIds',
    bulkMax: BULK_BOOKS_MAX,
    readSummary: 'Get the metadata of a book',
    Patch: BookMetadataPatch,
    LocksPatch: BookLocksPatch,
    Locks: BookLocks,
    Read: BookMetadata,
    Changed: BookMetadata,
  },
  series: {
    many: 'series',
    noun: 'Series',
    idName: 'seriesId',
    idsName: 'seriesIds',
    bulkMax: BULK_SERIES_MAX,
    readSummary: 'Get all metadata of a series',
    Patch: SeriesMetadataPatch,
    LocksPatch: SeriesLocksPatch,
    Locks: SeriesLocks,
    Read: FullSeriesMetadata,
    Changed: SeriesMetadata,
  },
}

/** Schema of the ids of a bulk change of metadata. */
export const bulkIds = (kind: Kind) =>
  Type.Array(Uuid, { minItems: 1, maxItems: KINDS[kind].bulkMax, description: 'All of them change, or none.' })

/** The address of one part of a record, and who may read and change it. */
export function reachOfKind(kind: Kind, part: string) {
  const { many, idName } = KINDS[kind]
  return {
    path: `/api/v1/${many}/:${idName}/${part}`,
    params: Type.Object({ [idName]: Uuid }),
    read: { who: `${many}-read` as const },
    write: { who: `${many}-write` as const },
  }
}

/** The id of the record in a path. */
export const idIn = (kind: Kind, params: unknown): string => (params as Record<string, string>)[KINDS[kind].idName] as string
