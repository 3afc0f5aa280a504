import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'

/**
 * The one predicate for who sees what: adds "this series is visible to the caller" to a query.
 * Deny wins over allow; a user with any allow grant sees only series that have an allowed tag; a user without grants sees all.
 * @param seriesId the column that holds the series id, such as `series.id` or `books.series_id`
 */
export const visibleTo = (caller: Pick<Caller, 'userId'>, seriesId: string): ((query: Knex.QueryBuilder) => void) =>
  visible({ sql: '?', binding: caller.userId }, seriesId, 'series_sharing_tags')

/** The same predicate as text, for statements that are written by hand. Its bindings are {@link visibilityOf} the caller. */
export const visibleSql = (seriesId: string): string =>
  `NOT EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
     WHERE g.user_id = ? AND g.access_mode = 'deny' AND t.series_id = ${seriesId})
   AND (NOT EXISTS (SELECT 1 FROM user_sharing_grants g WHERE g.user_id = ? AND g.access_mode = 'allow')
     OR EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
       WHERE g.user_id = ? AND g.access_mode = 'allow' AND t.series_id = ${seriesId}))`

/** The bindings of {@link visibleSql}. */
export const visibilityOf = ({ userId }: Pick<Caller, 'userId'>): string[] => [userId, userId, userId]

/**
 * The same for users that the query names. @param userId the column that holds the user id
 * @param tags the table or expression (`series_id`, `sharing_tag_id`) that contains the tags of series
 */
export const visibleToUser = (userId: string, seriesId: string, tags: string): ((query: Knex.QueryBuilder) => void) =>
  visible({ sql: '??', binding: userId }, seriesId, tags)

function visible(user: { sql: '?' | '??'; binding: string }, seriesId: string, tags: string): (query: Knex.QueryBuilder) => void {
  const { sql, binding } = user
  return (query) => {
    query
      .whereRaw(
        `NOT EXISTS (SELECT 1 FROM user_sharing_grants g JOIN ?? t USING (sharing_tag_id)
           WHERE g.user_id = ${sql} AND g.access_mode = 'deny' AND t.series_id = ??)`,
        [tags, binding, seriesId],
      )
      .whereRaw(
        `(NOT EXISTS (SELECT 1 FROM user_sharing_grants g WHERE g.user_id = ${sql} AND g.access_mode = 'allow')
          OR EXISTS (SELECT 1 FROM user_sharing_grants g JOIN ?? t USING (sharing_tag_id)
            WHERE g.user_id = ${sql} AND g.access_mode = 'allow' AND t.series_id = ??))`,
        [binding, tags, binding, seriesId],
      )
  }
}

/** SQL that selects the series that have a tag which the user is granted in this mode. Its binding is the user. */
export const grantedSeries = (mode: 'allow' | 'deny'): string =>
  `SELECT t.series_id FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id) WHERE g.user_id = ? AND g.access_mode = '${mode}'`

/**
 * The same for lists, as one set of series instead of a search for each row.
 * @param grants of the caller, see core/catalog/list-state-query.ts; without any, nothing is added
 */
export const visibleInList = (caller: Pick<Caller, 'userId'>, grants: string, seriesId: string): ((query: Knex.QueryBuilder) => void) => {
  return (query) => {
    if (grants.includes('deny')) query.whereRaw(`?? NOT IN (${grantedSeries('deny')})`, [seriesId, caller.userId])
    if (grants.includes('allow')) query.whereRaw(`?? IN (${grantedSeries('allow')})`, [seriesId, caller.userId])
  }
}
