import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'

/**
 * SQL of "this is an active user". Without that nobody sees anything: an account that was deleted or disabled while its request was read has no
 * grants, and would otherwise see all.
 */
const isActive = (user: string) => `EXISTS (SELECT 1 FROM users viewer WHERE viewer.id = ${user} AND viewer.is_active)`

/** Adds to a query of what every user may see that the caller is one. */
export const asUser =
  ({ userId }: Pick<Caller, 'userId'>): ((query: Knex.QueryBuilder) => void) =>
  (query) =>
    query.whereRaw(isActive('?'), [userId])

/** In place of the grants of somebody who is not an active user, and sees nothing. It contains no name of a mode. */
export const NO_USER = 'nobody'

/**
 * The one predicate for who sees what: adds "this series is visible to the caller" to a query.
 * Deny wins over allow; a user with any allow grant sees only series that have an allowed tag; an active user without grants sees all.
 * @param seriesId the column that holds the series id, such as `series.id` or `books.series_id`
 */
export const visibleTo = (caller: Pick<Caller, 'userId'>, seriesId: string): ((query: Knex.QueryBuilder) => void) =>
  visible({ sql: '?', binding: caller.userId }, seriesId, 'series_sharing_tags')

/** The same predicate as text, for statements that are written by hand. Its bindings are {@link visibilityOf} the caller. */
export const visibleSql = (seriesId: string): string =>
  `${isActive('?')}
   AND NOT EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
     WHERE g.user_id = ? AND g.access_mode = 'deny' AND t.series_id = ${seriesId})
   AND (NOT EXISTS (SELECT 1 FROM user_sharing_grants g WHERE g.user_id = ? AND g.access_mode = 'allow')
     OR EXISTS (SELECT 1 FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
       WHERE g.user_id = ? AND g.access_mode = 'allow' AND t.series_id = ${seriesId}))`

/** The bindings of {@link visibleSql}. */
export const visibilityOf = ({ userId }: Pick<Caller, 'userId'>): string[] => [userId, userId, userId, userId]

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
      .whereRaw(isActive(sql), [binding])
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
 * @param grants of the caller, see core/catalog/list-state-query.ts; an active user without any sees all
 */
export const visibleInList = (caller: Pick<Caller, 'userId'>, grants: string, seriesId: string): ((query: Knex.QueryBuilder) => void) => {
  return (query) => {
    if (grants === NO_USER) query.whereRaw('false')
    if (grants.includes('deny')) query.whereRaw(`?? NOT IN (${grantedSeries('deny')})`, [seriesId, caller.userId])
    if (grants.includes('allow')) query.whereRaw(`?? IN (${grantedSeries('allow')})`, [seriesId, caller.userId])
  }
}
