import type { Knex } from 'knex'
import { HIDERS, type Hider, type VisibleLibrary, type VisibleToUser } from '#core/account/access.ts'
import { hiddenByAge, readSight, type Sight, TAGGED, type Viewer, visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { numbersOf } from '#core/catalog/series-numbers-query.ts'
import { refuse } from '#core/foundation/errors.ts'

/**
 * How much a user sees of each library, and how much each kind of rule hides: existing books, and series that have some. What the caller does not see is
 * left out. Counts rows: for administrators, not for lists.
 * @param caller null: the operator at the command line, who sees all
 * @param seriesId one series whose rules are wanted
 * @throws not_found for a series that the caller does not see
 */
export async function readVisible(database: Knex, caller: Viewer | null, userId: string, seriesId?: string): Promise<VisibleToUser> {
  const sight = readSight((await readListState(database, { userId, narrowedBy: null })).sight)
  const [libraries, hiddenBy] = await Promise.all([
    countVisible(database, caller, sight),
    seriesId === undefined ? null : findHiders(database, caller, sight, seriesId),
  ])
  return {
    libraries,
    series: seriesId === undefined || hiddenBy === null ? null : { seriesId, isVisible: hiddenBy.length === 0, hiddenBy },
  }
}

type Numbers = Record<`${Hider | 'visible'}_${'series' | 'books'}`, number>

async function countVisible(database: Knex, caller: Viewer | null, sight: Sight): Promise<VisibleLibrary[]> {
  const hiders = hidersOf(sight)
  const each = database
    .from(database.raw(`series JOIN LATERAL ${numbersOf('series.id')} AS n ON n.book_count > 0`))
    .whereRaw('series.library_id = l.id')
    .select('n.book_count')
  if (caller) each.modify(visibleTo(caller, 'series.id'))
  for (const hider of HIDERS) each.select(database.raw(`${hiders[hider].sql} AS "${hider}"`, hiders[hider].bindings))
  const counted = [
    ['visible', `NOT (${HIDERS.map((hider) => `one."${hider}"`).join(' OR ')})`],
    ...HIDERS.map((hider) => [hider, `one."${hider}"`]),
  ]
  const numbers = counted.map(
    ([name, which]) =>
      `(count(*) FILTER (WHERE ${which}))::int AS "${name}_series", (coalesce(sum(one.book_count) FILTER (WHERE ${which}), 0))::int AS "${name}_books"`,
  )
  const libraries = database.from(database.raw('libraries AS l LEFT JOIN LATERAL ? AS one ON true', [each]))
  if (caller) libraries.modify(visibleLibrary(caller, 'l.id'))
  const rows: (Numbers & { id: string; name: string })[] = await libraries
    .groupBy('l.id')
    .orderByRaw('lower(l.name), l.id')
    .select('l.id', 'l.name', database.raw(numbers.join(', ')))
  return rows.map((row) => {
    const of = (hider: Hider | 'visible') => ({ series: row[`${hider}_series`], books: row[`${hider}_books`] })
    return {
      libraryId: row.id,
      libraryName: row.name,
      isVisible: sight.tags !== null && (sight.libraries?.includes(row.id) ?? true),
      visible: of('visible'),
      hidden: { account: of('account'), library: of('library'), age: of('age'), tag: of('tag') },
    }
  })
}

async function findHiders(database: Knex, caller: Viewer | null, sight: Sight, seriesId: string): Promise<Hider[]> {
  const hiders = hidersOf(sight)
  const query = database('series').where('series.id', seriesId)
  if (caller) query.modify(visibleTo(caller, 'series.id'))
  for (const hider of HIDERS) query.select(database.raw(`${hiders[hider].sql} AS "${hider}"`, hiders[hider].bindings))
  const row: Record<Hider, boolean> | undefined = await query.first()
  if (row === undefined) refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
  return HIDERS.filter((hider) => row[hider])
}

/** SQL of "this rule hides `series`" for each kind of rule. */
function hidersOf(sight: Sight): Record<Hider, { sql: string; bindings: (number | string[])[] }> {
  const { tags, libraries, hiddenFrom } = sight
  const never = { sql: 'false', bindings: [] }
  const byAge = hiddenByAge(sight, 'series.id')
  const byTag = [
    ...(tags?.deny.length ? [{ sql: `series.id IN (${TAGGED})`, bindings: [[...tags.deny]] }] : []),
    ...(tags?.allow.length ? [{ sql: `series.id NOT IN (${TAGGED})`, bindings: [[...tags.allow]] }] : []),
  ]
  return {
    account: tags === null ? { sql: 'true', bindings: [] } : never,
    library: libraries === null ? never : { sql: 'series.library_id <> ALL(CAST(? AS uuid[]))', bindings: [[...libraries]] },
    age: byAge === null || hiddenFrom === null ? never : { sql: byAge, bindings: [hiddenFrom] },
    tag:
      byTag.length === 0 ? never : { sql: byTag.map(({ sql }) => sql).join(' OR '), bindings: byTag.flatMap(({ bindings }) => bindings) },
  }
}
