import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { VALUE_LENGTH_MAX } from '#core/catalog/list-condition.ts'
import { HAS_BOOKS } from '#core/catalog/series-query.ts'
import { countRows } from '#core/database/select.ts'

interface SeriesWord {
  /** As one of the series spells it; spellings that differ only in case and accents are one, as in conditions. */
  name: string
  /** Only series that the caller may see. */
  seriesCount: number
}

interface WordList {
  /** Part of the name, ignoring case and accents. */
  search?: string | undefined
  offset: number
  limit: number
}

/** The columns of series whose words are lists, with their folded text. */
const FOLDED = { publisher: 'm.publisher_fold', language: 'carrel_fold(m.language)' }

/** One page of the publishers or languages of series that the caller may see, by name. Skips names that are longer than a condition allows. */
export async function listSeriesWords(
  database: Knex,
  caller: Caller,
  of: keyof typeof FOLDED,
  list: WordList,
): Promise<{ items: SeriesWord[]; total: number }> {
  const folded = FOLDED[of]
  const named = database('series')
    .join('series_metadata AS m', 'm.series_id', 'series.id')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .whereRaw(`trim(m.${of}) <> '' AND length(m.${of}) <= ?`, [VALUE_LENGTH_MAX])
    .groupByRaw(`trim(${folded})`)
    .select(database.raw(`min(trim(m.${of})) AS name, count(*) AS series_count`))
  if (list.search) named.whereRaw(`${folded} LIKE '%' || carrel_pattern(?) || '%'`, [list.search])
  const [rows, total] = await Promise.all([
    database
      .from(named.clone().as('named'))
      .select('*')
      .orderByRaw('name COLLATE carrel_natural, name')
      .offset(list.offset)
      .limit(list.limit) as Promise<{ name: string; series_count: string | number }[]>,
    countRows(database.from(named.clone().as('named'))),
  ])
  return { items: rows.map(({ name, series_count }) => ({ name, seriesCount: Number(series_count) })), total }
}
