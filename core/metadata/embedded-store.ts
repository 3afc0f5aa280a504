import type { Knex } from 'knex'
import type { KeptEmbedded } from '#core/fields/embedded.ts'
import type { PlacedBook } from '#core/fields/placed-values.ts'
import { writeInStatements } from '#core/metadata/metadata-record-store.ts'

/** The metadata that the last analysis found in the files of these books; a book without any is missing. */
export async function listKeptEmbedded(trx: Knex, bookIds: readonly string[]): Promise<Map<string, KeptEmbedded>> {
  const { rows } = await trx.raw(
    'SELECT book_id AS id, embedded FROM book_metadata WHERE book_id = ANY(CAST(? AS uuid[])) AND embedded IS NOT NULL',
    [[...bookIds]],
  )
  return new Map((rows as { id: string; embedded: KeptEmbedded }[]).map(({ id, embedded }) => [id, embedded]))
}

/** The strategy for the title of a book `b` in a library `l`: that of a custom one whose pattern does not match is its fallback. */
export const TITLE_STRATEGY = `CASE WHEN l.book_strategy = 'custom' AND NOT coalesce(jsonb_exists(b.layout_values, 'strategyTitle'), false)
  THEN coalesce(l.book_config ->> 'fallback', 'filename') ELSE l.book_strategy END`

/** What determines the title of a book if no user or plugin gave one. */
export interface FileTitle extends PlacedBook {
  fileName: string
  /** The setting of the library: whether the title in the file counts. */
  strategy: string
  /** The setting of the library: what the number comes from. */
  numberStrategy: string
  /** Null if the file has none. */
  embedded: string | null
}

export async function listFileTitles(trx: Knex, bookIds: readonly string[]): Promise<Map<string, FileTitle>> {
  const { rows } = await trx.raw(
    `SELECT b.id, b.file_name AS "fileName", b.layout_values AS "layoutValues", b.side AS "isSide", ${TITLE_STRATEGY} AS strategy,
       l.number_strategy AS "numberStrategy", m.embedded ->> 'title' AS embedded
     FROM books b JOIN libraries l ON l.id = b.library_id LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.id = ANY(CAST(:bookIds AS uuid[]))`,
    { bookIds: [...bookIds] },
  )
  return new Map((rows as (FileTitle & { id: string })[]).map(({ id, ...title }) => [id, title]))
}

export async function storeKeptEmbedded(trx: Knex, kept: ReadonlyMap<string, KeptEmbedded | null>): Promise<void> {
  const rows = [...kept].map(([book_id, embedded]) => ({ book_id, embedded }))
  await writeInStatements(rows, (text) =>
    trx.raw(
      `INSERT INTO book_metadata (book_id, embedded) SELECT book_id, embedded FROM jsonb_populate_recordset(NULL::book_metadata, CAST(? AS jsonb))
       ORDER BY book_id ON CONFLICT (book_id) DO UPDATE SET embedded = excluded.embedded`,
      [text],
    ),
  )
}
