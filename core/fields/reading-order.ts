/** Reading order inside a series: number, then title, then file name. None is null, and the index books_reading has exactly these. */
export const READING_TERMS = [
  'books.reading_number',
  'books.sort_key',
  'books.title COLLATE carrel_natural',
  'books.file_name COLLATE carrel_natural',
  'books.id',
]
export const READING_ORDER = READING_TERMS.join(', ')
