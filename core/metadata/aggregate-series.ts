import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { announceSeries } from '#core/events/event-store.ts'
import { aggregateBooks } from '#core/metadata/aggregate-books.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import type { SeriesHints } from '#core/metadata/embedded.ts'
import { changedNames, type Field, type MetadataRecord } from '#core/metadata/field.ts'
import { loadRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { nameKey } from '#core/metadata/name.ts'
import { READING_ORDER } from '#core/metadata/reading-order.ts'
import {
  type Aggregated,
  type AggregateState,
  addAlternateTitles,
  addLinks,
  findAggregation,
  listAggregateStates,
  listAggregatesDue,
  listHints,
  markAggregateDue,
  markUnrelated,
  storeAggregated,
  takeBackAggregated,
} from '#core/metadata/series-aggregate-store.ts'
import { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'
import { addNames } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Fields that books can give; what no book says any more is cleared, where it was a book that had said it. */
const NOTHING = Object.fromEntries(fields.map(({ name }) => [name, null]))

/**
 * Fills in what the files of its books say of each series, and takes back what they do not say any more, where no lock and no stronger source forbids.
 * Idempotent; within the transaction that wrote the books.
 */
export async function aggregateSeries(trx: Knex.Transaction, seriesIds: readonly string[]): Promise<void> {
  const ids = [...new Set(seriesIds)].sort()
  const records = await loadRecords(trx, 'series', ids)
  const hints = Map.groupBy(await listHints(trx, ids, READING_ORDER), ({ seriesId }) => seriesId)
  const states = await listAggregateStates(trx, ids)
  const changed = new Map<string, MetadataRecord>()
  const told = new Map<string, string[]>()
  for (const [id, record] of records) {
    const { seeded, books, pending, folderTitle } = states.get(id) as AggregateState
    // All its files are gone, perhaps with a disk: what they said stays for when they come back.
    if (books === 0) continue
    const { said, unrelated } = aggregateBooks(hints.get(id) ?? [], books)
    const next = withSortTitle(withTitle(applyPatch(fields, record, { ...NOTHING, ...said.fields }, 'embedded').next, folderTitle))
    if (!isDeepStrictEqual([next.values, next.sources], [record.values, record.sources])) changed.set(id, next)
    const left = await takeBack(trx, id, { said, seeded, locks: record.locks })
    const { added, known } = diffOf(said, left, record.locks)
    const bearer = { bearer: 'series' as const, bearerIds: [id], giver: 'embedded' as const }
    await addNames(trx, { taxonomy: 'genre', ...bearer, names: added.genres ?? [] })
    await addNames(trx, { taxonomy: 'tag', ...bearer, names: added.tags ?? [] })
    await addAlternateTitles(trx, id, added.alternateTitles ?? [])
    await addLinks(trx, id, added.links ?? [])
    if (known || left !== seeded) await storeAggregated(trx, id, known ?? left)
    await markUnrelated(trx, id, unrelated && !pending)
    const names = [...changedNames(record, changed.get(id) ?? record), ...changedKeys(seeded, known ?? left)]
    if (names.length > 0) told.set(id, names)
  }
  await storeRecords(trx, 'series', changed)
  await announceSeries(trx, [...told.keys()], told)
  await markAggregateDue(trx, ids, false)
}

/** What of a series is told to have changed. */
const changedKeys = (before: Aggregated, after: Aggregated): string[] =>
  (Object.keys(AGGREGATED_KEYS) as (keyof Aggregated)[]).filter((what) => !isDeepStrictEqual(before[what] ?? [], after[what] ?? []))

/** A series from which its books have taken their title is called like its folder. */
export function withTitle(record: MetadataRecord, folderTitle: string | null): MetadataRecord {
  if (record.values.title !== undefined || folderTitle === null) return record
  return applyPatch(fields, record, { title: folderTitle }, 'file_name').next
}

/** The keys of what books say, as they are remembered. */
const AGGREGATED_KEYS: { readonly [What in keyof Aggregated]-?: (said: SeriesHints) => string[] } = {
  genres: ({ genres = [] }) => genres.map(nameKey),
  tags: ({ tags = [] }) => tags.map(nameKey),
  // JSON, since a text of the database holds no NUL that could part the two.
  alternateTitles: ({ alternateTitles = [] }) => alternateTitles.map(({ label, title }) => JSON.stringify([label, title])),
  links: ({ links = [] }) => links.map(({ source }) => source),
}

/** Takes away what only files gave and none says any more, and forgets it, so that it may come again. What is left is as it was given where it is all. */
async function takeBack(
  trx: Knex,
  id: string,
  { said, seeded, locks }: { said: SeriesHints; seeded: Aggregated; locks: ReadonlySet<string> },
): Promise<Aggregated> {
  let left = seeded
  for (const what of Object.keys(AGGREGATED_KEYS) as (keyof Aggregated)[]) {
    const says = new Set(AGGREGATED_KEYS[what](said))
    const unsaid = (seeded[what] ?? []).filter((key) => !says.has(key))
    if (unsaid.length === 0 || locks.has(what)) continue
    const gone = await takeBackAggregated(trx, id, what, unsaid)
    if (gone.size > 0) left = { ...left, [what]: (seeded[what] ?? []).filter((key) => !gone.has(key)) }
  }
  return left
}

/**
 * What books give for the first time, and what they have given then; null when that is nothing more than before. A person who took something
 * away, from the series or everywhere, is not asked again; what a lock keeps out may come when it is gone.
 */
function diffOf(said: SeriesHints, before: Aggregated, locks: ReadonlySet<string>): { added: SeriesHints; known: Aggregated | null } {
  const known: Aggregated = { ...before }
  const pick = <What extends keyof Aggregated>(what: What): SeriesHints[What] => {
    if (locks.has(what)) return []
    const old = new Set(before[what])
    const keys = AGGREGATED_KEYS[what](said)
    const fresh = keys.filter((key) => !old.has(key))
    if (fresh.length > 0) known[what] = [...new Set([...old, ...fresh])]
    return (said[what] as unknown[] | undefined)?.filter((_entry, index) => !old.has(keys[index] as string)) as SeriesHints[What]
  }
  const added = {
    genres: pick('genres'),
    tags: pick('tags'),
    alternateTitles: pick('alternateTitles'),
    links: pick('links'),
  } as SeriesHints
  return { added, known: Object.keys(AGGREGATED_KEYS).some((what) => (added[what as keyof Aggregated]?.length ?? 0) > 0) ? known : null }
}

/**
 * Aggregates a series of which a book says something new. The first one counts at once, so that nobody looks at an empty series of one book; while others wait for
 * their analysis the rest is done with the last of them, since each time costs a look at all that were read. True when something is left to do:
 * then {@link aggregateSettled} belongs after the transaction.
 */
export async function aggregateAfter(trx: Knex.Transaction, seriesId: string): Promise<boolean> {
  const { pending, due } = await findAggregation(trx, seriesId)
  if (!pending || !due) await aggregateSeries(trx, [seriesId])
  if (pending) await markAggregateDue(trx, [seriesId], true)
  return pending
}

/**
 * Aggregates a series for which something was left to do and none of whose books is waited for any more. Only after the commit: of two books that
 * are written at the same moment each sees the other waiting, but the later one sees both when it looks again.
 */
export async function aggregateSettled(database: Knex, seriesId: string): Promise<void> {
  const { pending, due } = await findAggregation(database, seriesId)
  if (due && !pending) await database.transaction((trx) => aggregateSeries(trx, [seriesId]))
}

/** Aggregates what was not in a library, one series at a time. */
export async function aggregateDue(database: Knex, libraryId: string, signal: AbortSignal): Promise<void> {
  for (const id of await listAggregatesDue(database, libraryId)) {
    signal.throwIfAborted()
    await database.transaction(async (trx) => await aggregateSeries(trx, [id]))
  }
}
