import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import { embeddedTitle } from '#core/fields/book-title.ts'
import type { Field } from '#core/fields/field.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import type { PatchOf } from '#core/fields/record-kind.ts'
import { applyChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { type Outcome, resetTitle } from '#core/metadata/apply-patch.ts'
import { editRecords, type RecordOutcome } from '#core/metadata/edit-records.ts'
import { listFileTitles } from '#core/metadata/embedded-store.ts'
import { checkDate, checkPatchRules } from '#core/metadata/patch-rules.ts'

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
  const books = { caller, kind: 'book' as const, ids: change.bookIds }
  const { title, ...rest } = checkPatchRules(change.patch)
  if (title !== null) {
    const patch = title === undefined ? rest : { ...rest, title }
    return await editRecords(database, { ...books, change: (state) => patched(state, patch) })
  }
  return await database.transaction(async (trx) => {
    const names = await listFileTitles(trx, change.bookIds)
    return await editRecords(trx, {
      ...books,
      change: (state) => {
        const file = names.get(state.id)
        const { strategy = '', fileName = '', embedded } = file ?? {}
        const found = {
          embedded: embeddedTitle({ strategy, embedded: embedded ?? undefined }),
          file_name: fieldsOfPlaced(fileName, file).title,
        }
        const given = resetTitle(fields, state, found)
        const { next, outcomes } = patched({ ...state, ...given.next }, rest)
        return { next, outcomes: [given.outcome, ...outcomes] }
      },
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
