import type { Knex } from 'knex'
import type { FolderDecision } from '#core/scan/layouts/decide-folder.ts'

interface FolderLayoutRow {
  path: string
  kind: FolderDecision['kind']
  published: boolean
}

const byPath = (rows: readonly FolderLayoutRow[]): Map<string, FolderDecision> =>
  new Map(rows.map(({ path, kind, published }) => [path, { kind, isPublished: published }]))

/** Records what was decided for folders that have no decision yet; returns the decisions that hold. */
export async function keepDecisions(
  trx: Knex,
  libraryId: string,
  decided: ReadonlyMap<string, FolderDecision>,
): Promise<Map<string, FolderDecision>> {
  if (decided.size === 0) return new Map()
  // One order of locking prevents deadlocks.
  const folders = [...decided].sort(([a], [b]) => (a < b ? -1 : 1))
  // A statement does not see the rows that it inserts.
  const { rows } = await trx.raw(
    `WITH given AS (SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[]), CAST(? AS boolean[])) AS g (path, kind, published)), kept AS (
       INSERT INTO folder_layouts (library_id, path, kind, published) SELECT ?, path, kind, published FROM given
       ON CONFLICT (library_id, path) DO NOTHING RETURNING path, kind, published)
     SELECT path, kind, published FROM kept
     UNION ALL SELECT l.path, l.kind, l.published FROM folder_layouts l JOIN given g ON g.path = l.path WHERE l.library_id = ?`,
    [folders.map(([path]) => path), folders.map(([, { kind }]) => kind), folders.map(([, one]) => one.isPublished), libraryId, libraryId],
  )
  return byPath(rows)
}

export async function listDecisions(database: Knex, libraryId: string): Promise<Map<string, FolderDecision>> {
  return byPath(await database('folder_layouts').where('library_id', libraryId).select('path', 'kind', 'published'))
}

/** Of folders that waited for the metadata of their books. */
export async function changeDecision(trx: Knex, libraryId: string, path: string, kind: FolderDecision['kind']): Promise<void> {
  await trx('folder_layouts').where({ library_id: libraryId, path }).update({ kind })
}

/** Forgets all decisions: the layout has changed. */
export async function forgetDecisions(trx: Knex, libraryId: string): Promise<void> {
  await trx('folder_layouts').where('library_id', libraryId).delete()
}
