import type { Knex } from 'knex'
import type { KeptEmbedded } from '#core/metadata/embedded.ts'

/** The metadata that the last analysis found in the file of a book; null if it found none. */
export async function findKeptEmbedded(trx: Knex, bookId: string): Promise<KeptEmbedded | null> {
  const row = await trx('book_metadata').where('book_id', bookId).first('embedded')
  return row?.embedded ?? null
}

/** What determines the title of a book if no user or plugin gave one. */
interface FileTitle {
  libraryId: string
  fileName: string
  /** The setting of the library: whether the title in the file counts. */
  strategy: string
  /** Undefined if the analysis did not store it (an older version), null if the file has none. */
  embedded: string | null | undefined
}

export async function listFileTitles(trx: Knex, bookIds: readonly string[]): Promise<Map<string, FileTitle>> {
  const { rows } = await trx.raw(
    `SELECT b.id, b.library_id AS "libraryId", b.file_name AS "fileName", l.book_strategy AS strategy, m.embedded ->> 'title' AS embedded,
       coalesce(jsonb_exists(m.embedded, 'title'), false) AS known
     FROM books b JOIN libraries l ON l.id = b.library_id LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.id = ANY(CAST(:bookIds AS uuid[]))`,
    { bookIds: [...bookIds] },
  )
  return new Map(
    (rows as (FileTitle & { id: string; known: boolean })[]).map(({ id, known, ...title }) => [
      id,
      { ...title, embedded: known ? title.embedded : undefined },
    ]),
  )
}

export async function storeKeptEmbedded(trx: Knex, bookId: string, kept: KeptEmbedded | null): Promise<void> {
  await trx('book_metadata')
    .insert({ book_id: bookId, embedded: kept === null ? null : JSON.stringify(kept) })
    .onConflict('book_id')
    .merge(['embedded'])
}
