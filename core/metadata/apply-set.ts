import { isDeepStrictEqual } from 'node:util'
import { GIVERS, type Giver } from '#core/fields/field.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import {
  type GivenEntry,
  isNames,
  keyedEntries,
  type MetadataSet,
  SET_RULES,
  type SetEntries,
  type SetName,
} from '#core/metadata/metadata-set.ts'
import { nameKey } from '#core/metadata/name.ts'

/** Entries to add to and to remove from a set. */
export interface SetChange<Name extends SetName = SetName> {
  add?: readonly SetEntries[Name][]
  /** Keys, or all entries except those of `add`. */
  remove?: readonly string[] | 'others'
  /** An entry that replaces another one and keeps its id. */
  edit?: { key: string; value: SetEntries[Name] }
  /** The person has set all entries at once, as with `others`. */
  isWhole?: boolean
}

/** The set to change, and the source of the change. */
interface SetChanger {
  kind: 'book' | 'series'
  /** For error messages. */
  id: string
  giver: Giver
}

/** Stored keys of entries that people removed from one set: more than twice the maximum number of entries. */
const REMOVED_MAX = 500

const rank = (giver: Giver): number => GIVERS.indexOf(giver)

/**
 * The one rule for every change of a set, by a person or a machine. The caller checks locks.
 * - A person may add and remove any entry, and becomes the source of every added entry, even if a machine gave it before. The set stores the keys of entries
 *   that a person removed or corrected, until a person adds them again.
 * - A machine adds, changes and removes only entries of machines: never those of a stronger source, and never an entry that a person removed. By
 *   its key it removes only an entry that its own kind of source gave.
 * - Entries of a machine that exceed the maximum are left out. Genres and tags of a person replace those of machines if the set is full.
 * @throws invalid_value if a person would exceed the maximum
 */
export function applySet<Name extends SetName>(
  name: Name,
  current: MetadataSet<Name>,
  change: SetChange<Name>,
  by: SetChanger,
): { next: MetadataSet<Name>; result: Outcome['result'] } {
  const draft: Draft<Name> = { ...current, entries: new Map(current.entries) }
  const given = keyedEntries(name, change.add ?? [])
  const gone = removeEntries(draft, { given, remove: change.remove ?? [], by })
  let isRefused = false
  if (by.giver === 'user') {
    gone.push(...addByPerson(name, draft, given, by))
    if (change.edit) gone.push(...editEntry(name, draft, change.edit))
    rememberRemoved(name, draft, gone)
    if (change.isWhole || change.remove === 'others') draft.replacements = (draft.replacements ?? 0) + 1
  } else isRefused = addByMachine(name, draft, given, by.giver)
  const isSame = isSameContent(current.entries, draft.entries)
  return { next: draft, result: isSame ? (isRefused ? 'outranked' : 'unchanged') : draft.entries.size === 0 ? 'cleared' : 'set' }
}

interface Draft<Name extends SetName> {
  entries: Map<string, GivenEntry<Name>>
  removed: readonly string[]
  replacements?: number
}
type Given<Name extends SetName> = ReadonlyMap<string, SetEntries[Name]>

/** Returns the removed values. */
function removeEntries<Name extends SetName>(
  draft: Draft<Name>,
  { given, remove, by }: { given: Given<Name>; remove: readonly string[] | 'others'; by: SetChanger },
): SetEntries[Name][] {
  const isOthers = remove === 'others'
  const keys = isOthers ? [...draft.entries.keys()].filter((key) => !given.has(key)) : remove
  return keys.flatMap((key) => {
    const existing = draft.entries.get(key)
    if (!existing) return []
    const may = isOthers ? rank(existing.giver) >= rank(by.giver) : existing.giver === by.giver
    return (by.giver === 'user' || may) && draft.entries.delete(key) ? [existing.value] : []
  })
}

/** Stores the keys of entries that a person removed or replaced, and drops those that the set contains now. */
function rememberRemoved<Name extends SetName>(name: Name, draft: Draft<Name>, gone: readonly SetEntries[Name][]): void {
  const keyOf = SET_RULES[name].removedKeyOf as (entry: SetEntries[Name]) => string
  const existing = new Set([...draft.entries.values()].map(({ value }) => keyOf(value)))
  const removed = new Set([...gone.map(keyOf), ...draft.removed])
  draft.removed = [...removed].filter((key) => !existing.has(key)).slice(0, REMOVED_MAX)
}

