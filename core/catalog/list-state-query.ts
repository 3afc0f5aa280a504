import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { SIGHT, type Viewer, viewerKey } from '#core/account/visibility.ts'
import { prepared } from '#core/database/prepared.ts'
import { readTogether } from '#core/database/read-together.ts'
import { select } from '#core/database/select.ts'
import { besideRequests, currentScope } from '#core/database/statement-scope.ts'
import { addUpKeptNumbers } from '#core/paging/kept-number-store.ts'
import type { ListState } from '#core/paging/list-state.ts'

/** To add up more of them costs each request more than their removal costs once. */
const DIFFERENCES_MAX = 200

/** SQL of the sum of some kept numbers. @param where without alias; bindings occur twice */
export const keptSum = (where: string): string =>
  `(coalesce((SELECT sum(value) FROM kept_numbers WHERE ${where}), 0) + coalesce((SELECT sum(delta) FROM kept_number_changes WHERE ${where}), 0))`

/** SQL of the versions in {@link ListState}. The own version has the id of the user as its binding, twice. */
export const CATALOG_VERSION = keptSum(`kind = 'catalog'`)
export const AVERAGES_VERSION = keptSum(`kind = 'averages'`)
export const OWN_VERSION = keptSum(`kind = 'user' AND key = ?`)

/** Its binding is keys of viewers, in a subquery: PostgreSQL would plan the statement anew for each array whose length it knows. */
const STATES = `
  SELECT viewer AS id, ${CATALOG_VERSION}::text AS catalog, ${keptSum(`kind = 'user' AND key = asked.id`)}::text AS own,
    ${AVERAGES_VERSION}::text AS averages,
    (SELECT count(*) FROM (SELECT FROM kept_number_changes LIMIT ${DIFFERENCES_MAX + 1}) AS seen)::int AS differences,
    ${SIGHT} AS sight
  FROM (SELECT viewer, CAST(split_part(viewer, ' ', 1) AS uuid) AS id, CAST(nullif(split_part(viewer, ' ', 2), '') AS uuid) AS key_id
      FROM unnest((SELECT CAST(? AS text[]))) AS viewer) AS asked LEFT JOIN users ON users.id = asked.id AND users.is_active`

interface StateRow {
  id: string
  catalog: string
  own: string
  averages: string
  differences: number
  sight: string
}

/** If it fails, requests only read more rows. */
const addUpSoon = besideRequests(addUpKeptNumbers)

export async function readListState(database: Knex, viewer: Viewer): Promise<ListState> {
  const row = await readTogether(database, 'list state', viewerKey(viewer), (ids) =>
    select<StateRow>(prepared(database.raw(STATES, [ids]))),
  )
  const { catalog, own, averages, differences, sight } = row as StateRow
  if (differences > DIFFERENCES_MAX) addUpSoon(database)
  return { catalog, own, averages, sight }
}

/**
 * The key of the anchors of a list in one order; undefined for an order that changes by itself.
 * @param list.total of the filter and the state of the data
 * @param list.isOwn whether the order is by what belongs to the caller
 * @param list.isAverage whether the order is by averages of ratings
 */
export function orderKey(
  caller: Caller,
  state: ListState,
  list: { total: string; sort: { field: string; direction: string }; isOwn: boolean; isAverage?: boolean },
): string | undefined {
  const { total, sort, isOwn, isAverage = false } = list
  if (sort.field === 'shuffled') return undefined
  const own = isOwn ? [state.own, caller.userId, progressUserId(caller)] : []
  return JSON.stringify([sort.field, sort.direction, ...own, ...(isAverage ? [state.averages] : []), total])
}

/** Says that the current request depends on averages: code that reads them calls it, so that an answer is remembered until they change. */
export function noteAverages(): void {
  const scope = currentScope()
  if (scope) scope.readsAverages = true
}

/** Whether the current request depends on averages. */
export const readsAverages = (): boolean => currentScope()?.readsAverages === true
