import type { ReactNode } from 'react'
import type { BookRecord, SeriesRecord } from '#api/records.ts'
import { dayWords, languageWords, sizeWords } from '#parts/formats.ts'
import { markOfBook, markOfSeries, numberWords } from '#parts/works/words.ts'
import { browseTexts } from '#texts/browse.ts'
import { tableTexts } from '#texts/table.ts'
import type { BrowseKind } from '../browse-address.ts'
import { State } from './state.tsx'
import style from './table.module.css'

/** A column that a person can choose for the table. */
export interface Column<Work> {
  name: string
  text: () => string
  /** In rem. */
  width: number
  isNumber?: true
  /** Narrow windows leave out those with the highest ranks. */
  rank: number
  /** What the API calls this order, without the direction; a first click sorts in `first`. */
  sort?: { by: string; first: 'asc' | 'desc' }
  cell: (record: Work) => ReactNode
}

const text = (value: string | null) => <bdi className="quiet">{value}</bdi>
const count = (value: number | null) => value?.toLocaleString('en')
const day = (value: string | null) => <span className={`quiet ${style['day']}`}>{value === null ? '' : dayWords(value)}</span>

const BOOK_COLUMNS: readonly Column<BookRecord>[] = [
  {
    name: 'series',
    text: browseTexts.columnSeries,
    width: 10,
    rank: 1,
    sort: { by: 'series', first: 'asc' },
    cell: (book) => text(book.seriesName),
  },
  {
    name: 'number',
    text: browseTexts.columnNumber,
    width: 3,
    isNumber: true,
    rank: 2,
    cell: (book) => numberWords(book).replace(/^\D+/, ''),
  },
  {
    name: 'pages',
    text: browseTexts.columnPages,
    width: 4,
    isNumber: true,
    rank: 4,
    sort: { by: 'page_count', first: 'desc' },
    cell: (book) => count(book.pageCount),
  },
  { name: 'state', text: browseTexts.columnState, width: 8.5, rank: 0, cell: (book) => <State mark={markOfBook(book)} /> },
  {
    name: 'added',
    text: browseTexts.columnAdded,
    width: 7,
    rank: 3,
    sort: { by: 'created_at', first: 'desc' },
    cell: (book) => day(book.createdAt),
  },
  {
    name: 'size',
    text: browseTexts.columnSize,
    width: 5.5,
    isNumber: true,
    rank: 5,
    sort: { by: 'file_size', first: 'desc' },
    cell: (book) => <span className="quiet">{sizeWords(book.fileSize)}</span>,
  },
  { name: 'format', text: browseTexts.format, width: 4.5, rank: 6, cell: (book) => text(book.fileFormat.toUpperCase()) },
  { name: 'language', text: browseTexts.language, width: 7, rank: 7, cell: (book) => text(book.language && languageWords(book.language)) },
  { name: 'library', text: browseTexts.library, width: 8, rank: 8, cell: (book) => text(book.libraryName) },
  {
    name: 'read',
    text: tableTexts.lastRead,
    width: 7,
    rank: 9,
    sort: { by: 'last_read', first: 'desc' },
    cell: (book) => day(book.lastReadAt),
  },
  { name: 'times', text: tableTexts.timesRead, width: 5, isNumber: true, rank: 10, cell: (book) => count(book.readCount || null) },
  { name: 'changed', text: tableTexts.changed, width: 7, rank: 11, cell: (book) => day(book.updatedAt) },
]

