import type { Knex } from 'knex'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { asUser, visibleTo } from '#core/account/visibility.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import type { Taxonomy } from '#core/metadata/taxonomy-store.ts'

/** A genre or tag; `seriesCount` is how many series that the caller may see have it. */
export interface Named {
  id: string
  name: string
  createdAt: string
  seriesCount: number
}

interface NamedRow {
  id: string
  name: string
  created_at: Date
  series_count: string | number
}

const namedOf = (row: NamedRow): Named => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at.toISOString(),
  seriesCount: Number(row.series_count),
})

function countSeries(database: Knex, caller: Caller, taxonomy: Taxonomy): Knex.QueryBuilder {
  return database(`series_${taxonomy}s AS c`)
    .whereRaw(`c.${taxonomy}_id = n.id`)
    .modify(visibleTo(caller, 'c.series_id'))
    .count()
    .as('series_count')
}

/** Genres or tags of books and series that the caller may see, by name; administrators also see unused ones. */
export async function listNames(
  database: Knex,
  caller: Caller,
  list: { taxonomy: Taxonomy; offset: number; limit: number },
): Promise<{ items: Named[]; total: number }> {
  const { taxonomy } = list
  const matching = database(`${taxonomy}s AS n`).modify(asUser(caller))
  if (!isAdministrator(caller)) {
    // A name that only hidden books or series have would reveal them.
    matching.where((either) =>
      either
        .whereExists(
          database(`series_${taxonomy}s AS j`)
            .whereRaw(`j.${taxonomy}_id = n.id`)
            .modify(visibleTo(caller, 'j.series_id'))
            .select(database.raw('1')),
        )
        .orWhereExists(
          database(`book_${taxonomy}s AS j`)
            .join('books', 'books.id', 'j.book_id')
            .whereRaw(`j.${taxonomy}_id = n.id`)
            .modify(visibleTo(caller, 'books.series_id'))
            .select(database.raw('1')),
        ),
    )
  }
  const [rows, counted] = await Promise.all([
    matching
      .clone()
      .select('n.id', 'n.name', 'n.created_at', countSeries(database, caller, taxonomy))
      .orderByRaw('n.name COLLATE carrel_natural, n.id')
      .offset(list.offset)
      .limit(list.limit) as Promise<NamedRow[]>,
    matching.clone().count({ total: '*' }).first(),
  ])
  return { items: rows.map(namedOf), total: Number(counted?.['total']) }
}

/** The genres or tags of books or series, by name. The calling function has checked that they are visible. */
export async function listNamesOf(
  database: Knex,
  caller: Caller,
  of: { taxonomy: Taxonomy; kind: Kind; ids: readonly string[] },
): Promise<Map<string, Named[]>> {
  const { taxonomy, kind } = of
  const carried = () => database(`${kind}_${taxonomy}s AS j`).whereRaw(`j.${kind}_id = ANY(CAST(? AS uuid[]))`, [[...of.ids]])
  // Each name once: five hundred series with the same five hundred tags must not be counted a quarter of a million times.
  const names = (await database(`${taxonomy}s AS n`)
    .whereIn('n.id', carried().select(`j.${taxonomy}_id`))
    .select('n.id', 'n.name', 'n.created_at', countSeries(database, caller, taxonomy))
    .orderByRaw('n.name COLLATE carrel_natural, n.id')) as NamedRow[]
  if (names.length === 0) return new Map()
  const indexes = new Map(names.map(({ id }, index) => [id, index]))
  const named = names.map(namedOf)
  const rows = (await carried()
    .groupBy(`j.${kind}_id`)
    .select(`j.${kind}_id AS record_id`, database.raw(`array_agg(j.${taxonomy}_id) AS names`))) as {
    record_id: string
    names: string[]
  }[]
  return new Map(
    rows.map(({ record_id, names }) => [
      record_id,
      // A name that was added between the two statements is left out.
      names
        .flatMap((id) => indexes.get(id) ?? [])
        .sort((a, b) => a - b)
        .flatMap((index) => named[index] ?? []),
    ]),
  )
}
