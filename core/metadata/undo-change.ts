import { isDeepStrictEqual } from 'node:util'
import type { Giver, Source } from '#core/fields/field.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import type { MetadataState } from '#core/metadata/apply-change.ts'
import { isSameEntry } from '#core/metadata/apply-set.ts'
import { type GivenEntry, type MetadataSet, type MetadataSets, SET_RULES, SETS, type SetName } from '#core/metadata/metadata-set.ts'

/** An entry before and after; null if absent. */
interface EntryDifference {
  key: string
  before: { value: unknown; giver: Giver } | null
  after: { value: unknown; giver: Giver } | null
}

/** The effect of a change on a book or series; enough to undo it. Plain values, because it is stored as JSON. */
export interface Difference {
  /** Values before and after; `authors` includes the sources of the roles. */
  values: Record<string, { before: unknown; after: unknown; sources: Record<string, Source | null> }>
  /** Entries that differ, also in their source only. */
  sets: { [Name in SetName]?: EntryDifference[] }
  /** How often people had set all entries of these sets; only counts above 0. */
  replacements?: { [Name in SetName]?: number }
}

/** The members whose values differ, without those of which only the source does. */
export const changedIn = ({ values, sets }: Difference): string[] => [
  ...Object.keys(values).filter((name) => !isDeepStrictEqual(values[name]?.before, values[name]?.after)),
  ...Object.keys(sets).filter((name) =>
    sets[name as SetName]?.some(({ before, after }) => !isSameEntry(before?.value, after?.value) || (before === null) !== (after === null)),
  ),
]

export function differenceOf(kind: Kind, before: MetadataState, after: MetadataState): Difference {
  const roles = fieldsOf(kind).flatMap(({ name, role }) => (role === undefined ? [] : [name]))
  const values: Difference['values'] = {}
  for (const { name, role } of fieldsOf(kind)) {
    if (role !== undefined) continue
    if (isDeepStrictEqual(before.values[name], after.values[name]) && before.sources[name] === after.sources[name]) continue
    const names = name === 'authors' ? [name, ...roles] : [name]
    const sources = Object.fromEntries(names.map((one) => [one, before.sources[one] ?? null]))
    values[name] = { before: before.values[name] ?? null, after: after.values[name] ?? null, sources }
  }
  const sets: Difference['sets'] = {}
  for (const name of SETS[kind]) {
    const entries = differentEntries(before.sets[name], after.sets[name])
    if (entries.length > 0) sets[name] = entries
  }
  const counts = Object.keys(sets).map((name) => [name, after.sets[name as SetName]?.replacements ?? 0] as const)
  const replacements = Object.fromEntries(counts.filter(([, count]) => count > 0))
  return { values, sets, ...(Object.keys(replacements).length > 0 && { replacements }) }
}

function differentEntries(before: MetadataSet | undefined, after: MetadataSet | undefined): EntryDifference[] {
  const entryOf = (set: MetadataSet | undefined, key: string) => {
    const entry = set?.entries.get(key)
    return entry ? { value: entry.value, giver: entry.giver } : null
  }
  const keys = new Set([...(before?.entries.keys() ?? []), ...(after?.entries.keys() ?? [])])
  return [...keys]
    .map((key) => ({ key, before: entryOf(before, key), after: entryOf(after, key) }))
    .filter((one) => !isSameGiven(one.before, one.after))
}

const isSameGiven = (one: EntryDifference['before'], other: EntryDifference['before']): boolean =>
  one?.giver === other?.giver && isSameEntry(one?.value, other?.value)

/** The result of an undo. */
interface Undone {
  next: MetadataState
  /** The restored fields. */
  undone: string[]
  /** The fields that stay, completely or in part, with the reason. */
  left: { field: string; reason: string }[]
  /** The later changes, as if this one had not been made. */
  later: Difference[]
}

/**
 * Undoes a change of a book or series: restores every field and every entry that was not changed or locked since. Entries that people have added, removed or
 * set as a whole since stay. If a later change replaced a value of this one, the later change takes over the value before this one, so that changes can be
 * undone in any order, and the record is then as if they had not been made.
 * @param later changes of the same record after this one that are not undone, the oldest first
 */
