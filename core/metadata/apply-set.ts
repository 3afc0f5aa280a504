import { isDeepStrictEqual } from 'node:util'
import { refuse } from '#core/foundation/errors.ts'
import type { Outcome } from '#core/metadata/apply-patch.ts'
import { GIVERS, type Giver } from '#core/metadata/field.ts'
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
  /** What remains is all that the person wants, as with `others`. */
  isWhole?: boolean
}

/** The set to change, and the source of the change. */
interface SetChanger {
  kind: 'book' | 'series'
  /** For error messages. */
  id: string
  giver: Giver
}

/** Remembered keys that people removed from one set: more than twice the maximum number of entries. */
const REMOVED_MAX = 500

const rank = (giver: Giver): number => GIVERS.indexOf(giver)

/**
 * The one rule for every change of a set, by person or machine. A person adds and removes whatever they like, and what they add is theirs, even where a
 * machine gave it before. A machine adds, changes and removes only what machines gave: never what a stronger one gave, nor what a person took away; by
 * its key it removes only what its own kind gave. What a person removed or corrected is remembered until a person gives it again. What a set has no room for is left out, and for names of people those of machines make room. Locks are
 * looked at before.
 * @throws invalid_value where a person would give more than a set holds
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
    const standing = draft.entries.get(key)
    if (!standing) return []
    const may = isOthers ? rank(standing.giver) >= rank(by.giver) : standing.giver === by.giver
    return (by.giver === 'user' || may) && draft.entries.delete(key) ? [standing.value] : []
  })
}

/** Remembers what a person removed or replaced, and forgets what the set has now. */
function rememberRemoved<Name extends SetName>(name: Name, draft: Draft<Name>, gone: readonly SetEntries[Name][]): void {
  const keyOf = SET_RULES[name].removedKeyOf as (entry: SetEntries[Name]) => string
  const standing = new Set([...draft.entries.values()].map(({ value }) => keyOf(value)))
  const removed = new Set([...gone.map(keyOf), ...draft.removed])
  draft.removed = [...removed].filter((key) => !standing.has(key)).slice(0, REMOVED_MAX)
}

/** A person may change everything. Returns the values that were there before. */
function addByPerson<Name extends SetName>(name: Name, draft: Draft<Name>, given: Given<Name>, by: SetChanger): SetEntries[Name][] {
  if (given.size === 0) return []
  makeRoom(name, draft, given, by)
  const replaced: SetEntries[Name][] = []
  for (const [key, value] of given) {
    const standing = draft.entries.get(key)
    if (standing) replaced.push(standing.value)
    draft.entries.set(
      key,
      standing ? { ...standing, value: isNames(name) ? standing.value : value, giver: 'user' } : { value, giver: 'user' },
    )
  }
  return replaced
}

/** Takes away of the names that machines gave as many as stand in the way of a person, what files gave first. @throws invalid_value */
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
      `A ${kind} has at most ${most} ${what}, and ${id} has ${ofPeople} others from people already. Take some away first. Nothing was changed.`,
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
    const standing = draft.entries.get(key)
    if (removed.has(removedKeyOf(value))) isRefused = true
    else if (standing && rank(standing.giver) < rank(giver)) isRefused ||= !says(standing.value, value)
    else if (standing) draft.entries.set(key, { ...standing, value: merged(standing.value, value), giver })
    else if (draft.entries.size < most && !titles.has(titleKey({ value }))) draft.entries.set(key, { value, giver })
    if (name === 'alternateTitles') titles.add(titleKey({ value }))
  }
  return isRefused
}

/** By which a title is the same under another label; of no title nothing that a set of titles could hold. */
const titleKey = ({ value }: { value: SetEntries[SetName] }): string =>
  typeof value === 'object' && 'title' in value ? nameKey(value.title) : ''

/** Returns the values that were there before. */
function editEntry<Name extends SetName>(
  name: Name,
  draft: Draft<Name>,
  { key, value }: { key: string; value: SetEntries[Name] },
): SetEntries[Name][] {
  const standing = draft.entries.get(key)
  if (!standing) return []
  const next = SET_RULES[name].keyOf(value)
  // What it becomes may be there already: then there is one of them.
  draft.entries = new Map(
    [...draft.entries]
      .filter(([one]) => one === key || one !== next)
      .map((one) => (one[0] === key ? [next, { ...standing, value, giver: 'user' }] : one)),
  )
  return [standing.value]
}

/** Merges new values into an entry; a name keeps its first spelling. */
const merged = <Value>(standing: Value, given: Value): Value => (typeof standing === 'object' ? { ...standing, ...given } : standing)

/** Whether an entry already has all given values. */
export const says = <Value>(standing: Value, given: Value): boolean => isSameEntry(merged(standing, given), standing)

const bare = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).filter(([, member]) => member != null)) : value

/** Whether two entries are equal; absent values are ignored. */
export const isSameEntry = (one: unknown, other: unknown): boolean => isDeepStrictEqual(bare(one), bare(other))

function isSameContent(before: ReadonlyMap<string, GivenEntry>, after: ReadonlyMap<string, GivenEntry>): boolean {
  return before.size === after.size && [...after].every(([key, { value }]) => isSameEntry(before.get(key)?.value, value))
}
