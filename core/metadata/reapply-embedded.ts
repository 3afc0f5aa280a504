import type { Knex } from 'knex'
import { embeddedTitle } from '#core/fields/book-title.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { EMBEDDED_SETS, embeddedEntries } from '#core/metadata/embedded-entries.ts'
import { listFileTitles, listKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { keyedEntries, type MetadataSet, type SetName } from '#core/metadata/metadata-set.ts'
import type { StoredState } from '#core/metadata/metadata-state-store.ts'

/**
 * Updates restored members of a book with the metadata of its file: the file may have changed while a stronger value hid its own. Removes values that came from
 * the file and are no longer in it.
 */
export async function reapplyEmbedded(trx: Knex, state: StoredState, members: readonly string[]): Promise<StoredState> {
  const kept = (await listKeptEmbedded(trx, [state.id])).get(state.id) ?? null
  const file = (await listFileTitles(trx, [state.id])).get(state.id)
  const { strategy = '', fileName = '', embedded } = file ?? {}
  const title = embeddedTitle({ strategy, embedded: embedded ?? undefined }) ?? null
  const ofMembers = (values: Readonly<Record<string, unknown>>) => Object.fromEntries(members.map((name) => [name, values[name] ?? null]))
  // An analysis by an older version did not store fields.
  const values = kept !== null && kept.book === undefined ? {} : ofMembers({ ...kept?.book, title })
  const entries = embeddedEntries(kept ?? {}, await listIdNames(trx))
  const sets = EMBEDDED_SETS.filter((name) => members.includes(name)).map((name) => {
    const found = keyedEntries<SetName>(name, entries[name])
    const existing = (state.sets[name] as MetadataSet | undefined)?.entries ?? new Map()
    return [name, { remove: [...existing.keys()].filter((key) => !found.has(key)) }]
  })
  const { next } = applyChange('book', state, { values, sets: Object.fromEntries(sets) }, 'embedded')
  const named = Object.fromEntries(Object.entries(fieldsOfPlaced(fileName, file)).filter(([name]) => members.includes(name)))
  return applyChange('book', next, { values: named }, 'file_name').next
}
