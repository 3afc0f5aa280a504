import type { Knex } from 'knex'
import type { Rules } from '#core/conditions/rules.ts'
import { announce } from '#core/events/event-store.ts'
import type { Author } from '#core/fields/field.ts'
import { sortTitleOf } from '#core/fields/sort-title.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { placeKey, type SeriesPlace } from '#core/scan/layouts/place-book.ts'

/** The library whose series are written. */
export interface PlacedLibrary {
  id: string
  title_preprocessing_rules: unknown
}

/** Inserts those series that do not exist; returns the ids of all by {@link placeKey}, and which are new. */
export async function ensureSeries(
  trx: Knex.Transaction,
  { library, rules }: { library: PlacedLibrary; rules: Rules },
  places: Iterable<SeriesPlace>,
): Promise<{ ids: Map<string, string>; made: string[] }> {
  const distinct = new Map([...places].map((place) => [placeKey(place), place]))
  // Several scans and analyses write series; one order of locking prevents deadlocks.
  const ordered = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place)
  const titles = await rules.rewriteTitles(
    library.title_preprocessing_rules,
    ordered.map(({ title }) => title),
  )
  const { rows: made } = await trx.raw(
    `INSERT INTO series (library_id, path, name_key, title, folder_title, title_sort, layout_title, layout_values, oneshot)
     SELECT ?, s.path, s.name_key, s.title, s.title, s.title_sort, s.layout_title, s.layout_values, s.oneshot
     FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::jsonb[], ?::boolean[])
       AS s (path, name_key, title, title_sort, layout_title, layout_values, oneshot)
     ON CONFLICT (library_id, path, name_key) DO NOTHING RETURNING id, path, name_key AS "nameKey"`,
    [
      library.id,
      ordered.map(({ path }) => path),
      ordered.map(({ nameKey }) => nameKey),
      titles,
      // The driver's types do not allow null inside an array; PostgreSQL does.
      titles.map((title) => sortTitleOf(title, null)) as string[],
      ordered.map(({ title }) => title),
      ordered.map((place) => valuesText(place)) as string[],
      ordered.map(({ oneshot }) => oneshot),
    ],
  )
  const ids = new Map((made as (SeriesPlace & { id: string })[]).map((row) => [placeKey(row), row.id]))
  const fresh = [...ids].map(([key, id]): [string, SeriesPlace] => [id, distinct.get(key) as SeriesPlace])
  const others = ordered.filter((place) => !ids.has(placeKey(place)))
  for (const row of await findSeries(trx, library.id, others)) ids.set(placeKey(row), row.id)
  await applyPlaceValues(trx, new Map(fresh.filter(([, place]) => valuesOf(place))))
  await announce(
    trx,
    made.map(({ id }: { id: string }) => ({ event: { type: 'series_created' as const, seriesId: id, libraryId: library.id } })),
  )
  return { ids, made: made.map(({ id }: { id: string }) => id) }
}

async function findSeries(
  trx: Knex,
  libraryId: string,
  places: readonly SeriesPlace[],
): Promise<{ id: string; path: string; nameKey: string }[]> {
  if (places.length === 0) return []
  const { rows } = await trx.raw(
    `SELECT s.id, s.path, s.name_key AS "nameKey" FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS p (path, name_key)
     JOIN series s ON s.library_id = ? AND s.path = p.path AND s.name_key = p.name_key`,
    [places.map(({ path }) => path), places.map(({ nameKey }) => nameKey), libraryId],
  )
  return rows
}

/** The fields of a series that folders give, and null for none. */
export function valuesOf({ publisher, imprint, author }: SeriesPlace): { publisher?: string; imprint?: string; authors?: Author[] } | null {
  if (publisher === undefined && imprint === undefined && author === undefined) return null
  return {
    ...(publisher !== undefined && { publisher }),
    ...(imprint !== undefined && { imprint }),
    ...(author !== undefined && { authors: [{ name: author, role: 'author' }] }),
  }
}

export const valuesText = (place: SeriesPlace): string | null => {
  const values = valuesOf(place)
  return values && JSON.stringify(values)
}

/** Writes the values that folders give, below all other sources. */
export async function applyPlaceValues(trx: Knex, places: ReadonlyMap<string, SeriesPlace>): Promise<void> {
  if (places.size === 0) return
  const states = await loadStates(trx, 'series', [...places.keys()], [])
  const changes = [...states.values()].map((before) => ({
    before,
    next: applyChange('series', before, { values: valuesOf(places.get(before.id) as SeriesPlace) ?? {} }, 'file_name').next,
  }))
  await storeStates(trx, 'series', changes)
}
