import Type from 'typebox'
import { Authors, CustomMetadata, type Field, Name, Natural, Position, Summary, Text, Year } from '#core/metadata/field.ts'

export const READING_DIRECTIONS = ['ltr', 'rtl', 'ttb', 'webtoon'] as const
export const SERIES_STATUSES = ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] as const

/** The one list of a series' metadata fields (spec 2.8). Genres, tags and alternate titles are tables of their own and only have locks here. */
export const SERIES_FIELDS = [
  { name: 'title', about: 'Title of the series.', column: 'title', ofRecord: true, schema: Name },
  { name: 'titleSort', about: 'What the series is sorted by.', column: 'title_sort', ofRecord: true, schema: Name },
  {
    name: 'readingDirection',
    about: 'Which way its pages are read.',
    column: 'reading_direction',
    ofRecord: true,
    schema: Type.Enum([...READING_DIRECTIONS], { type: 'string' }),
  },
  {
    name: 'ageRating',
    about: 'Youngest age it is meant for, such as 13, 16 or 18.',
    column: 'age_rating',
    schema: Type.Integer({ minimum: 0, maximum: 99 }),
  },
  { name: 'authors', about: 'People with their roles.', column: 'authors', json: true, schema: Authors },
  {
    name: 'customMetadata',
    about: 'Whatever else is kept of it; names stay as they were given.',
    column: 'custom_metadata',
    asSent: true,
    schema: CustomMetadata,
  },
  { name: 'imprint', about: 'Imprint of the publisher.', column: 'imprint', schema: Text },
  { name: 'language', about: 'Language, BCP 47 such as en or pt-BR.', column: 'language', schema: Type.String({ maxLength: 35 }) },
  { name: 'publisher', about: 'Who publishes it.', column: 'publisher', schema: Text },
  { name: 'status', about: 'Whether it goes on.', column: 'status', schema: Type.Enum([...SERIES_STATUSES], { type: 'string' }) },
  { name: 'summary', about: 'What it is about.', column: 'summary', schema: Summary },
  {
    name: 'totalChapterCount',
    about: 'How many chapters there are, here or not; may be fractional.',
    column: 'total_chapter_count',
    schema: Position,
  },
  { name: 'totalVolumeCount', about: 'How many volumes there are, here or not.', column: 'total_volume_count', schema: Natural },
  { name: 'year', about: 'Year in which it began.', column: 'year', schema: Year },
] as const satisfies readonly Field[]

export type SeriesFieldName = (typeof SERIES_FIELDS)[number]['name']

/** What can be locked on a series; the wire uses these names, save `authors`, which is `authorsJsonLock`. */
export const SERIES_LOCKS = [...SERIES_FIELDS.map(({ name }) => name), 'alternateTitles', 'cover', 'genres', 'tags'] as const

export function seriesLockName(name: string): string {
  return name === 'authors' ? 'authorsJsonLock' : name
}
