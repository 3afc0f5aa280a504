import type { Knex } from 'knex'
import { applyChange } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'

/**
 * Tags and age ratings of persons pass on. Those of files follow from the files; but where a change of the layout divides a series, all parts keep its
 * rating, also that of some files: it has hidden the others too. A tag that only shows what carries it passes on where all that comes together carries it, and
 * after a change of the layout it stays only there; with a book whose file was moved (`isMove`), it never passes on.
 */
export async function passProtection(
  trx: Knex.Transaction,
  moved: readonly { seriesId: string; to: string }[],
  { isChange, isMove = false }: { isChange: boolean; isMove?: boolean },
): Promise<void> {
  const parts = new Map<string, Set<string>>()
  for (const { seriesId, to } of moved) parts.set(seriesId, (parts.get(seriesId) ?? new Set()).add(to))
  const pairs = [...parts].flatMap(([from, all]) => [...all].map((to) => ({ from, to, isDivided: isChange && all.size > 1 })))
  const [from, to] = [pairs.map((pair) => pair.from), pairs.map((pair) => pair.to)]
  const shown = isChange ? await listShowingTags(trx, { from, to }) : []
  await trx.raw(
    `WITH pairs AS (SELECT * FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[])) AS p (source, target))
     INSERT INTO series_sharing_tags (series_id, sharing_tag_id) SELECT DISTINCT p.target, t.sharing_tag_id
     FROM pairs p JOIN series_sharing_tags t ON t.series_id = p.source
     WHERE t.sharing_tag_id NOT IN (${SHOWING_TAGS}) OR (NOT ? AND NOT EXISTS (
       SELECT 1 FROM pairs o WHERE o.target = p.target
         AND NOT EXISTS (SELECT 1 FROM series_sharing_tags s WHERE s.series_id = o.source AND s.sharing_tag_id = t.sharing_tag_id)))
     ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    [from, to, isMove],
  )
  if (shown.length > 0) await trx('series_sharing_tags').whereIn(['series_id', 'sharing_tag_id'], shown).delete()
  const { rows } = await trx.raw(AGES, { from, to, divided: pairs.map(({ isDivided }) => isDivided), isChange })
  const ages = new Map((rows as { id: string; age: number | null }[]).map(({ id, age }) => [id, age]))
  const states = await loadStates(trx, 'series', [...ages.keys()], [])
  const changes = [...states.values()].map((before) => {
    const ageRating = ages.get(before.id) as number | null
    const { next } = applyChange('series', before, { values: { ageRating } }, 'user')
    // An equal value would stay one of the files.
    const sources = ageRating === null ? next.sources : { ...next.sources, ageRating: 'user' as const }
    return { before, next: { ...next, sources, locks: new Set([...next.locks, 'ageRating']) } }
  })
  await storeStates(trx, 'series', changes)
}

/**
 * The ages that series must have, by series; null for one that must stay without. Where the layout changes, an age of files passes on too if the files cannot
 * give it to the new series: the file that describes a series stays behind, and a person or such a file has given the new one a lower age. If one of the series
 * has no age, and rules hide such series, those rules hide the new one; outside of a change of the layout only if a person has cleared and locked it, against
 * the age that the files may have.
 */
const AGES = `WITH pairs AS (
    SELECT p.target, p.divided, m.age_rating AS age, coalesce(own.age_rating, -1) AS own,
      m.age_rating IS NULL AND coalesce('ageRating' = ANY(m.locks), false) AS is_cleared,
      coalesce(m.sources ->> 'ageRating' IN ('user', 'plugin'), false) OR (:isChange AND s.sidecar #> '{fields,ageRating}' IS NOT NULL) AS passes,
      own.sources ->> 'ageRating' IN ('user', 'plugin') OR 'ageRating' = ANY(own.locks) OR t.sidecar #> '{fields,ageRating}' IS NOT NULL AS is_fixed
    FROM unnest(CAST(:from AS uuid[]), CAST(:to AS uuid[]), CAST(:divided AS boolean[])) AS p (source, target, divided)
      JOIN series s ON s.id = p.source JOIN series t ON t.id = p.target
      LEFT JOIN series_metadata m ON m.series_id = p.source LEFT JOIN series_metadata own ON own.series_id = p.target
  ), targets AS (
    SELECT target, max(age) FILTER (WHERE passes OR :isChange) AS age, greatest(max(age), nullif(max(own), -1)) AS highest,
      bool_or(passes AND age > own) OR (:isChange AND (bool_or(is_fixed AND age > own) OR bool_or(divided AND age >= own))) AS is_raised,
      CASE WHEN bool_or(is_cleared OR (:isChange AND age IS NULL)) THEN (SELECT max(hidden_from) FROM access_rules WHERE NOT shows_unrated) END AS hidden,
      bool_or(is_cleared) AS is_cleared
    FROM pairs GROUP BY target)
  SELECT target AS id, greatest(age, hidden) AS age FROM targets WHERE is_raised OR highest < hidden
  UNION ALL SELECT target, NULL FROM targets WHERE is_cleared AND highest IS NULL`

/** SQL that selects the tags which show what carries them to some people and hide it from none. */
const SHOWING_TAGS = `SELECT sharing_tag_id FROM user_sharing_grants GROUP BY 1 HAVING bool_and(access_mode = 'allow')`

/** Tags that show series to some people and hide them from none, where a series without the tag would come to be shown: by series. */
async function listShowingTags(trx: Knex, { from, to }: { from: readonly string[]; to: readonly string[] }): Promise<[string, string][]> {
  const { rows } = await trx.raw(
    `SELECT DISTINCT p.target, g.tag FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[])) AS p (source, target) CROSS JOIN (
       ${SHOWING_TAGS}) AS g (tag)
     WHERE NOT EXISTS (SELECT 1 FROM series_sharing_tags t WHERE t.series_id = p.source AND t.sharing_tag_id = g.tag)`,
    [[...from], [...to]],
  )
  return (rows as { target: string; tag: string }[]).map(({ target, tag }) => [target, tag])
}
