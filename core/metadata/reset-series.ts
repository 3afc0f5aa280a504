import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { clearSeriesTags } from '#core/account/sharing-store.ts'
import { announceSeries } from '#core/events/event-store.ts'
import type { Field } from '#core/fields/field.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { resetTitle } from '#core/metadata/apply-patch.ts'
import { editRecords, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { emptySet, SETS } from '#core/metadata/metadata-set.ts'
import { forgetAggregated, listFolderTitles } from '#core/metadata/series-aggregate-store.ts'

const fields: readonly Field[] = SERIES_FIELDS

/**
 * Deletes all metadata of series that people and machines gave: fields, title, sets, locks, and the stored keys of removed entries. Then the title is that of
 * the folder, and the metadata of the books' files is aggregated again. Covers stay. Deletes sharing tags too, if the caller may change them.
 */
export async function resetSeries(database: Knex, caller: Caller, seriesIds: readonly string[]): Promise<RecordOutcome[]> {
  return await database.transaction(async (trx) => {
    const names = await listFolderTitles(trx, seriesIds)
    const done = await editRecords(trx, {
      caller,
      kind: 'series',
      ids: seriesIds,
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
