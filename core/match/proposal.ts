import { isDeepStrictEqual } from 'node:util'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import type { Holding } from '#core/metadata/field.ts'
import { fieldsOf, type Kind } from '#core/metadata/holding-store.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
import { nameKey } from '#core/taxonomy/name.ts'

/** What stands beside the fields of a series or book, as far as a provider may say it. */
export interface Facts {
  genres: string[]
  tags: string[]
  /** Of a series only. */
  alternateTitles: { label: string; title: string }[]
  /** By source. */
  externalIds: Record<string, { externalId: string; externalUrl: string | null }>
  /** Addresses by source. */
  externalLinks: Record<string, string>
  /** Of a series only, by source, from 0 to 100. */
  externalRatings: Record<string, { rating: number; voteCount: number | null }>
}
export type FactName = keyof Facts

/** What a provider says of one series or book, in the terms of this house. What is missing it does not say. */
export interface Proposal {
  /** Members of the fields of the kind. */
  values: Readonly<Record<string, unknown>>
  facts: Partial<Facts>
  coverUrl: string | null
}

/** How a record stands before a proposal is applied. */
export interface Standing {
  holding: Holding
  facts: Facts
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

const FACTS: Record<Kind, readonly FactName[]> = {
  series: ['genres', 'tags', 'alternateTitles', 'externalIds', 'externalLinks', 'externalRatings'],
  book: ['genres', 'tags', 'externalIds', 'externalLinks'],
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

/** The lock that keeps a fact as it is; identifiers, links and ratings have none, for people do not write them. */
const lockOf = (kind: Kind, fact: FactName): string | null => {
  if (fact === 'genres') return kind === 'series' ? 'genres' : 'genre'
  if (fact === 'tags') return kind === 'series' ? 'tags' : null
  return fact === 'alternateTitles' ? 'alternateTitles' : null
}

/** What a fact would be: genres and tags take the place of those before, the rest is added to. */
export function mergedFact<Name extends FactName>(name: Name, before: Facts[Name], given: Facts[Name]): Facts[Name] {
  if (name === 'genres' || name === 'tags') {
    const known = new Map((before as string[]).map((one) => [nameKey(one), one]))
    const merged = new Map<string, string>()
    for (const one of given as string[]) {
      const key = nameKey(one)
      merged.set(key, known.get(key) ?? one)
    }
    return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name) as Facts[Name]
  }
  if (name === 'alternateTitles') {
    const titles = before as Facts['alternateTitles']
    const known = new Set(titles.map(({ title }) => nameKey(title)))
    const more = new Map<string, Facts['alternateTitles'][number]>()
    for (const one of given as Facts['alternateTitles']) {
      const key = nameKey(one.title)
      if (titles.length + more.size < ALTERNATE_TITLES_MAX && !known.has(key) && !more.has(key)) more.set(key, one)
    }
    return [...titles, ...more.values()] as Facts[Name]
  }
  return { ...(before as object), ...(given as object) } as Facts[Name]
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** What a proposal would change, every field with its reason. Pure: applying does exactly what this says. */
export function previewProposal(kind: Kind, standing: Standing, proposal: Proposal, choice: Choice): FieldPreview[] {
  const { holding, facts } = standing
  return proposable(kind).map((field) => {
    const show = (currentValue: unknown, proposedValue: unknown, status: FieldStatus, reason: string | null = null): FieldPreview => ({
      ...{ field, status, reason },
      currentValue: currentValue ?? null,
      proposedValue: proposedValue ?? null,
    })
    const fact = FACTS[kind].find((name) => name === field)
    const current = fact ? facts[fact] : holding.values[field]
    const given = fact ? proposal.facts[fact] : field === COVER ? proposal.coverUrl : proposal.values[field]
    if (isNothing(given)) return show(current, null, 'not_provided', 'The provider does not say it.')
    const proposed = fact ? mergedFact(fact, facts[fact] as never, given as never) : given
    if (choice.targets !== null && !choice.targets.includes(field))
      return show(current, proposed, 'no_permission', 'This provider is not used for this field.')
    if (choice.fields !== null && !choice.fields.includes(field)) return show(current, proposed, 'no_permission', 'It was not chosen.')
    if (choice.gapsOnly && (field === COVER ? standing.hasChosenCover : !isNothing(current) && !isFromName(holding, field)))
      return show(current, proposed, 'unchanged', 'It has a value already.')
    const lock = fact ? lockOf(kind, fact) : field
    if (lock !== null && holding.locks.has(lock)) return show(current, proposed, 'locked', 'It is locked.')
    if (field === COVER)
      return standing.hasChosenCover ? show(null, given, 'locked', 'A cover has been chosen.') : show(null, given, 'will_apply')
    if (fact) return isDeepStrictEqual(current, proposed) ? show(current, proposed, 'unchanged') : show(current, proposed, 'will_apply')
    const [outcome] = applyPatch(fieldsOf(kind), holding, { [field]: given }, 'plugin').outcomes
    if (outcome?.result === 'outranked') return show(current, proposed, 'locked', 'Somebody has given it by hand.')
    if (outcome?.result === 'locked') return show(current, proposed, 'locked', 'It is locked.')
    return show(current, proposed, outcome?.result === 'unchanged' ? 'unchanged' : 'will_apply')
  })
}

/** A title that is only the name of a folder or file is as good as none. */
const isFromName = (holding: Holding, field: string): boolean => holding.sources[field] === 'file_name'
