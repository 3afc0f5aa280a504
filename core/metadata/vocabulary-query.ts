import type { Knex } from 'knex'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'

/** Where the words come from: from everything, or only from one of these. */
export interface VocabularyScope {
  libraryIds?: readonly string[] | undefined
  collectionId?: string | undefined
  seriesId?: string | undefined
  readListId?: string | undefined
}

/** More words than anybody picks from a list. */
export const WORDS_MAX = 10_000

const BOOKS = 'JOIN books b ON b.series_id = v.id AND b.deleted_at IS NULL'
const ofSeries = (table: string, column: string) =>
  `SELECT n.name AS word FROM visible v JOIN series_${table} x ON x.series_id = v.id JOIN ${table} n ON n.id = x.${column}`
const ofBooks = (table: string, column: string) =>
  `SELECT n.name AS word FROM visible v ${BOOKS} JOIN book_${table} x ON x.book_id = b.id JOIN ${table} n ON n.id = x.${column}`
const ofMetadata = (expression: string) => `SELECT ${expression}::text AS word FROM visible v JOIN series_metadata m ON m.series_id = v.id`

/** The statements for the words of each kind. `sharingTag` is only for administrators. */
const WORDS = {
  genre: `${ofSeries('genres', 'genre_id')} UNION ${ofBooks('genres', 'genre_id')}`,
  tag: `${ofSeries('tags', 'tag_id')} UNION ${ofBooks('tags', 'tag_id')}`,
  seriesTag: ofSeries('tags', 'tag_id'),
  bookTag: ofBooks('tags', 'tag_id'),
  sharingTag: ofSeries('sharing_tags', 'sharing_tag_id'),
  publisher: ofMetadata('m.publisher'),
  language: ofMetadata('m.language'),
  ageRating: ofMetadata('m.age_rating'),
  // The year of a series is that of its first book.
  releaseYear: `SELECT min(m.year)::text AS word FROM visible v ${BOOKS} JOIN book_metadata m ON m.book_id = b.id GROUP BY v.id`,
} as const
export type VocabularyKind = keyof typeof WORDS

/** Series that the caller may see and that have an existing book. */
export function visibleSeries(
  database: Knex,
  caller: Caller,
  { libraryIds, collectionId, seriesId, readListId }: VocabularyScope,
): Knex.QueryBuilder {
  const query = database('series')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw('EXISTS (SELECT 1 FROM books b WHERE b.series_id = series.id AND b.deleted_at IS NULL)')
    .select('series.id')
  if (libraryIds) query.whereRaw('series.library_id = ANY(CAST(? AS uuid[]))', [[...libraryIds]])
  if (seriesId !== undefined) query.where('series.id', seriesId)
  if (collectionId !== undefined)
    query.whereRaw('series.id IN (SELECT c.series_id FROM collection_series c WHERE c.collection_id = ?)', [collectionId])
  if (readListId !== undefined)
    query.whereRaw('series.id IN (SELECT b.series_id FROM read_list_books r JOIN books b ON b.id = r.book_id WHERE r.read_list_id = ?)', [
      readListId,
    ])
  return query
}

/** The words that are used in books and series which the caller may see, each once, in order. */
export async function listVocabulary(database: Knex, caller: Caller, kind: VocabularyKind, scope: VocabularyScope = {}): Promise<string[]> {
  if (kind === 'sharingTag' && !isAdministrator(caller)) return []
  const rows: { word: string }[] = await database
    .with('visible', visibleSeries(database, caller, scope))
    .from(database.raw(`(${WORDS[kind]}) AS words`))
    .select('word')
    .whereNotNull('word')
    .where('word', '<>', '')
    .groupBy('word')
    .orderByRaw(kind === 'ageRating' || kind === 'releaseYear' ? 'length(word), word' : 'word')
    .limit(WORDS_MAX)
  return rows.map(({ word }) => word)
}
