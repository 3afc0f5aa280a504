import { isDeepStrictEqual } from 'node:util'
import type { MetadataState } from '#core/metadata/apply-change.ts'
import { isSameEntry } from '#core/metadata/apply-set.ts'
import type { Giver, Source } from '#core/metadata/field.ts'
import { type MetadataSet, type MetadataSets, SET_RULES, SETS, type SetName } from '#core/metadata/metadata-set.ts'
import { fieldsOf, type Kind } from '#core/metadata/record-kind.ts'

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
}

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
  return { values, sets }
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

/**
 * Puts back what a change made of a book or series: every field and every entry that nobody has changed or locked since. What a person has given or taken
 * away since stays so.
 * @returns the fields that were put back, and those that were left, or a part of them
 */
export function undoDifference(
  kind: Kind,
  state: MetadataState,
  { values: changedValues, sets: changedSets }: Difference,
): { next: MetadataState; undone: string[]; left: { field: string; reason: string }[] } {
  const undone: string[] = []
  const left: { field: string; reason: string }[] = []
  const values: Record<string, unknown> = { ...state.values }
  const sources: Record<string, Source> = { ...state.sources }
  for (const [field, change] of Object.entries(changedValues)) {
    const isAsApplied = isDeepStrictEqual(state.values[field] ?? null, change.after)
    if (state.locks.has(field) || !isAsApplied) {
      left.push({ field, reason: state.locks.has(field) ? LOCKED : CHANGED })
      continue
    }
    if (change.before === null) delete values[field]
    else values[field] = change.before
    for (const [name, source] of Object.entries(change.sources)) {
      if (source === null) delete sources[name]
      else sources[name] = source
    }
    undone.push(field)
  }
  const sets: { [Name in SetName]?: MetadataSet } = { ...state.sets }
  for (const name of SETS[kind]) {
    const entries = changedSets[name]
    const current = sets[name]
    if (!entries || !current) continue
    const lock = SET_RULES[name].lock[kind]
    if (lock !== null && state.locks.has(lock)) {
      left.push({ field: name, reason: LOCKED })
      continue
    }
    const { next, count } = undoEntries(name, current, entries)
    sets[name] = next
    if (count === entries.length) undone.push(name)
    else left.push({ field: name, reason: count === 0 ? CHANGED : PARTLY_CHANGED })
  }
  return { next: { ...state, values, sources, sets: sets as MetadataSets }, undone, left }
}

const LOCKED = 'It was locked since.'
const CHANGED = 'It was changed since.'
const PARTLY_CHANGED = 'Some of it was changed since; the rest was put back.'

function undoEntries(name: SetName, current: MetadataSet, changed: readonly EntryDifference[]): { next: MetadataSet; count: number } {
  const entries = new Map(current.entries)
  const asApplied = changed.filter(({ key, after }) => isSameGiven(entries.get(key) ?? null, after))
  for (const { key, before } of asApplied) if (before === null) entries.delete(key)
  for (const { key, before } of asApplied) {
    if (before === null || (!entries.has(key) && entries.size >= SET_RULES[name].most)) continue
    entries.set(key, { ...entries.get(key), ...before } as never)
  }
  return { next: { entries, removed: current.removed }, count: asApplied.length }
}
