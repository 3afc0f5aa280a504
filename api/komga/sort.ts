import type { BookSort } from '#core/catalog/book-sort-query.ts'
import type { SeriesSort } from '#core/catalog/series-sort-query.ts'

const DATES = {
  created: 'created',
  createdDate: 'created',
  lastModified: 'updated',
  lastModifiedDate: 'updated',
  releaseDate: 'released',
  'metadata.releaseDate': 'released',
} as const

/** Sort fields of Komga, with ours. Ignores unknown names, as Komga does. */
const SERIES: Record<string, SeriesSort['field']> = {
  name: 'name',
  title: 'name',
  titleSort: 'name',
  'metadata.title': 'name',
  'metadata.titleSort': 'name',
  ...DATES,
  'booksMetadata.releaseDate': 'released',
  booksCount: 'books',
  readDate: 'read',
  'readProgress.readDate': 'read',
  'readProgress.lastReadDate': 'read',
  random: 'shuffled',
}
const BOOKS: Record<string, BookSort['field']> = {
  name: 'file',
  title: 'title',
  'metadata.title': 'title',
  ...DATES,
  number: 'number',
  numberSort: 'number',
  'metadata.numberSort': 'number',
  'metadata.number': 'number',
  series: 'series',
  seriesTitle: 'series',
  'series.metadata.titleSort': 'series',
  size: 'size',
  fileSize: 'size',
  'media.pagesCount': 'pages',
  readDate: 'read',
  'readProgress.readDate': 'read',
  'readProgress.lastModified': 'read',
  random: 'shuffled',
}

function readSort<Field extends string>(sorts: readonly string[] | undefined, names: Readonly<Record<string, Field>>) {
  for (const sort of sorts ?? []) {
    const [name = '', direction = 'asc'] = sort.split(',').map((part) => part.trim())
    // The best match of a search first, which is the order without any; further sorts only break ties.
    if (name === 'relevance') return null
    const field = Object.hasOwn(names, name) ? names[name] : undefined
    if (field !== undefined) return { field, direction: direction.toLowerCase() === 'desc' ? ('desc' as const) : ('asc' as const) }
  }
  return null
}

/** The first known sort, or null; a search without one returns the best match first. */
export const readKomgaSeriesSort = (sorts: readonly string[] | undefined): SeriesSort | null => readSort(sorts, SERIES)

/** As {@link readKomgaSeriesSort}. */
export const readKomgaBookSort = (sorts: readonly string[] | undefined): BookSort | null => readSort(sorts, BOOKS)

/** The order of the books of one series: reading order by default and for `number`, which also places books without a number. */
export function readOrderInSeries(sorts: readonly string[] | undefined): BookSort {
  const sort = readSort(sorts, BOOKS) ?? { field: 'number', direction: 'asc' }
  return sort.field === 'number' && sort.direction === 'asc' ? { field: 'series', direction: 'asc' } : sort
}
