import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { entriesOf, type FactName, type Facts, type GivenFact, type Givers } from '#core/matching/fact.ts'
import type { Giver } from '#core/metadata/field.ts'
import type { Kind } from '#core/metadata/metadata-record-store.ts'
import { nameKey } from '#core/metadata/name.ts'
import { replaceNames } from '#core/metadata/taxonomy-store.ts'

/** All facts of one record and who gave them, the keys of tags that a person took from it, and whether a cover is chosen for it. */
export interface KnownFacts {
  facts: Facts
  givers: Record<FactName, Givers>
  removedTags: string[]
  hasChosenCover: boolean
}

export async function readFacts(trx: Knex, kind: Kind, id: string): Promise<KnownFacts> {
  const named = (name: 'genre' | 'tag', value: string) =>
    `coalesce((SELECT jsonb_agg(${value} ORDER BY n.name_key COLLATE "C") FROM ${kind}_${name}s j JOIN ${name}s n ON n.id = j.${name}_id WHERE j.${kind}_id = :id), '[]')`
  const bySource = (table: string, value: string) =>
    `coalesce((SELECT jsonb_object_agg(f.source, ${value}) FROM ${kind}_${table} f WHERE f.${kind}_id = :id), '{}')`
  const ofSeries = (sql: string, empty: string) => (kind === 'series' ? sql : `'${empty}'::jsonb`)
  const titles = (value: string) =>
    ofSeries(
      `coalesce((SELECT jsonb_agg(${value} ORDER BY a.created_at, a.id) FROM series_alternate_titles a WHERE a.series_id = :id), '[]')`,
      '[]',
    )
  const by = (table: string) => bySource(table, 'f.given_by')
  const { rows } = await trx.raw(
    `SELECT ${named('genre', 'n.name')} AS genres, ${named('tag', 'n.name')} AS tags,
       ${bySource('external_ids', `jsonb_build_object('externalId', f.external_id, 'externalUrl', f.external_url)`)} AS "externalIds",
       ${bySource('external_links', 'f.url')} AS "externalLinks",
       ${titles(`jsonb_build_object('label', a.label, 'title', a.title)`)} AS "alternateTitles",
       ${ofSeries(bySource('external_ratings', `jsonb_build_object('rating', f.rating, 'voteCount', f.vote_count)`), '{}')} AS "externalRatings",
       jsonb_build_object('genres', ${named('genre', 'j.given_by')}, 'tags', ${named('tag', 'j.given_by')}, 'alternateTitles', ${titles('a.given_by')},
         'externalIds', ${by('external_ids')}, 'externalLinks', ${by('external_links')}, 'externalRatings', ${ofSeries(by('external_ratings'), '{}')}) AS by,
       ${kind === 'book' ? `coalesce((SELECT removed_tags FROM book_metadata WHERE book_id = :id), '{}')` : `CAST('{}' AS text[])`} AS "removedTags",
       EXISTS (SELECT 1 FROM covers c WHERE c.${kind}_id = :id AND c.is_selected) AS "hasChosenCover"`,
    { id },
  )
  const [{ hasChosenCover, removedTags, by: given, ...facts }] = rows as [
    Facts & Omit<KnownFacts, 'facts' | 'givers'> & { by: Record<FactName, Giver[] | Record<string, Giver>> },
  ]
  const names = Object.keys(facts) as FactName[]
  const givers = Object.fromEntries(names.map((name) => [name, giversOf(name, facts[name], given[name])])) as KnownFacts['givers']
  return { facts, givers, removedTags, hasChosenCover }
}

/** Lists of givers have the order of the entries. */
function giversOf(name: FactName, value: Facts[FactName], given: Giver[] | Record<string, Giver>): Givers {
  if (!Array.isArray(given)) return given
  return Object.fromEntries(entriesOf(name, value).map(([key], index) => [key, given[index] as Giver]))
}

