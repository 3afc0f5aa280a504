import { SETS, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { fieldsOf, type Kind, type PatchOf } from '#core/metadata/record-kind.ts'

/** What a provider says of one series or book, in the terms of this house. What is missing it does not say. */
export interface Proposal {
  /** Members of the fields of the kind. */
  values: PatchOf[Kind]
  sets: { readonly [Name in SetName]?: readonly SetEntries[Name][] }
  coverUrl: string | null
}

export const FIELD_STATUSES = ['will_apply', 'locked', 'no_permission', 'unchanged', 'not_provided'] as const
export type FieldStatus = (typeof FIELD_STATUSES)[number]

/** What would become of one field. */
export interface FieldPreview {
  field: string
  currentValue: unknown
  proposedValue: unknown
  status: FieldStatus
  /** Why not; null where it will be applied. */
  reason: string | null
}

/** Which fields may be applied at all. */
export interface Choice {
  /** Those that somebody has chosen; all where it is null. */
  fields: readonly string[] | null
  /** Those that the provider is used for; all where it is null. */
  targets: readonly string[] | null
  /** Leaves whatever has a value. */
  gapsOnly?: boolean
}

/** Nobody proposes these: they are the reader's own, or views of other fields. */
const OWN = new Set(['customMetadata', 'genre'])
export const COVER = 'cover'

/** Everything that can be proposed for a kind, in the order that people look at it. */
export const proposable = (kind: Kind): string[] => [
  ...fieldsOf(kind)
    .filter(({ name, role }) => role === undefined && !OWN.has(name))
    .map(({ name }) => name),
  ...SETS[kind],
  COVER,
]
