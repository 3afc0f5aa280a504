import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'

/** Who sees: a user, and the API key that they use, which may see less than they do. */
export type Viewer = Pick<Caller, 'userId' | 'narrowedBy'>

/**
 * SQL of "this is an active user". Without that nobody sees anything: an account that was deleted or disabled while its request was read has no
 * grants, and would otherwise see all.
 */
const isActive = (user: string) => `EXISTS (SELECT 1 FROM users viewer WHERE viewer.id = ${user} AND viewer.is_active)`

/** SQL of "the viewer is an active user, and the key still exists": one that was deleted has taken its rule along. */
const isThere = ({ user, key }: ViewerSql) =>
  `${isActive(user)} AND (coalesce(${key} = ${user}, true) OR EXISTS (SELECT 1 FROM api_keys k WHERE k.id = ${key}))`

/** SQL of whether a rule `r` is one of the viewer's: of the user or of the key. */
const isOf = ({ user, key }: ViewerSql) => `r.viewer_id IN (${user}, ${key})`

/** The viewer in a statement: the names of two columns, or marks that are replaced by bindings. Without a key, that is null or the user. */
interface ViewerSql {
  user: string
  key: string
}

/** SQL of the rules with a list of libraries. */
const lists = (viewer: ViewerSql) => `access_rules r WHERE ${isOf(viewer)} AND NOT r.all_libraries`

/** SQL that selects the libraries of the lists. Of a user and a key, both lists must contain one. */
const listed = (viewer: ViewerSql) =>
  `SELECT l.library_id FROM access_libraries l WHERE l.viewer_id IN (SELECT r.viewer_id FROM ${lists(viewer)})
      GROUP BY l.library_id HAVING count(*) = (SELECT count(*) FROM ${lists(viewer)})`

/** SQL of "no list of libraries leaves out this one". */
const inLibraries = (viewer: ViewerSql, library: string) =>
  `(NOT EXISTS (SELECT 1 FROM ${lists(viewer)}) OR ${library} IN (${listed(viewer)}))`

/** SQL of "no age rule hides this age". Of two rules the stricter one counts. */
const ofAge = (viewer: ViewerSql, age: string) => {
  const rules = `FROM access_rules r WHERE ${isOf(viewer)} AND r.hidden_from IS NOT NULL`
  return `(NOT EXISTS (SELECT 1 ${rules})
    OR coalesce(${age} < (SELECT min(r.hidden_from) ${rules}), (SELECT bool_and(r.shows_unrated) ${rules})))`
}

const MARKED = { user: '@user', key: '@key' }
const MARKS = /@user|@key/g

/** A text with marks as a statement. */
const unmarked = (sql: string): string => sql.replace(MARKS, '?')

/** The bindings of a text with marks. */
const bindingsOf = (sql: string, { userId, narrowedBy }: Viewer): string[] =>
  (sql.match(MARKS) ?? []).map((mark) => (mark === MARKED.user ? userId : (narrowedBy ?? userId)))

/** Tables that contain both ids of a series' library; for other columns the library is looked up. */
const LIBRARY = /^(books|series)\.(series_)?id$/

/** SQL of the whole predicate with marks. Deny wins over allow; a user with any allow grant sees only series that have an allowed tag. */
function markedSql(seriesId: string): string {
  const library = LIBRARY.test(seriesId)
    ? `${seriesId.split('.')[0]}.library_id`
    : `(SELECT of_library.library_id FROM series of_library WHERE of_library.id = ${seriesId})`
  const age = `(SELECT of_age.age_rating FROM series_metadata of_age WHERE of_age.series_id = ${seriesId})`
  const granted = (mode: 'allow' | 'deny') => `FROM user_sharing_grants g JOIN series_sharing_tags t USING (sharing_tag_id)
      WHERE g.user_id = ${MARKED.user} AND g.access_mode = '${mode}' AND t.series_id = ${seriesId}`
  return `${isThere(MARKED)}
   AND ${inLibraries(MARKED, library)}
   AND ${ofAge(MARKED, age)}
   AND NOT EXISTS (SELECT 1 ${granted('deny')})
   AND (NOT EXISTS (SELECT 1 FROM user_sharing_grants g WHERE g.user_id = ${MARKED.user} AND g.access_mode = 'allow')
     OR EXISTS (SELECT 1 ${granted('allow')}))`
}

