import type { Knex } from 'knex'

/** How many new files of a library wait for their first analysis, by folder, relative to the library. */
export async function countWaitingFiles(database: Knex, library: { id: string; path: string }): Promise<Map<string, number>> {
  const { rows } = await database.raw(
    `SELECT coalesce(substr(regexp_replace(path, '/[^/]*$', ''), ?), '') AS folder, count(*)::int AS count FROM books
     WHERE library_id = ? AND provisional AND state = 'pending' AND file_hash IS NULL AND deleted_at IS NULL GROUP BY 1`,
    [library.path.length + 2, library.id],
  )
  return new Map(rows.map(({ folder, count }: { folder: string; count: number }) => [folder, count]))
}
