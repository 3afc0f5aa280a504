import type { Knex } from 'knex'
import type { FactName, Facts } from '#core/match/proposal.ts'
import type { Kind } from '#core/metadata/holding-store.ts'
import { setNames } from '#core/taxonomy/taxonomy-store.ts'

/** All facts of one record, and whether a cover is chosen for it. */
export async function readFacts(trx: Knex, kind: Kind, id: string): Promise<{ facts: Facts; hasChosenCover: boolean }> {
  const named = (name: 'genre' | 'tag') =>
    `coalesce((SELECT jsonb_agg(n.name ORDER BY n.name_key COLLATE "C") FROM ${kind}_${name}s j JOIN ${name}s n ON n.id = j.${name}_id WHERE j.${kind}_id = :id), '[]')`
  const bySource = (table: string, value: string) =>
    `coalesce((SELECT jsonb_object_agg(f.source, ${value}) FROM ${kind}_${table} f WHERE f.${kind}_id = :id), '{}')`
  const ofSeries = (sql: string, empty: string) => (kind === 'series' ? sql : `'${empty}'::jsonb`)
  const { rows } = await trx.raw(
    `SELECT ${named('genre')} AS genres, ${named('tag')} AS tags,
       ${bySource('external_ids', `jsonb_build_object('externalId', f.external_id, 'externalUrl', f.external_url)`)} AS "externalIds",
       ${bySource('external_links', 'f.url')} AS "externalLinks",
       ${ofSeries(`coalesce((SELECT jsonb_agg(jsonb_build_object('label', a.label, 'title', a.title) ORDER BY a.created_at, a.id) FROM series_alternate_titles a WHERE a.series_id = :id), '[]')`, '[]')} AS "alternateTitles",
       ${ofSeries(bySource('external_ratings', `jsonb_build_object('rating', f.rating, 'voteCount', f.vote_count)`), '{}')} AS "externalRatings",
       EXISTS (SELECT 1 FROM covers c WHERE c.${kind}_id = :id AND c.is_selected) AS "hasChosenCover"`,
    { id },
  )
  const [{ hasChosenCover, ...facts }] = rows as [Facts & { hasChosenCover: boolean }]
  return { facts, hasChosenCover }
}

/** Makes a fact what it should be: adds what is new, changes what is different and takes away what is not in it. */
export async function writeFact<Name extends FactName>(
  trx: Knex,
  kind: Kind,
  change: { id: string; name: Name; before: Facts[Name]; after: Facts[Name] },
): Promise<void> {
  const { id, name } = change
  if (name === 'genres' || name === 'tags') {
    const names = change.after as string[]
    await setNames(trx, { taxonomy: name === 'genres' ? 'genre' : 'tag', bearer: kind, bearerId: id, names })
  } else if (name === 'alternateTitles') {
    await writeTitles(trx, id, change.before as Facts['alternateTitles'], change.after as Facts['alternateTitles'])
  } else await writeBySource(trx, { kind, id, name }, change.before as object, change.after as object)
}

async function writeTitles(trx: Knex, seriesId: string, before: Facts['alternateTitles'], after: Facts['alternateTitles']): Promise<void> {
  const keyOf = ({ label, title }: Facts['alternateTitles'][number]) => `${label}\0${title}`
  const [had, has] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))]
  const gone = before.filter((one) => !has.has(keyOf(one)))
  // One statement for all: each rebuilds what the series and its books are found by.
  if (gone.length > 0)
    await trx.raw(
      `DELETE FROM series_alternate_titles WHERE series_id = ?
       AND (label, title) IN (SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[])))`,
      [seriesId, gone.map(({ label }) => label), gone.map(({ title }) => title)],
    )
  const added = after.filter((one) => !had.has(keyOf(one)))
  if (added.length > 0) await trx('series_alternate_titles').insert(added.map((one) => ({ series_id: seriesId, ...one })))
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
  { kind, id, name }: { kind: Kind; id: string; name: keyof typeof TABLES },
  before: object,
  after: object,
): Promise<void> {
  const table = `${kind}_${TABLES[name]}`
  const owner = `${kind}_id`
  const gone = Object.keys(before).filter((source) => !Object.hasOwn(after, source))
  if (gone.length > 0) await trx(table).where(owner, id).whereIn('source', gone).delete()
  const rows = Object.entries(after).map(([source, value]) => ({ [owner]: id, source, ...COLUMNS[name](value as never) }))
  if (rows.length > 0)
    await trx(table)
      .insert(rows)
      .onConflict([owner, 'source'])
      .merge([...Object.keys(COLUMNS[name](Object.values(after)[0] as never))])
}
