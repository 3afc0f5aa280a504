import Type from 'typebox'
import { Authors, CustomMetadata, type Field, Name, Natural, Position, Summary, Text, Year } from '#core/metadata/field.ts'

export const READING_DIRECTIONS = ['ltr', 'rtl', 'ttb', 'webtoon'] as const
export const SERIES_STATUSES = ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] as const

/** The one list of a series' metadata fields (spec 2.8). Genres, tags and alternate titles are tables of their own and only have locks here. */
export const SERIES_FIELDS = [
  { name: 'title', column: 'title', ofRecord: true, schema: Name },
  { name: 'titleSort', column: 'title_sort', ofRecord: true, schema: Name },
  { name: 'readingDirection', column: 'reading_direction', ofRecord: true, schema: Type.Enum([...READING_DIRECTIONS], { type: 'string' }) },
  { name: 'ageRating', column: 'age_rating', schema: Type.Integer({ minimum: 0, maximum: 99 }) },
  { name: 'authors', column: 'authors', json: true, schema: Authors },
  { name: 'customMetadata', column: 'custom_metadata', json: true, schema: CustomMetadata },
  { name: 'imprint', column: 'imprint', schema: Text },
  { name: 'language', column: 'language', schema: Type.String({ maxLength: 35, description: 'BCP 47, such as en or pt-BR.' }) },
  { name: 'publisher', column: 'publisher', schema: Text },
  { name: 'status', column: 'status', schema: Type.Enum([...SERIES_STATUSES], { type: 'string' }) },
  { name: 'summary', column: 'summary', schema: Summary },
  { name: 'totalChapterCount', column: 'total_chapter_count', schema: Position },
  { name: 'totalVolumeCount', column: 'total_volume_count', schema: Natural },
  { name: 'year', column: 'year', schema: Year },
] as const satisfies readonly Field[]

export type SeriesFieldName = (typeof SERIES_FIELDS)[number]['name']

/** What can be locked on a series; the wire uses these names, save `authors`, which is `authorsJsonLock`. */
export const SERIES_LOCKS = [...SERIES_FIELDS.map(({ name }) => name), 'alternateTitles', 'cover', 'genres', 'tags'] as const

export function seriesLockName(name: string): string {
  return name === 'authors' ? 'authorsJsonLock' : name
}
