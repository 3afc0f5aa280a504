import { isDeepStrictEqual } from 'node:util'
import { FACTS, type FactName, type Facts, type Givers, mergedFact } from '#core/matching/fact.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import type { MetadataRecord } from '#core/metadata/field.ts'
import { fieldsOf, type Kind } from '#core/metadata/metadata-record-store.ts'

/** What a provider says of one series or book, in the terms of this house. What is missing it does not say. */
export interface Proposal {
  /** Members of the fields of the kind. */
  values: Readonly<Record<string, unknown>>
  facts: Partial<Facts>
  coverUrl: string | null
}

/** How a record stands before a proposal is applied. */
export interface Standing {
  record: MetadataRecord
  facts: Facts
  /** Who gave what of them. */
  givers: Record<FactName, Givers>
  /** Keys of tags that a person took away. */
  removedTags: readonly string[]
  /** Whether somebody has chosen a cover, or a plugin's is there already. */
  hasChosenCover: boolean
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
const COVER = 'cover'

/** Everything that can be proposed for a kind, in the order that people look at it. */
export const proposable = (kind: Kind): string[] => [
  ...fieldsOf(kind)
    .filter(({ name, role }) => role === undefined && !OWN.has(name))
    .map(({ name }) => name),
  ...FACTS[kind],
  COVER,
]

/** The lock that keeps a fact as it is. Identifiers, links, ratings and the tags of books have none: of those a machine leaves what a person said. */
const lockOf = (kind: Kind, fact: FactName): string | null => {
  if (fact === 'genres') return kind === 'series' ? 'genres' : 'genre'
  if (fact === 'tags') return kind === 'series' ? 'tags' : null
  return fact === 'alternateTitles' ? 'alternateTitles' : null
}

/** What a fact of a record would be with what a proposal says of it. */
export const mergedOf = <Name extends FactName>({ facts, givers, removedTags }: Standing, name: Name, given: Facts[Name]) =>
  mergedFact<Name>(name, { value: facts[name], givers: givers[name] }, given, name === 'tags' ? removedTags : [])

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** What a proposal would change, every field with its reason. Pure: applying does exactly what this says. */
export function previewProposal(kind: Kind, standing: Standing, proposal: Proposal, choice: Choice): FieldPreview[] {
  const { record, facts } = standing
  return proposable(kind).map((field) => {
    const show = (currentValue: unknown, proposedValue: unknown, status: FieldStatus, reason: string | null = null): FieldPreview => ({
      ...{ field, status, reason },
      currentValue: currentValue ?? null,
      proposedValue: proposedValue ?? null,
    })
    const fact = FACTS[kind].find((name) => name === field)
    const current = fact ? facts[fact] : record.values[field]
    const given = fact ? proposal.facts[fact] : field === COVER ? proposal.coverUrl : proposal.values[field]
    if (isNothing(given)) return show(current, null, 'not_provided', 'The provider does not say it.')
    const merged = fact && mergedOf(standing, fact, given as never)
    const proposed = merged ? merged.value : given
    if (choice.targets !== null && !choice.targets.includes(field))
      return show(current, proposed, 'no_permission', 'This provider is not used for this field.')
    if (choice.fields !== null && !choice.fields.includes(field)) return show(current, proposed, 'no_permission', 'It was not chosen.')
    if (choice.gapsOnly && (field === COVER ? standing.hasChosenCover : !isNothing(current) && !isFromName(record, field)))
      return show(current, proposed, 'unchanged', 'It has a value already.')
    const lock = fact ? lockOf(kind, fact) : field
    if (lock !== null && record.locks.has(lock)) return show(current, proposed, 'locked', 'It is locked.')
    if (field === COVER)
      return standing.hasChosenCover ? show(null, given, 'locked', 'A cover has been chosen.') : show(null, given, 'will_apply')
    if (merged) {
      if (!isDeepStrictEqual(current, proposed)) return show(current, proposed, 'will_apply')
      return merged.isRefused ? show(current, proposed, 'locked', BY_HAND) : show(current, proposed, 'unchanged')
    }
    const [outcome] = applyPatch(fieldsOf(kind), record, { [field]: given }, 'plugin').outcomes
    if (outcome?.result === 'outranked') return show(current, proposed, 'locked', BY_HAND)
    if (outcome?.result === 'locked') return show(current, proposed, 'locked', 'It is locked.')
    return show(current, proposed, outcome?.result === 'unchanged' ? 'unchanged' : 'will_apply')
  })
}

const BY_HAND = 'Somebody has said otherwise by hand.'
/** A title that is only the name of a folder or file is as good as none. */
const isFromName = (record: MetadataRecord, field: string): boolean => record.sources[field] === 'file_name'
