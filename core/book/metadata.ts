import Type from 'typebox'
import { Authors, Award, CustomMetadata, type Field, LIST_MAX, Name, Natural, Position, Summary, Text, Year } from '#core/metadata/field.ts'

export const BOOK_TYPES = [
  'comic',
  'manga',
  'novel',
  'novella',
  'anthology',
  'artbook',
  'oneshot',
  'omnibus',
  'graphic_novel',
  'magazine',
] as const

/** The one list of a book's metadata fields (spec 2.3). */
export const BOOK_FIELDS = [
  { name: 'title', column: 'title', ofRecord: true, ofRecordPatch: true, schema: Name },
  { name: 'titleSort', column: 'title_sort', ofRecord: true, ofRecordPatch: true, schema: Name },
  { name: 'number', column: 'number', ofRecord: true, ofRecordPatch: true, schema: Position },
  { name: 'volume', column: 'volume', ofRecord: true, schema: Natural },
  { name: 'chapter', column: 'chapter', ofRecord: true, schema: Position },
  { name: 'authors', column: 'authors', json: true, schema: Authors },
  { name: 'writer', column: null, role: 'writer', schema: Text },
  { name: 'penciller', column: null, role: 'penciller', schema: Text },
  { name: 'inker', column: null, role: 'inker', schema: Text },
  { name: 'colorist', column: null, role: 'colorist', schema: Text },
  { name: 'letterer', column: null, role: 'letterer', schema: Text },
  { name: 'coverArtist', column: null, role: 'cover_artist', schema: Text },
  { name: 'editor', column: null, role: 'editor', schema: Text },
  { name: 'translator', column: null, role: 'translator', schema: Text },
  { name: 'awards', column: 'awards', json: true, schema: Type.Array(Award, { maxItems: LIST_MAX }) },
  { name: 'blackAndWhite', column: 'black_and_white', schema: Type.Boolean() },
  { name: 'bookType', column: 'book_type', schema: Type.Enum([...BOOK_TYPES], { type: 'string' }) },
  { name: 'count', column: 'count', schema: Natural },
  { name: 'customMetadata', column: 'custom_metadata', json: true, schema: CustomMetadata },
  { name: 'day', column: 'day', schema: Type.Integer({ minimum: 1, maximum: 31 }) },
  { name: 'edition', column: 'edition', schema: Text },
  { name: 'formatDetail', column: 'format_detail', schema: Text },
  { name: 'genre', column: 'genre', schema: Text },
  { name: 'imprint', column: 'imprint', schema: Text },
  { name: 'isbns', column: 'isbns', schema: Text },
  { name: 'languageIso', column: 'language_iso', schema: Type.String({ maxLength: 35, description: 'BCP 47, such as en or pt-BR.' }) },
  { name: 'manga', column: 'manga', schema: Type.Boolean() },
  { name: 'month', column: 'month', schema: Type.Integer({ minimum: 1, maximum: 12 }) },
  { name: 'originalTitle', column: 'original_title', schema: Text },
  { name: 'originalYear', column: 'original_year', schema: Year },
  { name: 'publisher', column: 'publisher', schema: Text },
  { name: 'seriesPosition', column: 'series_position', schema: Position },
  { name: 'seriesTotal', column: 'series_total', schema: Natural },
  { name: 'subjects', column: 'subjects', schema: Type.Array(Name, { maxItems: LIST_MAX }) },
  { name: 'subtitle', column: 'subtitle', schema: Text },
  { name: 'summary', column: 'summary', schema: Summary },
  { name: 'year', column: 'year', schema: Year },
] as const satisfies readonly Field[]

export type BookFieldName = (typeof BOOK_FIELDS)[number]['name']

/** What can be locked: every field, and the cover. The wire name of each is in {@link bookLockName}. */
export const BOOK_LOCKS = [...BOOK_FIELDS.map(({ name }) => name), 'cover'] as const

/** `writer` is locked by `writerLock`, the lists of people and awards by `authorsJsonLock` and `awardsJsonLock`. */
export function bookLockName(name: string): string {
  return name === 'authors' || name === 'awards' ? `${name}JsonLock` : `${name}Lock`
}
