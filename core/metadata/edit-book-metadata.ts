import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import { embeddedTitle } from '#core/fields/book-title.ts'
import type { Field } from '#core/fields/field.ts'
import { readFileName } from '#core/fields/file-name.ts'
import type { PatchOf } from '#core/fields/record-kind.ts'
import { applyChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { type Outcome, resetTitle } from '#core/metadata/apply-patch.ts'
import { listVisibleBookIds } from '#core/metadata/book-metadata-query.ts'
import { changedLocks, editLocks, editRecords, editSets, isChanged, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { listFileTitles } from '#core/metadata/embedded-store.ts'
import { nameKey } from '#core/metadata/name.ts'
import { checkDate, checkPatchRules } from '#core/metadata/patch-rules.ts'
import type { Taxonomy } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = BOOK_FIELDS

/**
 * Applies a user's change to one or many books: to all of them or, if one is unknown or hidden, to none.
 * @throws not_found, invalid_value
 */
export async function patchBooks(
  database: Knex,
  caller: Caller,
  change: { bookIds: readonly string[]; patch: PatchOf['book'] },
): Promise<RecordOutcome[]> {
  const { title, ...rest } = checkPatchRules(change.patch)
  if (title !== null) {
    const patch = title === undefined ? rest : { ...rest, title }
    return await changeBooks(database, caller, change.bookIds, (state) => patched(state, patch))
  }
  return await database.transaction(async (trx) => {
    const names = await listFileTitles(trx, change.bookIds)
    return await changeBooks(trx, caller, change.bookIds, (state) => {
      const { strategy = '', fileName = '', embedded } = names.get(state.id) ?? {}
      const found = { embedded: embeddedTitle({ strategy, embedded: embedded ?? undefined }), file_name: readFileName(fileName).title }
      const given = resetTitle(fields, state, found)
      const { next, outcomes } = patched({ ...state, ...given.next }, rest)
      return { next, outcomes: [given.outcome, ...outcomes] }
    })
  })
}

function patched(state: MetadataState, values: PatchOf['book']): { next: MetadataState; outcomes: Outcome[] } {
  const done = applyChange('book', state, { values }, 'user')
  checkDate(values, done.next.values)
  return done
}

/** Those of these books whose analysis did not record whether the file has a title. */
export async function listUnknownTitles(database: Knex, bookIds: readonly string[]): Promise<{ id: string; libraryId: string }[]> {
  const titles = await listFileTitles(database, bookIds)
  return [...titles].filter(([, { embedded }]) => embedded === undefined).map(([id, { libraryId }]) => ({ id, libraryId }))
}

/** Like a patch with null for every absent member; a list of people replaces the people strings. */
export async function replaceBook(database: Knex, caller: Caller, change: { bookId: string; metadata: PatchOf['book'] }): Promise<void> {
  const { metadata } = change
  const named = fields.filter(({ ofRecordPatch, role }) => !ofRecordPatch && !(role && metadata.authors))
  const patch = { ...Object.fromEntries(named.map(({ name }) => [name, null])), ...metadata }
  await patchBooks(database, caller, { bookIds: [change.bookId], patch })
}

/** @param locks by API name; absent or null locks stay */
export async function lockBooks(
  database: Knex,
  caller: Caller,
  change: { bookIds: readonly string[]; locks: Readonly<Record<string, unknown>> },
): Promise<RecordOutcome[]> {
  return await editLocks(database, {
    ...booksOf(caller, change.bookIds),
    change: (locks) => changedLocks(locks, BOOK_LOCKS, bookLockName, change.locks),
  })
}

async function changeBooks(
  database: Knex,
  caller: Caller,
  ids: readonly string[],
  change: (state: MetadataState) => { next: MetadataState; outcomes: Outcome[] },
): Promise<RecordOutcome[]> {
  return await editRecords(database, { ...booksOf(caller, ids), change })
}

/** The books of a change; only those that the caller may see count. */
const booksOf = (caller: Caller, bookIds: readonly string[]) => ({
  kind: 'book' as const,
  ids: bookIds,
  listVisible: (trx: Knex, ids: readonly string[]) => listVisibleBookIds(trx, caller, ids),
})

/**
 * Adds and removes genres or tags of many books; returns how many changed. Genres are then locked with the field `genre`, like every edit by a user; tags have
 * no lock, but machines do not change those that a user has added or removed.
 * @throws not_found, invalid_value
 */
export async function changeBookNames(
  database: Knex,
  caller: Caller,
  change: { bookIds: readonly string[]; taxonomy: Taxonomy; add: readonly string[]; remove: readonly string[] },
): Promise<number> {
  const { bookIds, taxonomy, add, remove } = change
  const changes = { [`${taxonomy}s`]: { add, remove: remove.map(nameKey) } }
  return (await editSets(database, { ...booksOf(caller, bookIds), changes })).filter(({ outcomes }) => outcomes.some(isChanged)).length
}

/** Sets the genres or tags of a book. @throws not_found, invalid_value */
export async function setBookNames(
  database: Knex,
  caller: Caller,
  { bookId, taxonomy, names }: { bookId: string; taxonomy: Taxonomy; names: readonly string[] },
): Promise<void> {
  await editSets(database, { ...booksOf(caller, [bookId]), changes: { [`${taxonomy}s`]: { add: names, remove: 'others' } } })
}
