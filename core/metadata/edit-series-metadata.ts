import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { clearSeriesTags } from '#core/account/sharing-store.ts'
import { announceSeries } from '#core/events/event-store.ts'
import type { Field } from '#core/fields/field.ts'
import type { PatchOf } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { applyChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { type Outcome, resetTitle } from '#core/metadata/apply-patch.ts'
import { editRecords, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { emptySet, SETS } from '#core/metadata/metadata-set.ts'
import { checkPatchRules } from '#core/metadata/patch-rules.ts'
import { forgetAggregated, listFolderTitles } from '#core/metadata/series-aggregate-store.ts'

const fields: readonly Field[] = SERIES_FIELDS

interface Change {
  seriesIds: readonly string[]
}

/** Applies a user's change to one or many series: to all of them or to none; a null title is reset. @throws not_found, invalid_value */
export async function patchSeries(database: Knex, caller: Caller, change: Change & { patch: PatchOf['series'] }): Promise<RecordOutcome[]> {
  const series = { caller, kind: 'series' as const, ids: change.seriesIds }
  const { title, ...rest } = checkPatchRules(change.patch)
  const patch = title === undefined || title === null ? rest : { ...rest, title }
  // The sort title follows the title unless the user gives one, even an empty one.
  const sorted = (state: MetadataState, outcomes: readonly Outcome[]) => {
    const follows = outcomes.some(({ field, result }) => (field === 'title' || field === 'language') && result !== 'unchanged')
    return follows && patch.titleSort === undefined ? withSortTitle(state) : state
  }
  const patched = (state: MetadataState) => applyChange('series', state, { values: patch }, 'user')
  if (title !== null)
    return await editRecords(database, {
      ...series,
      change: (state) => {
        const { next, outcomes } = patched(state)
        return { next: sorted(next, outcomes), outcomes }
      },
    })
  return await database.transaction(async (trx) => {
    const names = await listFolderTitles(trx, change.seriesIds)
    const done = await editRecords(trx, {
      ...series,
      change: (state) => {
        const given = resetTitle(fields, state, { file_name: names.get(state.id) })
        const { next, outcomes } = patched({ ...state, ...given.next })
        const all = [given.outcome, ...outcomes]
        return { next: sorted(next, all), outcomes: all }
      },
    })
    // If most of its books name the series, aggregation sets that name at once.
    await aggregateSeries(
      trx,
      done.map(({ id }) => id),
    )
    return done
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
      caller,
      kind: 'series',
      ids: change.seriesIds,
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
