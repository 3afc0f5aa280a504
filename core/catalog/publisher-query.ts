import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { VALUE_LENGTH_MAX } from '#core/catalog/condition.ts'
import { HAS_BOOKS } from '#core/catalog/series-query.ts'

interface Publisher {
  /** As one of the series spells it; spellings that differ only in case and accents are one publisher, as in conditions. */
  name: string
  /** Only series that the caller may see. */
  seriesCount: number
}

/** One page of the publishers of series that the caller may see, by name. Skips names that are longer than a condition allows. */
export async function listPublishers(
  database: Knex,
  caller: Caller,
  list: { offset: number; limit: number },
): Promise<{ items: Publisher[]; total: number }> {
  const named = database('series')
    .join('series_metadata AS m', 'm.series_id', 'series.id')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .whereRaw(`trim(m.publisher) <> '' AND length(m.publisher) <= ?`, [VALUE_LENGTH_MAX])
    .groupByRaw('trim(m.publisher_fold)')
    .select(database.raw('min(trim(m.publisher)) AS name, count(*) AS series_count'))
  const [rows, counted] = await Promise.all([
    database
      .from(named.clone().as('named'))
      .select('*')
      .orderByRaw('name COLLATE carrel_natural, name')
      .offset(list.offset)
      .limit(list.limit) as Promise<{ name: string; series_count: string | number }[]>,
    database.from(named.clone().as('named')).count({ total: '*' }).first() as unknown as Promise<{ total: string | number }>,
  ])
  return { items: rows.map(({ name, series_count }) => ({ name, seriesCount: Number(series_count) })), total: Number(counted.total) }
}
