import Type from 'typebox'
import { Authors, CustomMetadata, type Field, Name, Natural, Position, Summary, Text, Year } from '#core/fields/field.ts'
import { OneOf } from '#core/foundation/schema.ts'

export const READING_DIRECTIONS = ['ltr', 'rtl', 'ttb', 'webtoon'] as const
export const SERIES_STATUSES = ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] as const

/** The one list of a series' metadata fields. Genres, tags and alternate titles are tables of their own and only have locks here. */
export const SERIES_FIELDS = [
  { name: 'title', about: 'Title of the series.', column: 'title', ofRecord: true, exported: 'title', proposed: 'title', schema: Name },
  {
    name: 'titleSort',
    about: 'Title by which the series is sorted.',
    column: 'title_sort',
    ofRecord: true,
    exported: 'title_sort',
    proposed: 'titleSort',
    schema: Name,
  },
  {
    name: 'readingDirection',
    about: 'Direction in which its pages are read.',
    column: 'reading_direction',
    ofRecord: true,
    exported: null,
    proposed: 'readingDirection',
    schema: OneOf(READING_DIRECTIONS),
  },
  {
    name: 'ageRating',
    about: 'Minimum age, such as 13, 16 or 18.',
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
    about: 'Your own fields.',
    column: 'custom_metadata',
    ordered: true,
    exported: null,
    proposed: null,
    schema: CustomMetadata,
  },
  { name: 'imprint', about: 'Imprint of the publisher.', column: 'imprint', exported: 'imprint', proposed: null, schema: Text },
  {
    name: 'language',
    about: 'Language as BCP 47, such as en or pt-BR.',
    column: 'language',
    exported: 'language',
    proposed: 'language',
    schema: Type.String({ maxLength: 35 }),
  },
  { name: 'publisher', about: 'Publisher.', column: 'publisher', exported: 'publisher', proposed: 'publisher', schema: Text },
  {
    name: 'status',
    about: 'Publication status.',
    column: 'status',
    exported: 'status',
    proposed: 'status',
    schema: OneOf(SERIES_STATUSES),
  },
  { name: 'summary', about: 'Summary of the series.', column: 'summary', exported: 'summary', proposed: 'summary', schema: Summary },
  {
    name: 'totalChapterCount',
    about: 'Number of chapters published, in this library or not; may be fractional.',
    column: 'total_chapter_count',
    exported: 'expected_chapter_count',
    proposed: 'totalChapterCount',
    schema: Position,
  },
  {
    name: 'totalVolumeCount',
    about: 'Number of volumes published, in this library or not.',
    column: 'total_volume_count',
    exported: 'expected_book_count',
    proposed: 'totalVolumeCount',
    schema: Natural,
  },
  { name: 'year', about: 'Year of first publication.', column: 'year', exported: 'year', proposed: 'year', schema: Year },
] as const satisfies readonly Field[]

/** All locks of a series; the API uses these names, except for `authors`, which is `authorsJsonLock`. */
export const SERIES_LOCKS = [...SERIES_FIELDS.map(({ name }) => name), 'alternateTitles', 'cover', 'genres', 'tags'] as const

export function seriesLockName(name: string): string {
  return name === 'authors' ? 'authorsJsonLock' : name
}
