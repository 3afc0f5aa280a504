import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'

/**
 * The one predicate of who sees what: adds "this series is visible to the caller" to a query.
 * Deny wins over allow; a user with any allow grant sees only series that carry an allowed tag; without grants a user sees all.
 * @param seriesId the column that holds the series id, such as `series.id` or `books.series_id`
 */
export function visibleTo(caller: Pick<Caller, 'userId'>, seriesId: string): (query: Knex.QueryBuilder) => void {
  return (query) => {
    query
      .whereRaw(
        `NOT EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
           WHERE g.user_id = ? AND g.access_mode = 'deny' AND t.series_id = ??)`,
        [caller.userId, seriesId],
      )
      .whereRaw(
        `(NOT EXISTS (SELECT 1 FROM user_sharing_grants g WHERE g.user_id = ? AND g.access_mode = 'allow')
          OR EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
            WHERE g.user_id = ? AND g.access_mode = 'allow' AND t.series_id = ??))`,
        [caller.userId, caller.userId, seriesId],
      )
  }
}
