import type { Knex } from 'knex'
import type { PageSource } from '#core/fields/analysis.ts'
import type { Author } from '#core/fields/field.ts'
import { AUTHORS_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/fields/limits.ts'

/** What catalogs contain of a book besides its record. */
export interface PublicationMetadata {
  pageSource: PageSource
  /** The media type of all of its pages; null if they differ, or there are none. */
  pageType: string | null
  /** In its series; may be a fraction. */
  number: number | null
  subtitle: string | null
  summary: string | null
  publisher: string | null
  language: string | null
  /** Separated by commas. */
  isbns: string | null
  year: number | null
  month: number | null
  day: number | null
  authors: Author[]
}

/** How much of a book is returned: the number of people and the length of each text. */
interface Extent {
  summary: number
  text: number
  authors: number
}

/** In a list: what fits on one screen. A hundred of them take some hundred kilobytes, where whole ones could take twenty megabytes. */
export const IN_LIST: Extent = { summary: 500, text: 200, authors: 10 }
/** Without limits. */
export const WHOLE: Extent = { summary: SUMMARY_LENGTH_MAX, text: TEXT_LENGTH_MAX, authors: AUTHORS_MAX }

/** Metadata of books for catalogs, in one statement. The caller must have checked that they are visible. */
export async function listPublicationMetadata(
  database: Knex,
  ids: readonly string[],
  extent: Extent,
): Promise<Map<string, PublicationMetadata>> {
  if (ids.length === 0) return new Map()
  const { rows } = (await database.raw(
    `SELECT b.id, b.page_source, p.media_type AS "pageType", CAST(b.number AS float8) AS number, m.year, m.month, m.day,
       left(m.summary, :summary) AS summary, left(m.subtitle, :text) AS subtitle, left(m.publisher, :text) AS publisher,
       left(m.language_iso, :text) AS language, left(m.isbns, :text) AS isbns,
       CASE jsonb_typeof(m.authors) WHEN 'array' THEN jsonb_path_query_array(m.authors, CAST(:first AS jsonpath)) END AS authors
     FROM books b LEFT JOIN book_metadata m ON m.book_id = b.id LEFT JOIN book_pages p ON p.book_id = b.id
     WHERE b.id = ANY(CAST(:ids AS uuid[]))`,
    { summary: extent.summary, text: extent.text, first: `$[0 to ${extent.authors - 1}]`, ids: [...ids] },
  )) as {
    rows: (Omit<PublicationMetadata, 'pageSource' | 'authors'> & { id: string; page_source: PageSource; authors: Author[] | null })[]
  }
  return new Map(rows.map(({ id, page_source, authors, ...row }) => [id, { ...row, pageSource: page_source, authors: authors ?? [] }]))
}