const SERIES_COLUMNS: readonly Column<SeriesRecord>[] = [
  { name: 'publisher', text: browseTexts.columnPublisher, width: 10, rank: 3, cell: (series) => text(series.publisher) },
  {
    name: 'year',
    text: browseTexts.columnYear,
    width: 4,
    isNumber: true,
    rank: 2,
    sort: { by: 'year', first: 'desc' },
    cell: (series) => series.year,
  },
  {
    name: 'books',
    text: browseTexts.columnBooks,
    width: 4,
    isNumber: true,
    rank: 1,
    sort: { by: 'book_count', first: 'desc' },
    cell: (series) => count(series.bookCount),
  },
  { name: 'state', text: browseTexts.columnState, width: 8.5, rank: 0, cell: (series) => <State mark={markOfSeries(series)} /> },
  {
    name: 'added',
    text: browseTexts.columnAdded,
    width: 7,
    rank: 4,
    sort: { by: 'created_at', first: 'desc' },
    cell: (series) => day(series.createdAt),
  },
  {
    name: 'changed',
    text: tableTexts.changed,
    width: 7,
    rank: 5,
    sort: { by: 'updated_at', first: 'desc' },
    cell: (series) => day(series.updatedAt),
  },
  {
    name: 'language',
    text: browseTexts.language,
    width: 7,
    rank: 6,
    cell: (series) => text(series.language && languageWords(series.language)),
  },
  { name: 'library', text: browseTexts.library, width: 8, rank: 7, cell: (series) => text(series.libraryName) },
  { name: 'volumes', text: tableTexts.volumes, width: 5, isNumber: true, rank: 8, cell: (series) => count(series.volumesOwned) },
]

const COLUMNS = { books: BOOK_COLUMNS as readonly Column<never>[], series: SERIES_COLUMNS as readonly Column<never>[] }
const USUAL = { books: ['series', 'number', 'pages', 'state', 'added', 'size'], series: ['publisher', 'year', 'books', 'state', 'added'] }

export const columnsOf = (kind: BrowseKind): readonly Column<never>[] => COLUMNS[kind]

/** The columns that an address names, in the order of the table; the usual ones when it names none. */
export function readColumns(kind: BrowseKind, said: string | null): string[] {
  const names = said === null ? USUAL[kind] : said.split(',')
  return columnsOf(kind)
    .map(({ name }) => name)
    .filter((name) => names.includes(name))
}

/** How an address names columns; null for the usual ones. */
export function writeColumns(kind: BrowseKind, names: readonly string[]): string | null {
  const isUsual = names.length === USUAL[kind].length && USUAL[kind].every((name) => names.includes(name))
  if (isUsual) return null
  return names.length === 0 ? NO_COLUMNS : names.join(',')
}

/** Only the title. */
const NO_COLUMNS = 'title'

/** Mark, cover, title and menu, with the gaps beside them, in rem; and the gap of each further column. */
const FIXED = 19
const FIXED_NARROW = 13.5
const GAP = 1
const GAP_NARROW = 0.75
/** Below this the table has narrow gaps and no marks until something is selected, in rem: 560 px. */
const NARROW = 35

/** The chosen columns for which there is room. @param room width of the table, in rem */
export function columnsThatFit(kind: BrowseKind, names: readonly string[], room: number): Column<never>[] {
  const isNarrow = room < NARROW
  const chosen = columnsOf(kind).filter(({ name }) => names.includes(name))
  let left = room - (isNarrow ? FIXED_NARROW : FIXED)
  const fitting = new Set<Column<never>>()
  for (const column of chosen.toSorted((a, b) => a.rank - b.rank)) {
    left -= widthOf(column, isNarrow) + (isNarrow ? GAP_NARROW : GAP)
    if (left < 0) break
    fitting.add(column)
  }
  return chosen.filter((column) => fitting.has(column))
}

/** Without the bar of progress, a state takes less. */
const STATE_NARROW = 5.5
const widthOf = ({ name, width }: Column<never>, isNarrow: boolean): number => (isNarrow && name === 'state' ? STATE_NARROW : width)

/** For `grid-template-columns`: long texts get what is left. */
export function templateOf(columns: readonly Column<never>[], room: number): string {
  const isNarrow = room < NARROW
  const widths = columns.map((column) => (column.width >= 10 ? `minmax(${column.width}rem, 2fr)` : `${widthOf(column, isNarrow)}rem`))
  return ['var(--tick) var(--cover-table) minmax(0, 3fr)', ...widths, '2.25rem'].join(' ')
}
