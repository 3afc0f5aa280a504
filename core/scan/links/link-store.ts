import type { Knex } from 'knex'
import type { FollowedLink } from '#core/scan/links/link-follower.ts'

/** The links that the last scan of a library followed. */
export async function listFollowedLinks(database: Knex, libraryId: string): Promise<FollowedLink[]> {
  return await database('library_links').where('library_id', libraryId).orderBy('path').select('path', 'target')
}

/** Replaces the links of a library. */
export async function recordLinks(database: Knex, libraryId: string, links: readonly FollowedLink[]): Promise<void> {
  await database.transaction(async (trx) => {
    const rows = { libraryId, paths: links.map(({ path }) => path), targets: links.map(({ target }) => target) }
    await trx.raw('DELETE FROM library_links WHERE library_id = :libraryId AND path <> ALL(CAST(:paths AS text[]))', rows)
    await trx.raw(
      `INSERT INTO library_links (library_id, path, target)
       SELECT :libraryId, path, target FROM unnest(CAST(:paths AS text[]), CAST(:targets AS text[])) AS f (path, target)
       ON CONFLICT (library_id, path) DO UPDATE SET target = excluded.target`,
      rows,
    )
  })
}
