import { SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { fieldsOf, type Kind, type PatchOf } from '#core/metadata/record-kind.ts'

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
  /** Fields that the provider is used for; null for all. */
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
