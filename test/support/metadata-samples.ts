import type { Static } from 'typebox'
import type { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { Field } from '#core/fields/field.ts'
import type { SERIES_FIELDS } from '#core/fields/series-metadata.ts'

type Samples<Fields extends readonly Field[]> = { [One in Fields[number] as One['name']]: Static<One['schema']> }

/** A value of every field of a series, in the form of a response. */
export const SERIES_SAMPLES = {
  title: 'Watchmen',
  titleSort: 'watchmen',
  readingDirection: 'rtl',
  ageRating: 16,
  authors: [{ name: 'Alan Moore', role: 'writer', sortName: 'Moore, Alan' }],
  customMetadata: { 'Odd Key': [1, { a: null }] },
  imprint: 'Vertigo',
  language: 'pt-BR',
  publisher: 'DC',
  status: 'ended',
  summary: 'Long',
  totalChapterCount: 12.5,
  totalVolumeCount: 12,
  year: 1986,
} satisfies Samples<typeof SERIES_FIELDS>

/** A value of every field of a book, in the form of a response. */
export const BOOK_SAMPLES = {
  title: 'Neu',
  titleSort: 'neu, 1',
  number: 2.5,
  volume: 3,
  chapter: 12.5,
  authors: [{ name: 'Gil', role: 'illustrator', sortName: null }],
  writer: 'Alan Moore',
  penciller: 'Dave Gibbons, John Higgins',
  inker: 'Ann',
  colorist: 'Bob',
  letterer: 'Cho',
  coverArtist: 'Dee',
  editor: 'Eve',
  translator: 'Fay',
  awards: [{ name: 'Hugo', won: true, category: 'Other Forms', year: 1988 }],
  blackAndWhite: false,
  bookType: 'graphic_novel',
  count: 12,
  customMetadata: { 'Odd Key': { nested: [1, null, 'x'] } },
  day: 29,
  month: 2,
  year: 2024,
  edition: 'Absolute',
  formatDetail: 'Hardcover',
  genre: 'Crime, 50% off_',
  imprint: 'Vertigo',
  isbns: '9780930289232',
  languageIso: 'pt-BR',
  manga: true,
  originalTitle: `L'Été "漫画"`,
  originalYear: -44,
  publisher: 'DC',
  seriesPosition: 1.5,
  seriesTotal: 12,
  subjects: ['Heroes', 'Time'],
  subtitle: 'A tale',
  summary: 'Long.\nTwo lines.',
} satisfies Samples<typeof BOOK_FIELDS>
