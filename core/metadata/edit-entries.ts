import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { applySets, changedSets, type SetChanges } from '#core/metadata/apply-change.ts'
import { hasValues, type SetChange } from '#core/metadata/apply-set.ts'
import { lockRecords, touchRecords } from '#core/metadata/metadata-record-store.ts'
import { type GivenEntry, keyedEntries, type MetadataSet, SET_RULES, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { readSets, storeSets } from '#core/metadata/metadata-set-store.ts'

/** The sets whose entries have rows of their own, which users add, change and remove one by one. */
export type EntrySet = Exclude<SetName, 'genres' | 'tags'>

/** One set of one book or series that the caller may see. */
interface EntryOwner<Name extends EntrySet = EntrySet> {
  kind: Kind
  id: string
  set: Name
}

/**
 * Adds an entry for a user; an entry with the same key gets its values.
 * @returns the id of its row, and whether it is new
 * @throws invalid_value if the set is full
 */
export async function addEntry<Name extends EntrySet>(
  database: Knex,
  owner: EntryOwner<Name>,
  value: SetEntries[Name],
): Promise<{ id: string; isNew: boolean }> {
  return await database.transaction(async (trx) => {
    const { before, after } = await changeEntries(trx, owner, () => ({ add: [value] }))
    const key = SET_RULES[owner.set].keyOf(value)
    return { id: after.entries.get(key)?.id as string, isNew: !before.entries.has(key) }
  })
}

/** Changes members of the entry with an id. @throws not_found */
export async function editEntry<Name extends EntrySet>(
  database: Knex,
  owner: EntryOwner<Name>,
  { id, change }: { id: string; change: Partial<SetEntries[Name]> },
): Promise<void> {
  await database.transaction(async (trx) => {
    await changeEntries(trx, owner, (set) => {
      const [key, { value }] = findEntry(set, { id }) ?? refuse('not_found')
      return { edit: { key, value: { ...value, ...change } } }
    })
  })
}

/** @param which the id or the key of an entry. @returns false if there is no such entry */
export async function removeEntry(database: Knex, owner: EntryOwner, which: { id: string } | { key: string }): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const { before, after } = await changeEntries(trx, owner, (set) => ({ remove: [findEntry(set, which)?.[0] ?? ''] }))
    return before.entries.size > after.entries.size
  })
}

/** Sets all entries of a set for a user; existing equal entries stay unchanged. */
export async function replaceEntries<Name extends EntrySet>(
  database: Knex,
  owner: EntryOwner<Name>,
  values: readonly SetEntries[Name][],
): Promise<void> {
  await database.transaction(async (trx) => {
    await changeEntries(trx, owner, ({ entries }) => {
      const keyed = keyedEntries(owner.set, values)
      const isThere = (key: string, value: SetEntries[Name]) => {
        const existing = entries.get(key)
        return existing !== undefined && hasValues(existing.value, value)
      }
      return {
        add: [...keyed].filter(([key, value]) => !isThere(key, value)).map(([, value]) => value),
        remove: [...entries.keys()].filter((key) => !keyed.has(key)),
        isWhole: true,
      }
    })
  })
}

function findEntry<Name extends EntrySet>(
  { entries }: MetadataSet<Name>,
  which: { id: string } | { key: string },
): [string, GivenEntry<Name>] | undefined {
  return [...entries].find(([key, { id }]) => ('id' in which ? id === which.id.toLowerCase() : key === which.key))
}

/** Locks first: otherwise two concurrent changes would mix, or exceed the limit together. */
async function changeEntries<Name extends EntrySet>(
  trx: Knex.Transaction,
  { kind, id, set: name }: EntryOwner<Name>,
  changeOf: (set: MetadataSet<Name>) => SetChange<Name>,
): Promise<{ before: MetadataSet<Name>; after: MetadataSet<Name> }> {
  await lockRecords(trx, kind, [id])
  const read = async () => (await readSets(trx, kind, [id], [name])).get(id) ?? {}
  const state = { id, sets: await read(), locks: new Set<string>() }
  const before = state.sets[name] as MetadataSet<Name>
  const { next } = applySets(kind, state, { [name]: changeOf(before) } as SetChanges, 'user')
  await storeSets(trx, kind, [{ before: state, next }])
  if (changedSets(state, next).length > 0) {
    await touchRecords(trx, kind, [id])
    await announceRecords(trx, kind, [id], [name])
  }
  return { before, after: (await read())[name] as MetadataSet<Name> }
}
