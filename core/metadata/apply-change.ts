import { isDeepStrictEqual } from 'node:util'
import { changedNames, type Giver, type MetadataRecord, type Source } from '#core/fields/field.ts'
import { fieldsOf, type Kind, type PatchOf } from '#core/fields/record-kind.ts'
import { isPossibleDate } from '#core/fields/release-date.ts'
import { applyPatch, isSameText, type Outcome } from '#core/metadata/apply-patch.ts'
import { applySet, isSameEntry, type SetChange } from '#core/metadata/apply-set.ts'
import { isNames, type MetadataSet, type MetadataSets, SET_RULES, SETS, type SetName } from '#core/metadata/metadata-set.ts'

export type SetChanges = { readonly [Name in SetName]?: SetChange<Name> }

/** A change of one book or series by a person or a machine. */
export interface MetadataChange<One extends Kind = Kind> {
  /** By field name: null clears, absent fields stay. */
  values?: PatchOf[One]
  sets?: SetChanges
}

/** The sets and locks of a book or series, for changes of sets only. */
export interface SetState {
  id: string
  sets: MetadataSets
  locks: ReadonlySet<string>
}

/** A book or series with everything that a change may affect. */
export type MetadataState = SetState & MetadataRecord

/**
 * The one rule for every change of a book or series: fields by {@link applyPatch}, sets by {@link applySet}. A lock excludes every machine; a
 * person who changes genres or tags also locks them, if they have a lock.
 * @throws invalid_value if a person exceeds a limit
 */
export function applyChange<One extends Kind, State extends MetadataState>(
  kind: One,
  state: State,
  change: MetadataChange<One>,
  source: Source,
): { next: State; outcomes: Outcome[] } {
  const patched = applyValues(kind, state, change.values ?? {}, source)
  const withValues = { ...state, ...patched.next }
  // A file name provides no sets.
  if (source === 'file_name' || change.sets === undefined) return { next: withValues, outcomes: patched.outcomes }
  const { next, outcomes } = applySets(kind, withValues, change.sets, source)
  return { next, outcomes: [...patched.outcomes, ...outcomes] }
}

/**
 * Fields by {@link applyPatch}. If a machine gives a date that does not exist, its members are left out, the day first; such a date from a person is refused
 * before it is stored.
 */
function applyValues(
  kind: Kind,
  state: MetadataState,
  values: Readonly<Record<string, unknown>>,
  source: Source,
): ReturnType<typeof applyPatch> {
  const apply = (patch: Readonly<Record<string, unknown>>) => applyPatch(fieldsOf(kind), state, patch, source)
  const patched = apply(values)
  if (source === 'user' || isPossibleDate(patched.next.values)) return patched
  const { day: _, ...withoutDay } = values
  const { month: __, ...yearOnly } = withoutDay
  const { year: ___, ...undated } = yearOnly
  for (const patch of [{ ...withoutDay, day: null }, withoutDay, yearOnly]) {
    const tried = apply(patch)
    if (isPossibleDate(tried.next.values)) return tried
  }
  return apply(undated)
}

/** Like {@link applyChange}, for sets only. */
export function applySets<State extends SetState>(
  kind: Kind,
  state: State,
  changes: SetChanges,
  giver: Giver,
): { next: State; outcomes: Outcome[] } {
  const sets: { [Name in SetName]?: MetadataSet } = { ...state.sets }
  const locks = new Set(state.locks)
  const outcomes: Outcome[] = []
  for (const name of SETS[kind]) {
    const change = changes[name] as SetChange | undefined
    if (!change) continue
    const current = sets[name]
    if (!current) throw new Error(`The ${name} of ${kind} ${state.id} were not read before they were changed`)
    const lock = SET_RULES[name].lock[kind]
    if (giver !== 'user' && lock !== null && locks.has(lock)) {
      outcomes.push({ field: name, result: 'locked' })
      continue
    }
    // A form sends all values back; an unchanged set must not count as edited.
    if (giver === 'user' && isUnchanged(name, current, change)) {
      outcomes.push({ field: name, result: 'unchanged' })
      continue
    }
    const { next, result } = applySet(name, current, change, { kind, id: state.id, giver })
    sets[name] = next
    if (giver === 'user' && lock !== null && isNames(name)) locks.add(lock)
    outcomes.push({ field: name, result })
  }
  return { next: { ...state, sets: sets as MetadataSets, locks }, outcomes }
}

/** Whether a set already has exactly these entries, in any spelling of the names. */
function isUnchanged(name: SetName, { entries }: MetadataSet, { add = [], remove }: SetChange): boolean {
  if (remove !== 'others') return false
  const keyOf = SET_RULES[name].keyOf as (entry: unknown) => string
  const given = new Map(add.map((entry) => [keyOf(entry), entry]))
  return (
    given.size === entries.size &&
    [...given].every(
      ([key, value]) =>
        entries.has(key) &&
        (isNames(name) || isSameEntry({ ...(entries.get(key)?.value as object), ...(value as object) }, entries.get(key)?.value)),
    )
  )
}

/** Whether values and sources are equal; of values whose order is kept, the order counts. */
export function isSameContent(kind: Kind, before: MetadataRecord, after: MetadataRecord): boolean {
  const isSame = isDeepStrictEqual([before.values, before.sources], [after.values, after.sources])
  return isSame && fieldsOf(kind).every(({ name, ordered }) => !ordered || isSameText(before.values[name], after.values[name]))
}

export const isSameLocks = (before: Pick<SetState, 'locks'>, after: Pick<SetState, 'locks'>): boolean =>
  before.locks.size === after.locks.size && [...after.locks].every((name) => before.locks.has(name))

/** The members of a book or series whose values differ; for sets, whose entries differ. */
export function changedMembers(before: MetadataState, after: MetadataState): string[] {
  return [...changedNames(before, after), ...changedSets(before, after)]
}

export function changedSets(before: Pick<SetState, 'sets'>, after: Pick<SetState, 'sets'>): SetName[] {
  const valuesOf = (set: MetadataSet | undefined) => [...(set?.entries ?? [])].map(([key, { value }]) => [key, value])
  return (Object.keys(after.sets) as SetName[]).filter((name) => {
    const [one, other] = [before.sets[name] as MetadataSet | undefined, after.sets[name] as MetadataSet | undefined]
    return one !== other && !isDeepStrictEqual(valuesOf(one), valuesOf(other))
  })
}
