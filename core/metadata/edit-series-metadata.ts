import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { clearSeriesTags } from '#core/account/sharing-store.ts'
import { announceSeries } from '#core/events/event-store.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { applyPatch, giveUpTitle, type Outcome } from '#core/metadata/apply-patch.ts'
import { changedLocks, editLocks, editRecords, type RecordOutcome } from '#core/metadata/edit-records.ts'
import type { Field, MetadataRecord } from '#core/metadata/field.ts'
import { touchRecords } from '#core/metadata/metadata-record-store.ts'
import { checkPatchRules } from '#core/metadata/patch-rules.ts'
import { forgetAggregated, listFolderTitles } from '#core/metadata/series-aggregate-store.ts'
import { deleteFactsOf } from '#core/metadata/series-facts-store.ts'
import { SERIES_FIELDS, SERIES_LOCKS, seriesLockName } from '#core/metadata/series-metadata.ts'
import { checkSeries, listVisibleSeriesIds } from '#core/metadata/series-metadata-query.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'
import { addNames, checkRoom, hasNames, removeNames, setNames, type Taxonomy } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = SERIES_FIELDS

interface Change {
  seriesIds: readonly string[]
}

/** A person's change of one or many series: all of them or none; a title that is null is given up. @throws not_found, invalid_value */
export async function patchSeries(
  database: Knex,
  caller: Caller,
  change: Change & { patch: Readonly<Record<string, unknown>> },
): Promise<RecordOutcome[]> {
  const { title, ...rest } = checkPatchRules(change.patch)
  const patch = title === undefined || title === null ? rest : { ...rest, title }
  // Whoever says what a series is sorted by is taken at their word, even when it is nothing.
  const sorted = (record: MetadataRecord, outcomes: readonly Outcome[]) => {
    const follows = outcomes.some(({ field, result }) => (field === 'title' || field === 'language') && result !== 'unchanged')
    return follows && patch.titleSort === undefined ? withSortTitle(record) : record
  }
  const patched = (record: MetadataRecord) => applyPatch(fields, record, patch, 'user')
  if (title !== null)
    return await changeSeries(database, caller, change.seriesIds, (record) => {
      const { next, outcomes } = patched(record)
      return { next: sorted(next, outcomes), outcomes }
    })
  return await database.transaction(async (trx) => {
    const names = await listFolderTitles(trx, change.seriesIds)
    const done = await changeSeries(trx, caller, change.seriesIds, (record, id) => {
      const given = giveUpTitle(fields, record, { file_name: names.get(id) })
      const { next, outcomes } = patched(given.next)
      const all = [given.outcome, ...outcomes]
      return { next: sorted(next, all), outcomes: all }
    })
    // Where most of its books name the series, that stands at once.
    await aggregateSeries(
      trx,
      done.map(({ id }) => id),
    )
    return done
  })
}

/** As a patch in which every member that is absent is null; the title stays when it is absent. */
export async function replaceSeries(
  database: Knex,
  caller: Caller,
  change: { seriesId: string; metadata: Readonly<Record<string, unknown>> },
): Promise<void> {
  const cleared = Object.fromEntries(fields.filter(({ name }) => name !== 'title').map(({ name }) => [name, null]))
  await patchSeries(database, caller, { seriesIds: [change.seriesId], patch: { ...cleared, ...change.metadata } })
}

/** @param locks by wire name; what is absent or null stays */
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
 * Forgets all that people and machines have said of series, locks, further titles and identifiers too, but for the title; then the books' files say
 * again what they know. Sharing tags go where the caller may give them.
 */
