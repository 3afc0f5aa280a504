import type { Knex } from 'knex'
import { announceSeries } from '#core/events/event-store.ts'
import type { Field } from '#core/fields/field.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { aggregateBooks } from '#core/metadata/aggregate-books.ts'
import {
  AGGREGATED_SETS,
  type Aggregated,
  type AggregatedEntries,
  aggregatedOf,
  diffAggregated,
  rememberAggregated,
} from '#core/metadata/aggregate-sets.ts'
import { applyChange, changedMembers, type MetadataState } from '#core/metadata/apply-change.ts'
import { loadStates, type StoredState, storeStates } from '#core/metadata/metadata-state-store.ts'
import {
  type AggregateState,
  listAggregateStates,
  listAggregatesDue,
  listAggregations,
  listHigherAges,
  listHints,
  markAggregateDue,
  markUnrelated,
  storeAggregated,
} from '#core/metadata/series-aggregate-store.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Fields that books can provide; a value that came from a book is cleared when no book provides it any more. */
const NOTHING = Object.fromEntries(fields.map(({ name }) => [name, null]))

/**
 * Aggregates the metadata of each series from the files of its books, and removes what the files no longer contain, except where a lock or a stronger
 * source forbids it. Idempotent; runs within the transaction that wrote the books.
 */
export async function aggregateSeries(trx: Knex.Transaction, seriesIds: readonly string[]): Promise<void> {
  if (seriesIds.length === 0) return
  const ids = [...new Set(seriesIds)].sort()
  const known = await loadStates(trx, 'series', ids, AGGREGATED_SETS)
  const hints = Map.groupBy(await listHints(trx, ids), ({ seriesId }) => seriesId)
  const aggregates = await listAggregateStates(trx, ids)
  const changes: { before: StoredState; next: StoredState }[] = []
  const changedNames = new Map<string, string[]>()
  const contributed = new Map<string, Aggregated>()
  const unrelated = new Map<string, boolean>()
  for (const [id, before] of known) {
    const { aggregated, books, pending, folderTitle, sidecar, layoutValues } = aggregates.get(id) as AggregateState
    // All its files are missing, perhaps with their disk: their metadata stays, because the files may come back.
    if (books === 0) continue
    const { hints: found, unrelated: areUnrelated } = aggregateBooks(hints.get(id) ?? [], { total: books, sidecar })
    const entries: AggregatedEntries = aggregatedOf(found)
    const change = { values: { ...NOTHING, ...found.fields }, sets: diffAggregated(entries, aggregated) }
    const applied = applyChange('series', before, change, 'embedded')
    const next = withSortTitle(withFolderValues(applied.next, folderTitle, layoutValues))
    changes.push({ before, next })
    const remembered = rememberAggregated(entries, { aggregated, before: before.sets, after: next.sets, locks: before.locks })
    if (remembered !== null) contributed.set(id, remembered)
    unrelated.set(id, areUnrelated && !pending)
    const names = changedMembers(before, next)
    if (names.length > 0) changedNames.set(id, names)
  }
  await storeAggregated(trx, contributed)
  await markUnrelated(trx, unrelated)
  await storeStates(trx, 'series', changes)
  await announceSeries(trx, [...changedNames.keys()], changedNames)
  await markAggregateDue(trx, ids, false)
}

/** What the books of a series no longer provide comes from the names of its folders. */
function withFolderValues<State extends MetadataState>(state: State, title: string | null, values: AggregateState['layoutValues']): State {
  const missing = Object.entries({ ...values, ...(title !== null && { title }) }).filter(([name]) => state.values[name] === undefined)
  return missing.length === 0 ? state : applyChange('series', state, { values: Object.fromEntries(missing) }, 'file_name').next
}

/**
 * Aggregates series after the metadata of some of their books has changed. The first analyzed book counts at once, so that a user does not see a series without
 * metadata. While other books wait for their analysis, aggregation waits for the last of them, because each aggregation reads all analyzed books.
 * @returns the series whose aggregation is still due; then call {@link aggregateSettled} after the transaction
 */
export async function aggregateAfter(trx: Knex.Transaction, seriesIds: readonly string[]): Promise<Set<string>> {
  if (seriesIds.length === 0) return new Set()
  const found = [...(await listAggregations(trx, seriesIds))]
  await aggregateSeries(
    trx,
    found.filter(([, { pending, due }]) => !pending || !due).map(([id]) => id),
  )
  const later = found.filter(([, { pending }]) => pending)
  await markAggregateDue(
    trx,
    later.filter(([, { due }]) => !due).map(([id]) => id),
    true,
  )
  return new Set(later.map(([id]) => id))
}

/**
 * Raises the age ratings of series to those in the files of these books, without waiting for the aggregation: until then users would see what the rating hides
 * from them.
 */
export async function raiseAgeRatings(database: Knex, bookIds: readonly string[]): Promise<void> {
  const found = bookIds.length === 0 ? new Map<string, number>() : await listHigherAges(database, bookIds)
  if (found.size === 0) return
  await database.transaction(async (trx) => {
    const known = await loadStates(trx, 'series', [...found.keys()], [])
    // Again, now that nobody else changes these series.
    const ages = await listHigherAges(trx, bookIds)
    const changes = [...known.values()].flatMap((before) => {
      const ageRating = ages.get(before.id)
      return ageRating === undefined ? [] : [{ before, next: applyChange('series', before, { values: { ageRating } }, 'embedded').next }]
    })
    await storeStates(trx, 'series', changes)
    const ids = changes.map(({ before }) => before.id)
    await announceSeries(trx, ids, ['ageRating'])
  })
}

/** Series of one transaction: it reads the metadata of all of their books. */
const SETTLED_AT_ONCE = 10

/**
 * Aggregates those series whose aggregation is due and none of whose books waits for analysis. Call it after the commit: two transactions that write two
 * books at the same time each see the other book waiting, but after its commit the later one sees both.
 */
export async function aggregateSettled(database: Knex, seriesIds: readonly string[]): Promise<void> {
  if (seriesIds.length === 0) return
  const settled = [...(await listAggregations(database, seriesIds))].filter(([, { pending, due }]) => due && !pending).map(([id]) => id)
  for (let at = 0; at < settled.length; at += SETTLED_AT_ONCE)
    await database.transaction((trx) => aggregateSeries(trx, settled.slice(at, at + SETTLED_AT_ONCE)))
}

/** Aggregates the series of a library whose aggregation is due, one at a time. */
export async function aggregateDue(database: Knex, libraryId: string, signal: AbortSignal): Promise<void> {
  for (const id of await listAggregatesDue(database, libraryId)) {
    signal.throwIfAborted()
    await database.transaction(async (trx) => await aggregateSeries(trx, [id]))
  }
}
