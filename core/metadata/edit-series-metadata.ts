import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { clearSeriesTags } from '#core/account/sharing-store.ts'
import { announceSeries } from '#core/events/event-store.ts'
import type { Field } from '#core/fields/field.ts'
import type { PatchOf } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS, SERIES_LOCKS, seriesLockName } from '#core/fields/series-metadata.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { applyChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { type Outcome, resetTitle } from '#core/metadata/apply-patch.ts'
import { changedLocks, editLocks, editRecords, editSets, isChanged, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { emptySet, SETS } from '#core/metadata/metadata-set.ts'
import { nameKey } from '#core/metadata/name.ts'
import { checkPatchRules } from '#core/metadata/patch-rules.ts'
import { forgetAggregated, listFolderTitles } from '#core/metadata/series-aggregate-store.ts'
import { listVisibleSeriesIds } from '#core/metadata/series-metadata-query.ts'
import type { Taxonomy } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = SERIES_FIELDS

interface Change {
  seriesIds: readonly string[]
}

/** Applies a user's change to one or many series: to all of them or to none; a null title is reset. @throws not_found, invalid_value */
export async function patchSeries(database: Knex, caller: Caller, change: Change & { patch: PatchOf['series'] }): Promise<RecordOutcome[]> {
  const { title, ...rest } = checkPatchRules(change.patch)
  const patch = title === undefined || title === null ? rest : { ...rest, title }
  // The sort title follows the title unless the user gives one, even an empty one.
  const sorted = (state: MetadataState, outcomes: readonly Outcome[]) => {
    const follows = outcomes.some(({ field, result }) => (field === 'title' || field === 'language') && result !== 'unchanged')
    return follows && patch.titleSort === undefined ? withSortTitle(state) : state
  }
  const patched = (state: MetadataState) => applyChange('series', state, { values: patch }, 'user')
  if (title !== null)
    return await changeSeries(database, caller, change.seriesIds, (state) => {
      const { next, outcomes } = patched(state)
      return { next: sorted(next, outcomes), outcomes }
    })
  return await database.transaction(async (trx) => {
    const names = await listFolderTitles(trx, change.seriesIds)
    const done = await changeSeries(trx, caller, change.seriesIds, (state) => {
      const given = resetTitle(fields, state, { file_name: names.get(state.id) })
      const { next, outcomes } = patched({ ...state, ...given.next })
      const all = [given.outcome, ...outcomes]
      return { next: sorted(next, all), outcomes: all }
    })
    // If most of its books name the series, aggregation sets that name at once.
    await aggregateSeries(
      trx,
      done.map(({ id }) => id),
    )
    return done
  })
}

/** Like a patch with null for every absent member; an absent title stays. */
export async function replaceSeries(
  database: Knex,
  caller: Caller,
  change: { seriesId: string; metadata: PatchOf['series'] },
): Promise<void> {
  const cleared = Object.fromEntries(fields.filter(({ name }) => name !== 'title').map(({ name }) => [name, null]))
  await patchSeries(database, caller, { seriesIds: [change.seriesId], patch: { ...cleared, ...change.metadata } })
}

/** @param locks by API name; absent or null locks stay */
export async function lockSeries(
  database: Knex,
  caller: Caller,
  change: Change & { locks: Readonly<Record<string, unknown>> },
): Promise<RecordOutcome[]> {
  return await editLocks(database, {
    ...seriesOf(caller, change),
    change: (locks) => changedLocks(locks, SERIES_LOCKS, seriesLockName, change.locks),
  })
}

/**
 * Deletes all metadata of series that people and machines gave: fields, title, sets, locks, and the stored keys of removed entries. Then the title is that of
 * the folder, and the metadata of the books' files is aggregated again. Covers stay. Deletes sharing tags too, if the caller may change them.
 */
export async function resetSeries(database: Knex, caller: Caller, change: Change): Promise<RecordOutcome[]> {
  return await database.transaction(async (trx) => {
    const names = await listFolderTitles(trx, change.seriesIds)
    const done = await editRecords(trx, {
      ...seriesOf(caller, change),
      sets: SETS.series,
      change: (state) => {
        const { title } = resetTitle(fields, state, { file_name: names.get(state.id) }).next.values
        // The undo of an earlier application must not restore anything.
        const sets = Object.fromEntries(
          SETS.series.map((name) => [name, { ...emptySet(), replacements: (state.sets[name]?.replacements ?? 0) + 1 }]),
        )
        const empty = { ...state, values: { title }, sources: { title: 'file_name' as const }, sets, locks: new Set<string>() }
        return { next: withSortTitle(empty), outcomes: [] }
      },
    })
    const ids = done.map(({ id }) => id)
    // Sharing tags decide who sees a series: only callers who may change them may delete them.
    if (caller.permissions.has('system-admin')) await clearSeriesTags(trx, ids)
    await forgetAggregated(trx, ids)
    await aggregateSeries(trx, ids)
    await announceSeries(trx, ids, [...fields.map(({ name }) => name), ...SETS.series, 'sharingTags', 'locks'])
    return done
  })
}

/**
 * Adds and removes genres or tags of many series; locks the field, like every edit by a user.
 * @returns how many series changed
 */
export async function changeSeriesNames(
  database: Knex,
  caller: Caller,
  change: Change & { taxonomy: Taxonomy; add: readonly string[]; remove: readonly string[] },
): Promise<number> {
  const { taxonomy, add, remove } = change
  const changes = { [`${taxonomy}s`]: { add, remove: remove.map(nameKey) } }
  return (await editSets(database, { ...seriesOf(caller, change), changes })).filter(({ outcomes }) => outcomes.some(isChanged)).length
}

/** Sets the genres or tags of a series; locks the field, unless nothing changes. */
export async function setSeriesNames(
  database: Knex,
  caller: Caller,
  { seriesId, taxonomy, names }: { seriesId: string; taxonomy: Taxonomy; names: readonly string[] },
): Promise<void> {
  const changes = { [`${taxonomy}s`]: { add: names, remove: 'others' as const } }
  await editSets(database, { ...seriesOf(caller, { seriesIds: [seriesId] }), changes })
}

async function changeSeries(
  database: Knex,
  caller: Caller,
  ids: readonly string[],
  change: (state: MetadataState) => { next: MetadataState; outcomes: Outcome[] },
): Promise<RecordOutcome[]> {
  return await editRecords(database, { ...seriesOf(caller, { seriesIds: ids }), change })
}

/** The series of a change; only those that the caller may see count. */
const seriesOf = (caller: Caller, { seriesIds }: Change) => ({
  kind: 'series' as const,
  ids: seriesIds,
  listVisible: (trx: Knex, ids: readonly string[]) => listVisibleSeriesIds(trx, caller, ids),
})
