import type { Knex } from 'knex'
import { announceGrants } from '#core/account/user-store.ts'

/** A tag and the series that would get it. */
interface ContestedTag {
  tagId: string
  target: string
}

/**
 * Tags that hide what carries them from some people and show it to others, where series with and without the tag come together: no one tag could keep it
 * from both. By the books as they are before the move.
 */
export async function listContestedTags(trx: Knex, moved: readonly { seriesId: string; to: string }[]): Promise<ContestedTag[]> {
  const { rows } = await trx.raw(
    `SELECT p.target, g.tag AS "tagId" FROM (SELECT DISTINCT * FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[])) AS p (source, target)) AS p
     CROSS JOIN (SELECT sharing_tag_id AS tag FROM user_sharing_grants GROUP BY 1 HAVING count(DISTINCT access_mode) > 1) AS g
     LEFT JOIN series_sharing_tags t ON t.series_id = p.source AND t.sharing_tag_id = g.tag
     GROUP BY 1, 2 HAVING count(t.series_id) > 0 AND count(t.series_id) < count(*)`,
    [moved.map(({ seriesId }) => seriesId), moved.map(({ to }) => to)],
  )
  return rows
}

/** Gives the series another tag instead, which is denied to the same people and shows nothing to anybody. */
export async function replaceContestedTags(trx: Knex.Transaction, contested: readonly ContestedTag[]): Promise<void> {
  if (contested.length === 0) return
  const tagIds = [...new Set(contested.map(({ tagId }) => tagId))].sort()
  const targets = [contested.map(({ target }) => target), contested.map(({ tagId }) => tagId)]
  await trx.raw(
    `INSERT INTO sharing_tags (name, description)
     SELECT left(name, 80) || ' (denied)', 'Of series that came together with others when the layout of their library changed. Denied to whom "' || name || '" was denied then.'
     FROM sharing_tags WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id ON CONFLICT (lower(name)) DO NOTHING`,
    [tagIds],
  )
  const { rows } = await trx.raw(
    `INSERT INTO user_sharing_grants (user_id, sharing_tag_id, access_mode)
     SELECT g.user_id, d.id, 'deny' FROM user_sharing_grants g JOIN sharing_tags t ON t.id = g.sharing_tag_id
       JOIN sharing_tags d ON lower(d.name) = lower(left(t.name, 80) || ' (denied)')
     WHERE g.sharing_tag_id = ANY(CAST(? AS uuid[])) AND g.access_mode = 'deny' ORDER BY 1, 2
     ON CONFLICT (user_id, sharing_tag_id) DO NOTHING RETURNING user_id AS id`,
    [tagIds],
  )
  await trx.raw(
    `INSERT INTO series_sharing_tags (series_id, sharing_tag_id)
     SELECT p.target, d.id FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[])) AS p (target, tag) JOIN sharing_tags t ON t.id = p.tag
       JOIN sharing_tags d ON lower(d.name) = lower(left(t.name, 80) || ' (denied)') ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    targets,
  )
  await trx.raw(
    `DELETE FROM series_sharing_tags s USING unnest(CAST(? AS uuid[]), CAST(? AS uuid[])) AS p (target, tag)
     WHERE s.series_id = p.target AND s.sharing_tag_id = p.tag`,
    targets,
  )
  await announceGrants(
    trx,
    (rows as { id: string }[]).map(({ id }) => id),
  )
}
