import type { Knex } from 'knex'
import type { EmbeddedLink, KeptEmbedded } from '#core/metadata/embedded.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { sourceKey } from '#core/metadata/source-key.ts'

/** What the last analysis kept beside the fields of a book; null when it kept nothing. */
export async function findKeptEmbedded(trx: Knex, bookId: string): Promise<KeptEmbedded | null> {
  const row = await trx('book_metadata').where('book_id', bookId).first('embedded')
  return row?.embedded ?? null
}

/** What the file of a book and its name can say of its title. */
export interface FileTitle {
  libraryId: string
  fileName: string
  /** Of the library; says whether the title in the file counts. */
  strategy: string
  /** Undefined where nobody has looked since it is kept, null where the file says none. */
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

/** The row of metadata must be there. */
export async function storeKeptEmbedded(trx: Knex, bookId: string, kept: KeptEmbedded | null): Promise<void> {
  await trx('book_metadata')
    .where('book_id', bookId)
    .update({ embedded: kept === null ? null : JSON.stringify(kept) })
}

/** Links by source: new and changed ones are written, those of `removed` go; what somebody else gave stays as it is. */
export async function changeLinks(
  trx: Knex,
  change: { bookId: string; added: readonly EmbeddedLink[]; removed: readonly string[] },
): Promise<void> {
  const { bookId, added, removed } = change
  if (removed.length > 0) {
    await trx('book_external_links')
      .where({ book_id: bookId, given_by: 'embedded' })
      .whereIn('source', [...removed])
      .delete()
  }
  if (added.length === 0) return
  await trx('book_external_links')
    .insert(added.map((link) => ({ book_id: bookId, ...link, given_by: 'embedded' })))
    .onConflict(['book_id', 'source'])
    .merge({ url: trx.raw('excluded.url'), updated_at: trx.fn.now() })
    .where('book_external_links.given_by', 'embedded')
}

/** Identifiers at other services by their source, likewise; they are kept under the keys of those. */
export async function changeExternalIds(
  trx: Knex,
  change: { bookId: string; added: Readonly<Record<string, string>>; removed: readonly string[] },
): Promise<void> {
  const { bookId } = change
  if (change.removed.length === 0 && Object.keys(change.added).length === 0) return
  const names = await listIdNames(trx)
  const added = Object.entries(change.added).map(([source, id]) => [sourceKey(source, names), id] as const)
  const removed = change.removed.map((source) => sourceKey(source, names))
  if (removed.length > 0) {
    await trx('book_external_ids').where({ book_id: bookId, given_by: 'embedded' }).whereIn('source', removed).delete()
  }
  if (added.length === 0) return
  await trx('book_external_ids')
    .insert(added.map(([source, id]) => ({ book_id: bookId, source, external_id: id, given_by: 'embedded' })))
    .onConflict(['book_id', 'source'])
    .merge({ external_id: trx.raw('excluded.external_id'), updated_at: trx.fn.now() })
    .where('book_external_ids.given_by', 'embedded')
}
