import type { ShelfKind } from '#core/shelves/shelf.ts'

/** The tables of each kind of shelf, and the kind of its members. */
export const SHELF_TABLES = {
  collection: {
    noun: 'collection',
    shelves: 'collections',
    members: 'collection_series',
    shelf: 'collection_id',
    member: 'series_id',
    things: 'series',
    seriesOf: 'series.id',
  },
  read_list: {
    noun: 'read list',
    shelves: 'read_lists',
    members: 'read_list_books',
    shelf: 'read_list_id',
    member: 'book_id',
    things: 'books',
    seriesOf: 'books.series_id',
  },
} as const satisfies Record<ShelfKind, Record<string, string>>