/** The predicate as text, for statements that are written by hand. Its bindings are {@link visibilityOf} the caller. */
export const visibleSql = (seriesId: string): string => unmarked(markedSql(seriesId))

/** The bindings of {@link visibleSql}. */
export const visibilityOf = (viewer: Viewer): string[] => bindingsOf(markedSql('series.id'), viewer)

/**
 * The one predicate for who sees what: adds "this series is visible to the caller" to a query: the account is active, the series is in one of its
 * libraries, no age rule hides it, no tag is denied, and one is allowed if any is.
 * @param seriesId the column that holds the series id, such as `series.id` or `books.series_id`
 */
export const visibleTo =
  (viewer: Viewer, seriesId: string): ((query: Knex.QueryBuilder) => void) =>
  (query) =>
    query.whereRaw(visibleSql(seriesId), visibilityOf(viewer))

/** Adds to a query that names libraries that the caller sees this one, whatever is in it. @param libraryId the column that holds its id */
export const visibleLibrary = (viewer: Viewer, libraryId: string): ((query: Knex.QueryBuilder) => void) => {
  const sql = `${isThere(MARKED)} AND ${inLibraries(MARKED, libraryId)}`
  return (query) => query.whereRaw(unmarked(sql), bindingsOf(sql, viewer))
}

/** Adds to a query of what every user may see that the caller is one. */
export const asUser =
  ({ userId }: Pick<Viewer, 'userId'>): ((query: Knex.QueryBuilder) => void) =>
  (query) =>
    query.whereRaw(isActive('?'), [userId])

/** Tells viewers apart whose answers may differ, in the key of what is remembered or read together. */
export const viewerKey = ({ userId, narrowedBy }: Viewer): string => (narrowedBy === null ? userId : `${userId} ${narrowedBy}`)

/** What a viewer sees, by all rules together: the user's and the key's. */
export interface Sight {
  /** Null for somebody who is not an active user, and sees nothing. */
  tags: { allow: readonly string[]; deny: readonly string[] } | null
  /** Null: all. */
  libraries: readonly string[] | null
  /** The age from which on series are hidden; null: none. */
  hiddenFrom: number | null
  showsUnrated: boolean
}

/** In place of the sight of somebody who is not an active user. */
const NO_USER = 'nobody'

/** The viewer `asked` (`id`, `key_id`), whose row in `users` is found only for an active user. */
const ASKED = { user: 'users.id', key: 'coalesce(asked.key_id, users.id)' }

/** SQL of the sight of that viewer as text: equal for viewers who see the same series, and empty for those who see all. {@link readSight} reads it. */
export const SIGHT = `CASE WHEN users.id IS NULL OR (asked.key_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id = asked.key_id))
    THEN '${NO_USER}' ELSE coalesce((
    SELECT json_build_object('tags', tags.granted, 'libraries', rule.libraries, 'hiddenFrom', rule.hidden_from, 'showsUnrated', rule.shows_unrated)
    FROM (SELECT json_agg(json_build_array(access_mode, sharing_tag_id) ORDER BY access_mode, sharing_tag_id) AS granted
        FROM user_sharing_grants WHERE user_id = users.id) AS tags
      CROSS JOIN (SELECT min(r.hidden_from) AS hidden_from, bool_and(r.shows_unrated) FILTER (WHERE r.hidden_from IS NOT NULL) AS shows_unrated,
          CASE WHEN coalesce(bool_and(r.all_libraries), true) THEN NULL ELSE ARRAY(${listed(ASKED)} ORDER BY l.library_id) END AS libraries
        FROM access_rules r WHERE ${isOf(ASKED)}) AS rule
    WHERE tags.granted IS NOT NULL OR rule.hidden_from IS NOT NULL OR rule.libraries IS NOT NULL)::text, '') END`