export async function resetSeries(database: Knex, caller: Caller, change: Change): Promise<RecordOutcome[]> {
  return await database.transaction(async (trx) => {
    const done = await changeSeries(trx, caller, change.seriesIds, ({ values }) => ({
      next: {
        values: { title: values.title },
        // The title counts as the folder's, so that a file may give a better one.
        sources: { title: 'file_name' },
        locks: new Set(),
      },
      outcomes: [],
    }))
    const ids = done.map(({ id }) => id)
    for (const taxonomy of ['genre', 'tag'] as const) {
      for (const bearerId of ids) await setNames(trx, { taxonomy, bearer: 'series', bearerId, names: [] })
    }
    for (const facts of ['series_alternate_titles', 'series_external_ids'] as const) await deleteFactsOf(trx, facts, ids)
    // Who may see a series is decided by those who may give it sharing tags, and by nobody else.
    if (caller.permissions.has('system-admin')) await clearSeriesTags(trx, ids)
    await forgetAggregated(trx, ids)
    await aggregateSeries(trx, ids)
    await announceSeries(trx, ids, [
      ...fields.map(({ name }) => name),
      'genres',
      'tags',
      'alternateTitles',
      'externalIds',
      'sharingTags',
      'locks',
    ])
    return done
  })
}

/**
 * Adds and removes genres or tags of many series; the field is locked, for a person has spoken.
 * @returns how many series changed
 */
export async function changeSeriesNames(
  database: Knex,
  caller: Caller,
  change: Change & { taxonomy: Taxonomy; add: readonly string[]; remove: readonly string[] },
): Promise<number> {
  return await namedTransaction(database, caller, change, async (trx, ids) => {
    const of = { taxonomy: change.taxonomy, bearer: 'series' as const, bearerIds: ids }
    const removed = await removeNames(trx, { ...of, names: change.remove, giver: 'user' })
    if (change.add.length > 0) await checkRoom(trx, { ...of, names: change.add })
    const added = await addNames(trx, { ...of, names: change.add, giver: 'user' })
    const changed = new Set([...removed, ...added])
    await touchRecords(trx, 'series', [...changed], [`${change.taxonomy}s`])
    return changed.size
  })
}

/** Makes these the genres or tags of a series, and no others; the field is locked, unless it has these already. */
export async function setSeriesNames(
  database: Knex,
  caller: Caller,
  change: { seriesId: string; taxonomy: Taxonomy; names: readonly string[] },
): Promise<void> {
  // A form sends back what it was shown: nobody has said anything of it.
  const id = await checkSeries(database, caller, change.seriesId)
  if (await hasNames(database, { taxonomy: change.taxonomy, bearer: 'series', bearerId: id, names: change.names })) return
  await namedTransaction(database, caller, { ...change, seriesIds: [change.seriesId] }, async (trx, [bearerId]) => {
    await setNames(trx, { taxonomy: change.taxonomy, bearer: 'series', bearerId: bearerId as string, names: change.names })
    await touchRecords(trx, 'series', [bearerId as string], [`${change.taxonomy}s`])
  })
}

async function namedTransaction<Result>(
  database: Knex,
  caller: Caller,
  { seriesIds, taxonomy }: Change & { taxonomy: Taxonomy },
  work: (trx: Knex.Transaction, ids: string[]) => Promise<Result>,
): Promise<Result> {
  return await database.transaction(async (trx) => {
    const locked = await editLocks(trx, { ...seriesOf(caller, { seriesIds }), change: (locks) => new Set([...locks, `${taxonomy}s`]) })
    return await work(
      trx,
      locked.map(({ id }) => id),
    )
  })
}

async function changeSeries(
  database: Knex,
  caller: Caller,
  ids: readonly string[],
  change: (record: MetadataRecord, id: string) => { next: MetadataRecord; outcomes: Outcome[] },
): Promise<RecordOutcome[]> {
  return await editRecords(database, { ...seriesOf(caller, { seriesIds: ids }), change })
}

/** Which series a change is about, of those that the caller may see. */
const seriesOf = (caller: Caller, { seriesIds }: Change) => ({
  kind: 'series' as const,
  ids: seriesIds,
  listVisible: (trx: Knex, ids: readonly string[]) => listVisibleSeriesIds(trx, caller, ids),
})
