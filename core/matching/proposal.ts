import { applyChange, type MetadataChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { applySet } from '#core/metadata/apply-set.ts'
import {
  emptySet,
  isNames,
  type MetadataSet,
  SET_RULES,
  SETS,
  type SetEntries,
  type SetName,
  valueOfSet,
} from '#core/metadata/metadata-set.ts'
import { fieldsOf, type Kind, type PatchOf } from '#core/metadata/record-kind.ts'

/** The data of a provider for one series or book. Missing members mean that it has none. */
export interface Proposal {
  /** Members are the fields of the kind. */
  values: PatchOf[Kind]
  sets: { readonly [Name in SetName]?: readonly SetEntries[Name][] }
  coverUrl: string | null
}

/** The state of a record before a proposal is applied. */
export interface Standing {
  state: MetadataState
  /** Whether a user has selected a cover, or the cover of the plugin exists already. */
  hasChosenCover: boolean
}

export const FIELD_STATUSES = ['will_apply', 'locked', 'no_permission', 'unchanged', 'not_provided'] as const
export type FieldStatus = (typeof FIELD_STATUSES)[number]

/** The preview of one field. */
export interface FieldPreview {
  field: string
  currentValue: unknown
  proposedValue: unknown
  status: FieldStatus
  /** Why it will not be applied; null if it will be. */
  reason: string | null
}

/** Which fields may be applied. */
export interface Choice {
  /** Fields that the user has chosen; null for all. */
  fields: readonly string[] | null
  /** Fields that the provider is used for; null for all. */
  targets: readonly string[] | null
  /** Keeps all existing values. */
  gapsOnly?: boolean
}

/** Never proposed: personal data of users, and views of other fields. */
const OWN = new Set(['customMetadata', 'genre'])
const COVER = 'cover'

/** All fields that can be proposed for a kind, in display order. */
export const proposable = (kind: Kind): string[] => [
  ...fieldsOf(kind)
    .filter(({ name, role }) => role === undefined && !OWN.has(name))
    .map(({ name }) => name),
  ...SETS[kind],
  COVER,
]

/** The change by a provider. Genres and tags are complete lists, which replace those from machines; other sets are extended. */
export function changeOf(proposal: Proposal, fields: ReadonlySet<string>): MetadataChange {
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

/** Previews a proposal: every field with its reason. Pure; applying does exactly this. */
export function previewProposal(kind: Kind, { state, hasChosenCover }: Standing, proposal: Proposal, choice: Choice): FieldPreview[] {
  return proposable(kind).map((field) => {
    const { current, given, proposed } = shownOf(kind, state, proposal, field)
    const show = (status: FieldStatus, reason: string | null = null, currentValue = current, proposedValue = proposed): FieldPreview => ({
      ...{ field, status, reason },
      currentValue: currentValue ?? null,
      proposedValue: proposedValue ?? null,
    })
    if (isNothing(given)) return show('not_provided', 'The provider does not say it.', current, null)
    if (choice.targets !== null && !choice.targets.includes(field))
      return show('no_permission', 'This provider is not used for this field.')
    if (choice.fields !== null && !choice.fields.includes(field)) return show('no_permission', 'It was not chosen.')
    if (choice.gapsOnly && (field === COVER ? hasChosenCover : !isNothing(current) && !isFromName(state, field)))
      return show('unchanged', 'It has a value already.')
    const lock = field in SET_RULES ? SET_RULES[field as SetName].lock[kind] : field
    if (lock !== null && state.locks.has(lock)) return show('locked', 'It is locked.')
    if (field === COVER) return hasChosenCover ? show('locked', 'A cover has been chosen.') : show('will_apply')
    const [outcome] = applyChange(kind, state, changeOf(proposal, new Set([field])), 'plugin').outcomes
    if (outcome?.result === 'outranked') return show('locked', BY_HAND)
    if (outcome?.result === 'locked') return show('locked', 'It is locked.')
    return show(outcome?.result === 'unchanged' ? 'unchanged' : 'will_apply')
  })
}

/** A field with its current, proposed and resulting value. */
function shownOf(
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
  const { next } = applySet(name as SetName, set, { add, ...(remove && { remove }) }, { kind, id: state.id, giver: 'plugin' })
  const shown = ({ entries }: MetadataSet) =>
    valueOfSet(
      name as SetName,
      [...entries].map(([key, { value }]) => [key, value] as const),
    )
  return { current: shown(set), given, proposed: shown(next) }
}

const BY_HAND = 'Somebody has said otherwise by hand.'
/** A title from the name of a folder or file counts as missing. */
const isFromName = ({ sources }: MetadataState, field: string): boolean => sources[field] === 'file_name'
