import { fieldsOf, type Kind, type PatchOf } from '#core/fields/record-kind.ts'
import { SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'

/** The data of a provider for one series or book. Missing members mean that it has none. */
export interface Proposal {
  /** Members are the fields of the kind. */
  values: PatchOf[Kind]
  sets: { readonly [Name in SetName]?: readonly SetEntries[Name][] }
  coverUrl: string | null
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
  /** Fields that the provider is used for; null for all. Its own identifier is always one of them: later matches find the record by it. */
  targets: readonly string[] | null
  /** Keeps all existing values. */
  gapsOnly?: boolean
}

/** Never proposed: personal data of users, and views of other fields. */
const OWN = new Set(['customMetadata', 'genre'])
export const COVER = 'cover'

/** All fields that can be proposed for a kind, in display order. */
export const proposable = (kind: Kind): string[] => [
  ...fieldsOf(kind)
    .filter(({ name, role }) => role === undefined && !OWN.has(name))
    .map(({ name }) => name),
  ...SETS[kind],
  COVER,
]

/** Whether a provider may give a field. */
export const isTarget = ({ targets }: Choice, field: string): boolean =>
  targets === null || field === 'externalIds' || targets.includes(field)

/** A proposal as far as its provider is used: without the field of identifiers only its own. */
export function withinTargets(proposal: Proposal, { targets }: Choice, idKey: string): Proposal {
  const { externalIds } = proposal.sets
  if (targets === null || targets.includes('externalIds') || externalIds === undefined) return proposal
  return { ...proposal, sets: { ...proposal.sets, externalIds: externalIds.filter(({ source }) => source === idKey) } }
}
