import type { Knex } from 'knex'
import type { KeptEmbedded } from '#core/book/embedded.ts'
import type { Author } from '#core/metadata/field.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'

/** What one book has to say of its series; only what its file gave, for what a person entered for one book says nothing of the others. */
export interface BookVoice {
  seriesId: string
  sources: Record<string, string>
  publisher: string | null
  imprint: string | null
  languageIso: string | null
  summary: string | null
  year: number | null
  manga: boolean | null
  authors: Author[] | null
  embedded: KeptEmbedded | null
}

/** Whether books of a series wait for their analysis, and whether it knows less than those which do not. */
export async function findSeedState(trx: Knex, seriesId: string): Promise<{ pending: boolean; due: boolean }> {
  const { rows } = await trx.raw(
    `SELECT seed_due AS due, EXISTS (
       SELECT 1 FROM books b WHERE b.series_id = series.id AND b.state = 'pending' AND b.deleted_at IS NULL
     ) AS pending FROM series WHERE id = ?`,
    [seriesId],
  )
  return rows[0] ?? { pending: false, due: false }
}

export async function markSeedDue(trx: Knex, seriesIds: readonly string[], due: boolean): Promise<void> {
  await trx('series')
    .whereIn('id', [...seriesIds])
    .andWhere('seed_due', !due)
    .update({ seed_due: due })
}

/** Series of a library that should have been seeded: their last book failed, vanished, or was written when the server was killed. */
export async function listSeedsDue(database: Knex, libraryId: string): Promise<string[]> {
  const rows = await database('series')
    .where({ library_id: libraryId, seed_due: true })
    .whereRaw(`NOT EXISTS (SELECT 1 FROM books b WHERE b.series_id = series.id AND b.state = 'pending' AND b.deleted_at IS NULL)`)
    .select('id')
  return rows.map(({ id }) => id)
}

/** The books of each series that say anything, in reading order. */
export async function listVoices(trx: Knex, seriesIds: readonly string[], readingOrder: string): Promise<BookVoice[]> {
  const { rows } = await trx.raw(
    `SELECT books.series_id AS "seriesId", m.sources, m.publisher, m.imprint, m.language_iso AS "languageIso", m.summary, m.year, m.manga,
       m.authors, m.embedded
     FROM books JOIN book_metadata m ON m.book_id = books.id
     WHERE books.series_id = ANY(CAST(? AS uuid[])) AND books.deleted_at IS NULL ORDER BY ${readingOrder}`,
    [[...seriesIds]],
  )
  return rows
}

/** What books have given a series once, by its keys. */
export interface Seeded {
  genres?: string[]
  tags?: string[]
  alternateTitles?: string[]
  /** Their sources. */
  links?: string[]
}

export async function listSeeded(trx: Knex, seriesIds: readonly string[]): Promise<Map<string, Seeded>> {
  const rows = await trx('series_metadata')
    .whereIn('series_id', [...seriesIds])
    .select('series_id', 'seeded')
  return new Map(rows.map(({ series_id, seeded }) => [series_id, seeded]))
}

export async function storeSeeded(trx: Knex, seriesId: string, seeded: Seeded): Promise<void> {
  await trx('series_metadata')
    .insert({ series_id: seriesId, seeded: JSON.stringify(seeded) })
    .onConflict('series_id')
    .merge(['seeded'])
}

/** Has books give series again what was taken from them. */
export async function forgetSeeded(trx: Knex, seriesIds: readonly string[]): Promise<void> {
  await trx('series_metadata')
    .whereIn('series_id', [...seriesIds])
    .update({ seeded: '{}' })
}

/** Further titles that files gave: those of `titles` are there afterwards, what people entered stays. */
export async function seedAlternateTitles(trx: Knex, seriesId: string, titles: readonly { label: string; title: string }[]): Promise<void> {
  if (titles.length === 0) return
  const known = await trx('series_alternate_titles').where('series_id', seriesId).select('label', 'title')
  const keyOf = ({ label, title }: { label: string; title: string }) => `${label}\0${title}`
  const keys = new Set(known.map(keyOf))
  const fresh = titles.filter((one) => !keys.has(keyOf(one))).slice(0, Math.max(0, ALTERNATE_TITLES_MAX - known.length))
  if (fresh.length > 0)
    await trx('series_alternate_titles').insert(fresh.map((row) => ({ series_id: seriesId, ...row, given_by: 'embedded' })))
}

/** Links that files gave; a source that has one keeps it. */
export async function seedLinks(trx: Knex, seriesId: string, links: readonly { source: string; url: string }[]): Promise<void> {
  if (links.length === 0) return
  await trx('series_external_links')
    .insert(links.map((link) => ({ series_id: seriesId, ...link, given_by: 'embedded' })))
    .onConflict(['series_id', 'source'])
    .ignore()
}
