import Type from 'typebox'
import { Authors, Award, CustomMetadata, type Field, Int32, LIST_MAX, Name, Position, Summary, Text, Year } from '#core/metadata/field.ts'

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
  { name: 'title', about: 'Title of the book.', column: 'title', ofRecord: true, ofRecordPatch: true, schema: Name },
  { name: 'titleSort', about: 'What the book is sorted by.', column: 'title_sort', ofRecord: true, ofRecordPatch: true, schema: Name },
  {
    name: 'number',
    about: 'Number in its series; may be fractional, as 10.5.',
    column: 'number',
    ofRecord: true,
    ofRecordPatch: true,
    schema: Position,
  },
  { name: 'volume', about: 'Number of the volume.', column: 'volume', ofRecord: true, schema: Int32 },
  { name: 'chapter', about: 'Number of the chapter; may be fractional.', column: 'chapter', ofRecord: true, schema: Position },
  { name: 'authors', about: 'People with their roles.', column: 'authors', json: true, schema: Authors },
  { name: 'writer', about: 'Names of the writers, with commas.', column: null, role: 'writer', schema: Text },
  { name: 'penciller', about: 'Names of the pencillers, with commas.', column: null, role: 'penciller', schema: Text },
  { name: 'inker', about: 'Names of the inkers, with commas.', column: null, role: 'inker', schema: Text },
  { name: 'colorist', about: 'Names of the colorists, with commas.', column: null, role: 'colorist', schema: Text },
  { name: 'letterer', about: 'Names of the letterers, with commas.', column: null, role: 'letterer', schema: Text },
  { name: 'coverArtist', about: 'Names of the cover artists, with commas.', column: null, role: 'cover_artist', schema: Text },
  { name: 'editor', about: 'Names of the editors, with commas.', column: null, role: 'editor', schema: Text },
  { name: 'translator', about: 'Names of the translators, with commas.', column: null, role: 'translator', schema: Text },
  {
    name: 'awards',
    about: 'Awards that the book has won or was nominated for.',
    column: 'awards',
    json: true,
    schema: Type.Array(Award, { maxItems: LIST_MAX }),
  },
  { name: 'blackAndWhite', about: 'Whether it is printed in black and white.', column: 'black_and_white', schema: Type.Boolean() },
  { name: 'bookType', about: 'What kind of book it is.', column: 'book_type', schema: Type.Enum([...BOOK_TYPES], { type: 'string' }) },
  { name: 'count', about: 'How many issues the series has, as the book itself tells.', column: 'count', schema: Int32 },
  {
    name: 'customMetadata',
    about: 'Whatever else is kept of it; names stay as they were given.',
    column: 'custom_metadata',
    asSent: true,
    schema: CustomMetadata,
  },
  { name: 'day', about: 'Day of the month it came out.', column: 'day', schema: Type.Integer({ minimum: 1, maximum: 31 }) },
  { name: 'edition', about: 'Which edition it is, such as "Second".', column: 'edition', schema: Text },
  { name: 'formatDetail', about: 'Format in words, such as "Trade Paperback".', column: 'format_detail', schema: Text },
  { name: 'genre', about: 'Genres as its file spells them, in one text.', column: 'genre', schema: Text },
  { name: 'imprint', about: 'Imprint of the publisher.', column: 'imprint', schema: Text },
  { name: 'isbns', about: 'ISBNs, with commas.', column: 'isbns', schema: Text },
  { name: 'languageIso', about: 'Language, BCP 47 such as en or pt-BR.', column: 'language_iso', schema: Type.String({ maxLength: 35 }) },
  { name: 'manga', about: 'Whether it is a manga.', column: 'manga', schema: Type.Boolean() },
  { name: 'month', about: 'Month it came out.', column: 'month', schema: Type.Integer({ minimum: 1, maximum: 12 }) },
  { name: 'originalTitle', about: 'Title in the language it was written in.', column: 'original_title', schema: Text },
  { name: 'originalYear', about: 'Year in which it first came out.', column: 'original_year', schema: Year },
  { name: 'publisher', about: 'Who published it.', column: 'publisher', schema: Text },
  { name: 'seriesPosition', about: 'Place in the series; may be fractional.', column: 'series_position', schema: Position },
  { name: 'seriesTotal', about: 'How many books the series has.', column: 'series_total', schema: Int32 },
  {
    name: 'subjects',
    about: 'What it is about, in words of its own.',
    column: 'subjects',
    schema: Type.Array(Name, { maxItems: LIST_MAX }),
  },
  { name: 'subtitle', about: 'Subtitle.', column: 'subtitle', schema: Text },
  { name: 'summary', about: 'What happens in it.', column: 'summary', schema: Summary },
  { name: 'year', about: 'Year it came out.', column: 'year', schema: Year },
] as const satisfies readonly Field[]

export type BookFieldName = (typeof BOOK_FIELDS)[number]['name']

/** What can be locked: every field, and the cover. The wire name of each is in {@link bookLockName}. */
export const BOOK_LOCKS = [...BOOK_FIELDS.map(({ name }) => name), 'cover'] as const

/** `writer` is locked by `writerLock`, the lists of people and awards by `authorsJsonLock` and `awardsJsonLock`. */
export function bookLockName(name: string): string {
  return name === 'authors' || name === 'awards' ? `${name}JsonLock` : `${name}Lock`
}
