import type { Knex } from 'knex'
import { embeddedTitle } from '#core/fields/book-title.ts'
import type { KeptEmbedded } from '#core/fields/embedded.ts'
import { embeddedFields, namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { EMBEDDED_SETS, embeddedEntries } from '#core/metadata/embedded-entries.ts'
import { type FileTitle, listFileTitles, listKeptEmbedded } from '#core/metadata/embedded-store.ts'
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
  const entries = embeddedEntries(kept ?? {}, await listIdNames(trx))
  const sets = EMBEDDED_SETS.filter((name) => members.includes(name)).map((name) => {
    const found = keyedEntries<SetName>(name, entries[name])
    const existing = (state.sets[name] as MetadataSet | undefined)?.entries ?? new Map()
    return [name, { remove: [...existing.keys()].filter((key) => !found.has(key)) }]
  })
  const { next } = applyChange('book', state, { sets: Object.fromEntries(sets) }, 'embedded')
  return withValuesOfFile(next, { kept, file }, members).next
}

/** A book with these members by its file and the strategies of its library, except where a lock or a stronger source forbids it. */
export function withValuesOfFile(
  state: StoredState,
  { kept, file }: { kept: KeptEmbedded | null; file: FileTitle | undefined },
  members: readonly string[],
): ReturnType<typeof applyChange<'book', StoredState>> {
  const { strategy = '', numberStrategy = '', fileName = '', embedded } = file ?? {}
  const title = embeddedTitle({ strategy, embedded }) ?? null
  const found: Readonly<Record<string, unknown>> = { ...embeddedFields(numberStrategy, kept?.book ?? {}), title }
  const values = Object.fromEntries(members.map((name) => [name, found[name] ?? null]))
  const { next } = applyChange('book', state, { values }, 'embedded')
  const named = Object.entries(namedFields(numberStrategy, fieldsOfPlaced(fileName, file))).filter(([name]) => members.includes(name))
  return applyChange('book', next, { values: Object.fromEntries(named) }, 'file_name')
}