/** Makes a fact what it should be: adds what is new, changes what is different or given by somebody else, and takes away what is not in it. */
export async function writeFact<Name extends FactName>(
  trx: Knex,
  kind: Kind,
  change: { id: string; name: Name; before: GivenFact<Name>; after: GivenFact<Name> },
): Promise<void> {
  const { id, name, before, after } = change
  if (name === 'genres' || name === 'tags') {
    const names = (after.value as string[]).map((one) => ({ name: one, giver: after.givers[nameKey(one)] ?? 'user' }))
    await replaceNames(trx, { taxonomy: name === 'genres' ? 'genre' : 'tag', bearer: kind, bearerId: id, names })
    return
  }
  const had = new Map(entriesOf(name, before.value))
  const has = new Map(entriesOf(name, after.value))
  const gone = [...had].filter(([key]) => !has.has(key))
  const changed = [...has].filter(
    ([key, value]) => !isDeepStrictEqual(had.get(key), value) || before.givers[key] !== after.givers[key],
  ) as [string, never][]
  if (name === 'alternateTitles')
    await writeTitles(
      trx,
      id,
      gone.map(([, one]) => one as Title),
      changed.map(([key, one]) => ({ ...(one as Title), given_by: after.givers[key] as Giver, known: had.has(key) })),
    )
  else
    await writeBySource(
      trx,
      { table: `${kind}_${TABLES[name as keyof typeof TABLES]}`, owner: `${kind}_id`, id },
      {
        gone: gone.map(([source]) => source),
        rows: changed.map(([source, value]) => ({
          source,
          ...COLUMNS[name as keyof typeof TABLES](value),
          given_by: after.givers[source],
        })),
      },
    )
}

type Title = Facts['alternateTitles'][number]

async function writeTitles(
  trx: Knex,
  seriesId: string,
  gone: readonly Title[],
  changed: readonly (Title & { given_by: Giver; known: boolean })[],
): Promise<void> {
  const pairs = (titles: readonly Title[]) => [titles.map(({ label }) => label), titles.map(({ title }) => title)]
  // One statement for all: each rebuilds what the series and its books are found by.
  if (gone.length > 0)
    await trx.raw(
      `DELETE FROM series_alternate_titles WHERE series_id = ?
       AND (label, title) IN (SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[])))`,
      [seriesId, ...pairs(gone)],
    )
  const known = changed.filter((one) => one.known)
  if (known.length > 0)
    await trx.raw(
      `UPDATE series_alternate_titles a SET given_by = g.by FROM unnest(CAST(? AS text[]), CAST(? AS text[]), CAST(? AS text[])) AS g (label, title, by)
       WHERE a.series_id = ? AND a.label = g.label AND a.title = g.title`,
      [...pairs(known), known.map(({ given_by }) => given_by), seriesId],
    )
  const added = changed.filter((one) => !one.known).map(({ known: _, ...row }) => ({ series_id: seriesId, ...row }))
  if (added.length > 0) await trx('series_alternate_titles').insert(added)
}

const TABLES = { externalIds: 'external_ids', externalLinks: 'external_links', externalRatings: 'external_ratings' } as const
/** The columns of one row beside its owner and source. */
const COLUMNS: Record<keyof typeof TABLES, (value: never) => Record<string, unknown>> = {
  externalIds: (value: Facts['externalIds'][string]) => ({ external_id: value.externalId, external_url: value.externalUrl }),
  externalLinks: (url: string) => ({ url }),
  externalRatings: (value: Facts['externalRatings'][string]) => ({ rating: value.rating, vote_count: value.voteCount }),
}

async function writeBySource(
  trx: Knex,
  { table, owner, id }: { table: string; owner: string; id: string },
  { gone, rows }: { gone: readonly string[]; rows: readonly Record<string, unknown>[] },
): Promise<void> {
  if (gone.length > 0)
    await trx(table)
      .where(owner, id)
      .whereIn('source', [...gone])
      .delete()
  const [first] = rows
  if (!first) return
  const { source: _, ...columns } = first
  await trx(table)
    .insert(rows.map((row) => ({ [owner]: id, ...row })))
    .onConflict([owner, 'source'])
    .merge(Object.keys(columns))
}
