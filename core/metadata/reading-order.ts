/** The natural order of titles; spelled exactly like the index books_title, otherwise PostgreSQL would not use the index. */
export const TITLE_ORDER = 'coalesce(books.title_sort, books.title) COLLATE carrel_natural'

/** Reading order inside a series: number, then title, then file name. */
export const READING_TERMS = [
  'books.number ASC NULLS LAST',
  TITLE_ORDER,
  'books.title COLLATE carrel_natural',
  'books.file_name COLLATE carrel_natural',
  'books.id',
]
export const READING_ORDER = READING_TERMS.join(', ')
