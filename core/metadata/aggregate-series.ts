import type { Knex } from 'knex'
import { announceSeries } from '#core/events/event-store.ts'
import { aggregateBooks } from '#core/metadata/aggregate-books.ts'
import { type AggregatedEntries, aggregatedOf, diffAggregated, rememberAggregated } from '#core/metadata/aggregate-sets.ts'
import { applyChange, changedMembers, type MetadataState } from '#core/metadata/apply-change.ts'
import type { Field } from '#core/metadata/field.ts'
import { loadStates, type StoredState, storeStates } from '#core/metadata/metadata-state-store.ts'
import { READING_ORDER } from '#core/metadata/reading-order.ts'
import {
  type AggregateState,
  findAggregation,
  listAggregateStates,
  listAggregatesDue,
  listHints,
  markAggregateDue,
  markUnrelated,
  storeAggregated,
} from '#core/metadata/series-aggregate-store.ts'
import { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Fields that books can provide; a value that no book provides any more is cleared, if it came from a book. */
const NOTHING = Object.fromEntries(fields.map(({ name }) => [name, null]))
const SETS_OF_BOOKS = ['genres', 'tags', 'alternateTitles', 'externalLinks'] as const

/**
 * Aggregates the files of its books into each series, and removes what they no longer contain, except where a lock or a stronger source forbids it.
 * Idempotent; within the transaction that wrote the books.
 */
export async function aggregateSeries(trx: Knex.Transaction, seriesIds: readonly string[]): Promise<void> {
  const ids = [...new Set(seriesIds)].sort()
  const known = await loadStates(trx, 'series', ids, SETS_OF_BOOKS)
  const hints = Map.groupBy(await listHints(trx, ids, READING_ORDER), ({ seriesId }) => seriesId)
  const aggregates = await listAggregateStates(trx, ids)
  const changes: { before: StoredState; next: StoredState }[] = []
  const told = new Map<string, string[]>()
  for (const [id, before] of known) {
    const { aggregated, books, pending, folderTitle } = aggregates.get(id) as AggregateState
    // All its files are gone, perhaps with a disk: what they said stays for when they come back.
    if (books === 0) continue
    const { said, unrelated } = aggregateBooks(hints.get(id) ?? [], books)
    const entries: AggregatedEntries = aggregatedOf(said)
    const change = { values: { ...NOTHING, ...said.fields }, sets: diffAggregated(entries, aggregated) }
    const applied = applyChange('series', before, change, 'embedded')
    const next = withSortTitle(withTitle(applied.next, folderTitle))
    changes.push({ before, next })
    const remembered = rememberAggregated(entries, { aggregated, before: before.sets, after: next.sets, locks: before.locks })
    if (remembered !== null) await storeAggregated(trx, id, remembered)
    await markUnrelated(trx, id, unrelated && !pending)
    const names = changedMembers(before, next)
    if (names.length > 0) told.set(id, names)
  }
  await storeStates(trx, 'series', changes)
  await announceSeries(trx, [...told.keys()], told)
  await markAggregateDue(trx, ids, false)
}

/** A series that lost its title from books gets the name of its folder. */
function withTitle<State extends MetadataState>(state: State, folderTitle: string | null): State {
  if (state.values.title !== undefined || folderTitle === null) return state
  return applyChange('series', state, { values: { title: folderTitle } }, 'file_name').next
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