/** A person may change everything. Returns the values that were there before. */
function addByPerson<Name extends SetName>(name: Name, draft: Draft<Name>, given: Given<Name>, by: SetChanger): SetEntries[Name][] {
  if (given.size === 0) return []
  makeRoom(name, draft, given, by)
  const replaced: SetEntries[Name][] = []
  for (const [key, value] of given) {
    const existing = draft.entries.get(key)
    if (existing) replaced.push(existing.value)
    draft.entries.set(
      key,
      existing ? { ...existing, value: isNames(name) ? existing.value : value, giver: 'user' } : { value, giver: 'user' },
    )
  }
  return replaced
}

/** Removes as many names of machines as a person's names need room, those from files first. @throws invalid_value if that is not enough */
function makeRoom<Name extends SetName>(name: Name, draft: Draft<Name>, given: Given<Name>, { kind, id }: SetChanger): void {
  const { most, what } = SET_RULES[name]
  const others = [...draft.entries].filter(([key]) => !given.has(key))
  if (!isNames(name)) {
    const isLonger = [...given.keys()].some((key) => !draft.entries.has(key))
    if (isLonger && others.length + given.size > most) refuse('invalid_value', `There are ${most} ${what} already; delete some first.`)
    return
  }
  const ofPeople = others.filter(([, { giver }]) => giver === 'user').length
  if (ofPeople > 0 && ofPeople + given.size > most)
    refuse(
      'invalid_value',
      `A ${kind} has at most ${most} ${what}, and ${id} already has ${ofPeople} others that people added. Remove some first. Nothing was changed.`,
    )
  const spare = others.filter(([, { giver }]) => giver !== 'user').sort(([, one], [, other]) => rank(other.giver) - rank(one.giver))
  for (const [key] of spare.slice(0, Math.max(0, others.length + given.size - most))) draft.entries.delete(key)
}

/** Whether a stronger source prevented a change. */
function addByMachine<Name extends SetName>(name: Name, draft: Draft<Name>, given: Given<Name>, giver: Giver): boolean {
  const { most } = SET_RULES[name]
  const removedKeyOf = SET_RULES[name].removedKeyOf as (entry: SetEntries[Name]) => string
  const removed = new Set(draft.removed)
  const titles = new Set(name === 'alternateTitles' ? [...draft.entries.values()].map(titleKey) : [])
  let isRefused = false
  for (const [key, value] of given) {
    const existing = draft.entries.get(key)
    if (removed.has(removedKeyOf(value))) isRefused = true
    else if (existing && rank(existing.giver) < rank(giver)) isRefused ||= !hasValues(existing.value, value)
    else if (existing) draft.entries.set(key, { ...existing, value: merged(existing.value, value), giver })
    else if (draft.entries.size < most && !titles.has(titleKey({ value }))) draft.entries.set(key, { value, giver })
    if (name === 'alternateTitles') titles.add(titleKey({ value }))
  }
  return isRefused
}

/** Equal for equal titles with different labels; an empty text for entries of other sets. */
const titleKey = ({ value }: { value: SetEntries[SetName] }): string =>
  typeof value === 'object' && 'title' in value ? nameKey(value.title) : ''

/** Returns the values that were there before. */
function editEntry<Name extends SetName>(
  name: Name,
  draft: Draft<Name>,
  { key, value }: { key: string; value: SetEntries[Name] },
): SetEntries[Name][] {
  const existing = draft.entries.get(key)
  if (!existing) return []
  const next = SET_RULES[name].keyOf(value)
  // If the set already has an entry with the new key, the two become one.
  draft.entries = new Map(
    [...draft.entries]
      .filter(([one]) => one === key || one !== next)
      .map((one) => (one[0] === key ? [next, { ...existing, value, giver: 'user' }] : one)),
  )
  return [existing.value]
}

/** Merges new values into an entry; a name keeps its first spelling. */
const merged = <Value>(existing: Value, given: Value): Value => (typeof existing === 'object' ? { ...existing, ...given } : existing)

/** Whether an entry already has all given values. */
export const hasValues = <Value>(existing: Value, given: Value): boolean => isSameEntry(merged(existing, given), existing)

const bare = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).filter(([, member]) => member != null)) : value

/** Whether two entries are equal; absent values are ignored. */
export const isSameEntry = (one: unknown, other: unknown): boolean => isDeepStrictEqual(bare(one), bare(other))

function isSameContent(before: ReadonlyMap<string, GivenEntry>, after: ReadonlyMap<string, GivenEntry>): boolean {
  return before.size === after.size && [...after].every(([key, { value }]) => isSameEntry(before.get(key)?.value, value))
}
