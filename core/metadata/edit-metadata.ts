import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import { embeddedTitle } from '#core/fields/book-title.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { fieldsOf, type Kind, type PatchOf } from '#core/fields/record-kind.ts'
import { SERIES_LOCKS, seriesLockName } from '#core/fields/series-metadata.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { applyChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { resetTitle } from '#core/metadata/apply-patch.ts'
import { editLocks, editRecords, editSets, isChanged, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { listFileTitles } from '#core/metadata/embedded-store.ts'
import { nameKey } from '#core/metadata/name.ts'
import { checkDate, checkPatchRules } from '#core/metadata/patch-rules.ts'
import { listFolderTitles } from '#core/metadata/series-aggregate-store.ts'
import type { Taxonomy } from '#core/metadata/taxonomy-store.ts'

/** Changes of books or series by a user: of all of them or, if one is unknown or hidden, of none. */
interface Records {
  kind: Kind
  ids: readonly string[]
}

/** Titles by source. */
type FoundTitles = Parameters<typeof resetTitle>[2]

/** Applies a change of fields; a null title is reset. @throws not_found, invalid_value */
export async function patchMetadata(
  database: Knex,
  caller: Caller,
  { patch: given, ...records }: Records & { patch: PatchOf[Kind] },
): Promise<RecordOutcome[]> {
  const { kind } = records
  const { title, ...rest } = checkPatchRules(given)
  const patch = title === undefined || title === null ? rest : { ...rest, title }
  const change = (before: MetadataState, titles?: FoundTitles) => {
    const reset = titles && resetTitle(fieldsOf(kind), before, titles)
    const patched = applyChange(kind, { ...before, ...reset?.next }, { values: patch }, 'user')
    const outcomes = reset ? [reset.outcome, ...patched.outcomes] : patched.outcomes
    if (kind === 'book') checkDate(patch, patched.next.values)
    // The sort title of a series follows its title unless the user gives one, even an empty one.
    const isFollowed = outcomes.some(({ field, result }) => (field === 'title' || field === 'language') && result !== 'unchanged')
    const follows = kind === 'series' && patch.titleSort === undefined && isFollowed
    return { next: follows ? withSortTitle(patched.next) : patched.next, outcomes }
  }
  if (title !== null) return await editRecords(database, { caller, ...records, change })
  return await database.transaction(async (trx) => {
    const titles = await listFoundTitles(trx, records)
    const done = await editRecords(trx, { caller, ...records, change: (before) => change(before, titles.get(before.id) ?? {}) })
    // If most of its books name the series, aggregation sets that name at once.
    if (kind === 'series') await aggregateSeries(trx, [...titles.keys()])
    return done
  })
}

/** The titles that files or folders give. */
async function listFoundTitles(trx: Knex, { kind, ids }: Records): Promise<Map<string, FoundTitles>> {
  if (kind === 'series') return new Map([...(await listFolderTitles(trx, ids))].map(([id, title]) => [id, { file_name: title }]))
  const files = [...(await listFileTitles(trx, ids))]
  return new Map(files.map(([id, file]) => [id, { embedded: embeddedTitle(file), file_name: fieldsOfPlaced(file.fileName, file).title }]))
}

/**
 * Like a patch with null for every absent member. The title of a series stays, and the fields in the record of a book, which has an address of its own; a list
 * of people replaces the people strings.
 */
export async function replaceMetadata(
  database: Knex,
  caller: Caller,
  { kind, id, metadata }: { kind: Kind; id: string; metadata: PatchOf[Kind] },
): Promise<void> {
  const stays = ({ name, ofRecordPatch, role }: ReturnType<typeof fieldsOf>[number]) =>
    kind === 'book' ? ofRecordPatch || (role && metadata.authors) : name === 'title'
  const cleared = fieldsOf(kind).filter((field) => !stays(field))
  const patch = { ...Object.fromEntries(cleared.map(({ name }) => [name, null])), ...metadata }
  await patchMetadata(database, caller, { kind, ids: [id], patch })
}

const LOCKS = {
  book: { names: BOOK_LOCKS, nameOf: bookLockName },
  series: { names: SERIES_LOCKS, nameOf: seriesLockName },
}

/** @param locks by API name; absent or null locks stay */
export async function lockMetadata(
  database: Knex,
  caller: Caller,
  { locks: changes, ...records }: Records & { locks: Readonly<Record<string, unknown>> },
): Promise<RecordOutcome[]> {
  const { names, nameOf } = LOCKS[records.kind]
  return await editLocks(database, { caller, ...records, change: (locks) => changedLocks(locks, names, nameOf, changes) })
}

/**
 * Adds and removes genres or tags; returns how many records changed. Those of a series, and the genres of a book, are then locked, like every edit by a user.
 * The tags of a book have no lock, but machines do not change those that a user has added or removed.
 * @throws not_found, invalid_value
 */
export async function changeNames(
  database: Knex,
  caller: Caller,
  { taxonomy, add, remove, ...records }: Records & { taxonomy: Taxonomy; add: readonly string[]; remove: readonly string[] },
): Promise<number> {
  const changes = { [`${taxonomy}s`]: { add, remove: remove.map(nameKey) } }
  return (await editSets(database, { caller, ...records, changes })).filter(({ outcomes }) => outcomes.some(isChanged)).length
}

/** Sets the genres or tags of one record; locks them as {@link changeNames}, unless nothing changes. @throws not_found, invalid_value */
export async function setNames(
  database: Knex,
  caller: Caller,
  { kind, id, taxonomy, names }: { kind: Kind; id: string; taxonomy: Taxonomy; names: readonly string[] },
): Promise<void> {
  await editSets(database, { caller, kind, ids: [id], changes: { [`${taxonomy}s`]: { add: names, remove: 'others' } } })
}

/** Every name that clients use for a lock: for `summary` also `summaryLock`, for a list of objects (`authors`) also `authorsJson` and `authorsJsonLock`. */
const lockSpellings = (name: string): string[] => [`${name}Lock`, name, `${name}JsonLock`, `${name}Json`]

/**
 * Applies changes to locks; returns the new ones.
 * @param changes by the names that `lockName` returns, or by other spellings, which count if that name is absent. Locks that are absent or null stay; members
 * that are not locks are ignored
 */
function changedLocks(
  locks: ReadonlySet<string>,
  names: readonly string[],
  lockName: (name: string) => string,
  changes: Readonly<Record<string, unknown>>,
): Set<string> {
  const kept = new Set(locks)
  for (const name of names) {
    const spellings = [lockName(name), ...lockSpellings(name)]
    const locked = spellings.map((spelling) => changes[spelling]).find((change) => typeof change === 'boolean')
    if (locked === true) kept.add(name)
    else if (locked === false) kept.delete(name)
  }
  return kept
}