export function undoDifference(kind: Kind, state: MetadataState, change: Difference, later: readonly Difference[] = []): Undone {
  const done: Undone = {
    next: state,
    undone: [],
    left: [],
    later: later.map(({ values, sets, ...rest }) => ({ values: { ...values }, sets: { ...sets }, ...rest })),
  }
  const values: Record<string, unknown> = { ...state.values }
  const sources: Record<string, Source> = { ...state.sources }
  for (const [field, { before, after, sources: earlier }] of Object.entries(change.values)) {
    const reason = replaceEarlierValue(done.later, change, field) ? REPLACED : objection(state, field, { after, sources: earlier })
    if (reason !== null) {
      done.left.push({ field, reason })
      continue
    }
    if (before === null) delete values[field]
    else values[field] = before
    for (const [name, source] of Object.entries(earlier)) {
      if (source === null) delete sources[name]
      else sources[name] = source
    }
    done.undone.push(field)
  }
  const sets = undoSets(kind, state, change, done)
  return { ...done, next: { ...state, values, sources, sets } }
}

const LOCKED = 'It was locked since.'
const CHANGED = 'It was changed since.'
const PARTLY_CHANGED = 'Some of it was changed since; the rest was restored.'
const REPLACED = 'Metadata that was applied later replaced it.'

type ValueDifference = Difference['values'][string]

/** Why a value stays; null if it may be restored. */
function objection(state: MetadataState, field: string, { after, sources }: Pick<ValueDifference, 'after' | 'sources'>): string | null {
  if (state.locks.has(field)) return LOCKED
  const isOfPerson = Object.entries(sources).some(([name, source]) => source !== 'user' && state.sources[name] === 'user')
  return isOfPerson || !isDeepStrictEqual(state.values[field] ?? null, after) ? CHANGED : null
}

/** Whether a later change gave the field another value. That change then stores the value from before this one, unless the field was changed in between. */
function replaceEarlierValue(later: readonly Difference[], { values }: Difference, field: string): boolean {
  const change = values[field] as ValueDifference
  const next = later.find((one) => field in one.values)
  const replaced = next?.values[field]
  if (!next || !replaced) return false
  if (isDeepStrictEqual(replaced.before, change.after)) next.values[field] = { ...replaced, before: change.before, sources: change.sources }
  return true
}

function undoSets(kind: Kind, state: MetadataState, change: Difference, { undone, left, later }: Undone): MetadataSets {
  const sets: { [Name in SetName]?: MetadataSet } = { ...state.sets }
  for (const name of SETS[kind]) {
    const entries = change.sets[name]
    const current = sets[name]
    if (!entries || !current) continue
    const open = entries.filter((entry) => !replaceEarlierEntry(later, { name, entry, replacements: change.replacements?.[name] ?? 0 }))
    const lock = SET_RULES[name].lock[kind]
    if (lock !== null && state.locks.has(lock)) {
      left.push({ field: name, reason: LOCKED })
      continue
    }
    if ((current.replacements ?? 0) !== (change.replacements?.[name] ?? 0)) {
      left.push({ field: name, reason: CHANGED })
      continue
    }
    const { next, count } = undoEntries(name, current, open)
    sets[name] = next
    if (count === entries.length) undone.push(name)
    else left.push({ field: name, reason: count > 0 ? PARTLY_CHANGED : open.length === 0 ? REPLACED : CHANGED })
  }
  return sets as MetadataSets
}

interface EarlierEntry {
  name: SetName
  entry: EntryDifference
  replacements: number
}

/** Like {@link replaceEarlierValue}, for an entry of a set. */
function replaceEarlierEntry(later: readonly Difference[], { name, entry, replacements }: EarlierEntry): boolean {
  const next = later.find(({ sets }) => sets[name]?.some(({ key }) => key === entry.key))
  const entries = next?.sets[name]
  if (!next || !entries) return false
  const isSameSet = (next.replacements?.[name] ?? 0) === replacements
  next.sets[name] = entries.map((one) =>
    one.key === entry.key && isSameSet && isSameGiven(one.before, entry.after) ? { ...one, before: entry.before } : one,
  )
  return true
}

function undoEntries(name: SetName, current: MetadataSet, changed: readonly EntryDifference[]): { next: MetadataSet; count: number } {
  const entries = new Map(current.entries)
  const removedKeyOf = SET_RULES[name].removedKeyOf as (entry: unknown) => string
  const removed = new Set(current.removed)
  const asApplied = changed.filter(
    ({ key, before, after }) =>
      isSameGiven(entries.get(key) ?? null, after) && !(before !== null && removed.has(removedKeyOf(before.value))),
  )
  for (const { key, before } of asApplied) if (before === null) entries.delete(key)
  for (const { key, before } of asApplied) {
    if (before === null || (!entries.has(key) && entries.size >= SET_RULES[name].most)) continue
    entries.set(key, { ...entries.get(key), ...before } as GivenEntry)
  }
  return { next: { ...current, entries }, count: asApplied.length }
}