const SEES_ALL: Sight = { tags: { allow: [], deny: [] }, libraries: null, hiddenFrom: null, showsUnrated: true }

/** @param text of {@link SIGHT} */
export function readSight(text: string): Sight {
  if (text === '') return SEES_ALL
  if (text === NO_USER) return { ...SEES_ALL, tags: null }
  const { tags, libraries, hiddenFrom, showsUnrated } = JSON.parse(text)
  const granted = (mode: string): string[] => (tags ?? []).flatMap(([of, id]: [string, string]) => (of === mode ? [id] : []))
  return { tags: { allow: granted('allow'), deny: granted('deny') }, libraries, hiddenFrom, showsUnrated: showsUnrated ?? true }
}

/** SQL that selects the series that have one of some tags. Its binding is the tags. */
export const TAGGED = 'SELECT t.series_id FROM series_sharing_tags t WHERE t.sharing_tag_id = ANY(CAST(? AS uuid[]))'

/** SQL of "the age rule hides this series"; null without one. Its binding is the age. */
export const hiddenByAge = ({ hiddenFrom, showsUnrated }: Sight, seriesId: string): string | null => {
  if (hiddenFrom === null) return null
  const rated = `EXISTS (SELECT 1 FROM series_metadata m WHERE m.series_id = ${seriesId} AND m.age_rating`
  return showsUnrated ? `${rated} >= ?)` : `NOT ${rated} < ?)`
}

/**
 * The same for lists, as sets of libraries and series instead of a search for each row. It depends on the sight alone, so that what is remembered for a
 * sight is true for it even if rules change meanwhile.
 * @param table that has the columns: of the list, or the documents of books in which is searched
 */
export const visibleInList =
  (sight: Sight, table: 'books' | 'book_search' | 'series'): ((query: Knex.QueryBuilder) => void) =>
  (query) => {
    for (const { sql, bindings } of conditionsOf(sight, table)) query.whereRaw(sql, bindings)
  }

/** Whether somebody with this sight sees everything. */
export const seesAll = (sight: Sight): boolean => conditionsOf(sight, 'series').length === 0

/** The same for passing many books in their order: each is looked up in one set of series. */
export const visibleInWalk = (sight: Sight): ((query: Knex.QueryBuilder) => void) => {
  const conditions = conditionsOf(sight, 'series')
  const series = `SELECT series.id FROM series WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`
  // "IS TRUE" keeps it a set: the planner would join it, and sort all rows after that.
  return (query) =>
    query.whereRaw(
      `(books.series_id IN (${series})) IS TRUE`,
      conditions.flatMap(({ bindings }) => bindings),
    )
}

/**
 * An array that the planner sees tells it how many rows are of these libraries: a million books need that. For series it would make the planner plan each
 * page anew, which takes longer than to read it.
 */
const LIBRARIES = {
  books: 'CAST(? AS uuid[])',
  book_search: 'CAST(? AS uuid[])',
  series: 'CAST((SELECT CAST(? AS uuid[])) AS uuid[])',
} as const

function conditionsOf(sight: Sight, table: 'books' | 'book_search' | 'series'): { sql: string; bindings: (number | string[])[] }[] {
  const { tags, libraries, hiddenFrom } = sight
  if (tags === null) return [{ sql: 'false', bindings: [] }]
  const seriesId = table === 'series' ? 'series.id' : `${table}.series_id`
  const hidden = hiddenByAge(sight, seriesId)
  return [
    ...(libraries ? [{ sql: `${table}.library_id = ANY(${LIBRARIES[table]})`, bindings: [[...libraries]] }] : []),
    ...(hidden !== null && hiddenFrom !== null ? [{ sql: `NOT ${hidden}`, bindings: [hiddenFrom] }] : []),
    ...(tags.deny.length > 0 ? [{ sql: `${seriesId} NOT IN (${TAGGED})`, bindings: [[...tags.deny]] }] : []),
    ...(tags.allow.length > 0 ? [{ sql: `${seriesId} IN (${TAGGED})`, bindings: [[...tags.allow]] }] : []),
  ]
}
