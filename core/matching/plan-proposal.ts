import { isDeepStrictEqual } from 'node:util'
import type { Kind } from '#core/fields/record-kind.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { type Choice, COVER, type FieldPreview, type FieldStatus, isTarget, type Proposal, proposable } from '#core/matching/proposal.ts'
import { applyChange, type MetadataChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { applySet } from '#core/metadata/apply-set.ts'
import { emptySet, isNames, type MetadataSet, SET_RULES, type SetName, valueOfSet } from '#core/metadata/metadata-set.ts'

/** A record before a proposal is applied. */
interface CurrentRecord {
  state: MetadataState
  /** Whether a user has selected a cover, or a plugin has added one. */
  hasChosenCover: boolean
}

/** The change for some fields and sets of a proposal. Genres and tags replace those that machines gave before; entries of other sets are added. */
function changeOf(proposal: Proposal, fields: ReadonlySet<string>): MetadataChange {
  const isChosen = ([name]: [string, unknown]) => fields.has(name)
  const setChange = ([name, add]: [string, unknown]) => [name, { add, ...(isNames(name as SetName) && { remove: 'others' }) }]
  return {
    values: Object.fromEntries(Object.entries(proposal.values).filter(isChosen)),
    sets: Object.fromEntries(Object.entries(proposal.sets).filter(isChosen).map(setChange)),
  }
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

interface Plan {
  fields: FieldPreview[]
  next: MetadataState
}

/** What a proposal changes, every field with its reason, and the record with all of it. Pure: applying does exactly what this returns. */
export function planProposal(kind: Kind, record: CurrentRecord, proposal: Proposal, choice: Choice): Plan {
  const fields = previewFields(kind, record, proposal, choice)
  // An equal value is confirmed: it counts as the provider's from now on.
  const given = fields.filter(({ status, reason }) => status === 'will_apply' || (status === 'unchanged' && reason === null))
  const change = changeOf(proposal, new Set(given.map(({ field }) => field)))
  const applied = applyChange(kind, record.state, change, 'plugin').next
  // The sort title follows the title, unless the provider or another source gives one.
  const { title, titleSort } = change.values ?? {}
  const next = kind === 'series' && title !== undefined && titleSort === undefined ? withSortTitle(applied) : applied
  return { fields: fields.map((field) => asPlanned(field, record.state, next)), next }
}

/** A field may change with others, such as the sort title, and may not change because of others, such as the day of a date that does not exist. */
function asPlanned(preview: FieldPreview, { values: before }: MetadataState, { values }: MetadataState): FieldPreview {
  const { field, status } = preview
  if (field === COVER || field in SET_RULES) return preview
  const isChanged = !isDeepStrictEqual(before[field], values[field])
  if (isChanged && status !== 'will_apply') return { ...preview, status: 'will_apply', reason: null, proposedValue: values[field] ?? null }
  return !isChanged && status === 'will_apply' ? { ...preview, status: 'unchanged', reason: 'It does not fit the other values.' } : preview
}

/** What each field of a proposal would change by itself. */
function previewFields(kind: Kind, { state, hasChosenCover }: CurrentRecord, proposal: Proposal, choice: Choice): FieldPreview[] {
  return proposable(kind).map((field) => {
    const { current, given, proposed } = valuesOfField(kind, state, proposal, field)
    const preview = (
      status: FieldStatus,
      reason: string | null = null,
      currentValue = current,
      proposedValue = proposed,
    ): FieldPreview => ({
      field,
      status,
      reason,
      currentValue: currentValue ?? null,
      proposedValue: proposedValue ?? null,
    })
    if (isNothing(given)) return preview('not_provided', 'The provider has no value for it.', current, null)
    if (!isTarget(choice, field)) return preview('no_permission', 'This provider is not used for this field.')
    if (choice.fields !== null && !choice.fields.includes(field)) return preview('no_permission', 'It was not chosen.')
    if (choice.gapsOnly && (field === COVER ? hasChosenCover : !isNothing(current) && !isFromName(state, field)))
      return preview('unchanged', 'It has a value already.')
    const lock = field in SET_RULES ? SET_RULES[field as SetName].lock[kind] : field
    if (lock !== null && state.locks.has(lock)) return preview('locked', 'It is locked.')
    if (field === COVER) return hasChosenCover ? preview('locked', 'A cover has been chosen.') : preview('will_apply')
    const [outcome] = applyChange(kind, state, changeOf(proposal, new Set([field])), 'plugin').outcomes
    if (outcome?.result === 'outranked') return preview('locked', BY_USER)
    if (outcome?.result === 'locked') return preview('locked', 'It is locked.')
    return preview(outcome?.result === 'unchanged' ? 'unchanged' : 'will_apply')
  })
}

/** The current value of a field, the provider's value, and the value after applying it. */
function valuesOfField(
  kind: Kind,
  state: MetadataState,
  proposal: Proposal,
  field: string,
): { current: unknown; given: unknown; proposed: unknown } {
  if (field === COVER) return { current: null, given: proposal.coverUrl, proposed: proposal.coverUrl }
  const values: Readonly<Record<string, unknown>> = proposal.values
  const given = field in SET_RULES ? proposal.sets[field as SetName] : values[field]
  if (!(field in SET_RULES)) return { current: state.values[field], given, proposed: given }
  const name = field as SetName
  const set: MetadataSet = state.sets[name] ?? emptySet()
  const { add = [], remove } = changeOf(proposal, new Set([name])).sets?.[name] ?? {}
  const { next } = applySet(name, set, { add, ...(remove && { remove }) }, { kind, id: state.id, giver: 'plugin' })
  const listed = ({ entries }: MetadataSet) =>
    valueOfSet(
      name,
      [...entries].map(([key, { value }]) => [key, value] as const),
    )
  return { current: listed(set), given, proposed: listed(next) }
}

const BY_USER = 'A user has entered another value.'
/** A title that is only the name of a folder or file counts as missing. */
const isFromName = ({ sources }: MetadataState, field: string): boolean => sources[field] === 'file_name'
