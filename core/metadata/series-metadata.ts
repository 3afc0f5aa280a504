import Type from 'typebox'
import { Authors, CustomMetadata, type Field, Name, Natural, Position, Summary, Text, Year } from '#core/metadata/field.ts'

export const READING_DIRECTIONS = ['ltr', 'rtl', 'ttb', 'webtoon'] as const
export const SERIES_STATUSES = ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] as const

/** The one list of a series' metadata fields (spec 2.8). Genres, tags and alternate titles are tables of their own and only have locks here. */
export const SERIES_FIELDS = [
  { name: 'title', about: 'Title of the series.', column: 'title', ofRecord: true, exported: 'title', proposed: 'title', schema: Name },
  {
    name: 'titleSort',
    about: 'What the series is sorted by.',
    column: 'title_sort',
    ofRecord: true,
    exported: 'title_sort',
    proposed: 'titleSort',
    schema: Name,
  },
  {
    name: 'readingDirection',
    about: 'Which way its pages are read.',
    column: 'reading_direction',
    ofRecord: true,
    exported: null,
    proposed: 'readingDirection',
    schema: Type.Enum([...READING_DIRECTIONS], { type: 'string' }),
  },
  {
    name: 'ageRating',
    about: 'Youngest age it is meant for, such as 13, 16 or 18.',
    column: 'age_rating',
    exported: 'age_rating',
    proposed: 'ageRating',
    schema: Type.Integer({ minimum: 0, maximum: 99 }),
  },
  {
    name: 'authors',
    about: 'People with their roles.',
    column: 'authors',
    json: true,
    exported: 'authors',
    proposed: 'authors',
    schema: Authors,
  },
  {
    name: 'customMetadata',
    about: 'Whatever else is kept of it; names stay as they were given.',
    column: 'custom_metadata',
    asSent: true,
    exported: null,
    proposed: null,
    schema: CustomMetadata,
  },
  { name: 'imprint', about: 'Imprint of the publisher.', column: 'imprint', exported: 'imprint', proposed: null, schema: Text },
  {
    name: 'language',
    about: 'Language, BCP 47 such as en or pt-BR.',
    column: 'language',
    exported: 'language',
    proposed: 'language',
    schema: Type.String({ maxLength: 35 }),
  },
  { name: 'publisher', about: 'Who publishes it.', column: 'publisher', exported: 'publisher', proposed: 'publisher', schema: Text },
  {
    name: 'status',
    about: 'Whether it goes on.',
    column: 'status',
    exported: 'status',
    proposed: 'status',
    schema: Type.Enum([...SERIES_STATUSES], { type: 'string' }),
  },
  { name: 'summary', about: 'What it is about.', column: 'summary', exported: 'summary', proposed: 'summary', schema: Summary },
  {
    name: 'totalChapterCount',
    about: 'How many chapters there are, here or not; may be fractional.',
    column: 'total_chapter_count',
    exported: 'expected_chapter_count',
    proposed: 'totalChapterCount',
    schema: Position,
  },
  {
    name: 'totalVolumeCount',
    about: 'How many volumes there are, here or not.',
    column: 'total_volume_count',
    exported: 'expected_book_count',
    proposed: 'totalVolumeCount',
    schema: Natural,
  },
  { name: 'year', about: 'Year in which it began.', column: 'year', exported: 'year', proposed: 'year', schema: Year },
] as const satisfies readonly Field[]

export type SeriesFieldName = (typeof SERIES_FIELDS)[number]['name']

/** What can be locked on a series; the wire uses these names, save `authors`, which is `authorsJsonLock`. */
export const SERIES_LOCKS = [...SERIES_FIELDS.map(({ name }) => name), 'alternateTitles', 'cover', 'genres', 'tags'] as const

export function seriesLockName(name: string): string {
  return name === 'authors' ? 'authorsJsonLock' : name
}
