import { isDeepStrictEqual } from 'node:util'
import { AUTHOR_ROLES, type Author, type AuthorRole, type Field, type MetadataRecord, SOURCES, type Source } from '#core/fields/field.ts'
import { fittingList, LIST_LENGTH_MAX, NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import { refuse } from '#core/foundation/errors.ts'
import { normalizeText } from '#core/foundation/text.ts'

/** The result for one member of a patch. */
export interface Outcome {
  field: string
  /**
   * `set`, `cleared`: changed. `unchanged`: had the value already. `locked`: a lock prevented a change by a machine. `outranked`: a stronger source
   * gave the current value.
   */
  result: 'set' | 'cleared' | 'unchanged' | 'locked' | 'outranked'
}

/**
 * The one rule for every change of metadata, by a person or a machine. Absent members stay.
 * - A person who sets a field also locks it. Clearing a field does not change its lock; any source may fill a cleared field again unless it is locked. A
 *   member that equals the current value changes nothing: neither value nor source nor lock.
 * - A machine changes only fields that are unlocked and were not given by a stronger source, and clears only values that its own kind of source gave.
 *
 * Patch members are values of the fields' schemas, or null. `authors` and the people strings are views of one list, whose roles each have
 * their own source and lock; the lock of `authors` applies to all of them. If a patch has both the list and a people string, a string with names overrides the
 * list for its role, and an empty string is ignored.
 */
export function applyPatch(
  fields: readonly Field[],
  current: MetadataRecord,
  patch: Readonly<Record<string, unknown>>,
  source: Source,
): { next: MetadataRecord; outcomes: Outcome[] } {
  const draft: Draft = { values: { ...current.values }, sources: { ...current.sources }, locks: new Set(current.locks) }
  const outcomes: Outcome[] = []
  if (source !== 'user')
    patch = Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, Array.isArray(value) ? fittingList(value) : value]))
  const given = source === 'user' ? changesOf(fields, draft, patch) : patch
  for (const field of fields) {
    // `authors` first: a people string overrides it for its role.
    if (!(field.name in patch) || field.role !== undefined) continue
    if (!(field.name in given)) {
      outcomes.push({ field: field.name, result: 'unchanged' })
      continue
    }
    const result =
      field.name === 'authors'
        ? setAuthors(fields, draft, givenAuthors(fields, given), source)
        : setValue(draft, field, given[field.name], source)
    if (source === 'user' && !isEmpty(given[field.name])) draft.locks.add(field.name)
    outcomes.push({ field: field.name, result })
  }
  for (const field of fields) {
    if (field.name in patch && field.role !== undefined)
      outcomes.push({ field: field.name, result: field.name in given ? setRole(draft, field, given[field.name], source) : 'unchanged' })
  }
  boundLists(draft, current, source)
  return { next: draft, outcomes }
}

/**
 * Clears the title with its source and its lock. A record always has a title: the title that machines know replaces it at once.
 * @param found titles by source, the strongest first
 */
export function resetTitle(
  fields: readonly Field[],
  record: MetadataRecord,
  found: Partial<Record<'embedded' | 'file_name', string | null | undefined>>,
): { next: MetadataRecord; outcome: Outcome } {
  const { title, ...values } = record.values
  const { title: source, ...sources } = record.sources
  const locks = new Set([...record.locks].filter((name) => name !== 'title'))
  let next: MetadataRecord = { values, sources, locks }
  for (const from of ['embedded', 'file_name'] as const) {
    const given = found[from]
    if (given) next = applyPatch(fields, next, { title: given }, from).next
  }
  // A record from before these titles were stored keeps its title.
  if (next.values.title === undefined) next = { ...next, values: { ...values, title }, sources: { ...sources, title: 'file_name' } }
  const isSame = next.values.title === title && next.sources.title === source && next.locks.size === record.locks.size
  return { next, outcome: { field: 'title', result: isSame ? 'unchanged' : 'cleared' } }
}

/** Limits changed lists to what a record can hold. @throws invalid_value if a person's list would lose entries */
function boundLists(draft: Draft, current: MetadataRecord, source: Source): void {
  for (const [name, value] of Object.entries(draft.values)) {
    if (!Array.isArray(value) || value === current.values[name]) continue
    const fitting = fittingList(value)
    if (fitting.length === value.length) continue
    if (source === 'user') {
      const message = `must not be longer than ${LIST_LENGTH_MAX} characters of JSON, all its entries together; shorten or leave out some`
      refuse('invalid_value', `The list ${name} ${message}.`, { details: [{ path: `/${name}`, message }] })
    }
    draft.values[name] = fitting
  }
}

interface Draft {
  values: Record<string, unknown>
  sources: Record<string, Source>
  locks: Set<string>
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
const rank = (source: Source | undefined) => (source === undefined ? SOURCES.length : SOURCES.indexOf(source))

/**
 * The members of a user's patch that change something. A form sends all its fields back: a user who corrects one field has not confirmed the
 * others, which machines may still improve.
 */
function changesOf(fields: readonly Field[], draft: Draft, patch: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isBesideList = Array.isArray(patch.authors)
  const changed = fields.filter((field) => {
    if (!(field.name in patch)) return false
    const value = patch[field.name]
    return !(isBesideList && field.role !== undefined && isEmpty(value)) && !isUnchanged(draft, field, value)
  })
  return Object.fromEntries(changed.map(({ name }) => [name, patch[name]]))
}

function isUnchanged(draft: Draft, { name, role, ordered }: Field, value: unknown): boolean {
  const existing = draft.values[name]
  if (role !== undefined) {
    const known = authorsOf(draft)
    return isDeepStrictEqual(
      namedAuthors(known, role, value),
      known.filter((author) => author.role === role),
    )
  }
  if (isEmpty(value)) return isEmpty(existing)
  if (ordered) return isSameText(existing, value)
  return isDeepStrictEqual(bare(existing), bare(name === 'authors' ? uniqueAuthors(value as Author[]) : value))
}

/** A value without the differences that forms introduce: line ends, surrounding white space, null members in list entries. */
function bare(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\r\n', '\n').trim()
  if (!Array.isArray(value)) return value
  return value.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null ? Object.fromEntries(Object.entries(entry).filter(([, member]) => member != null)) : entry,
  )
}

/** Whether two values have the same text as JSON, including the order of members. */
export const isSameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Why a machine may not change a field; null if it may. */
function objection(draft: Draft, name: string, source: Source, clears: boolean): 'locked' | 'outranked' | null {
  if (source === 'user') return null
  if (draft.locks.has(name)) return 'locked'
  const existing = draft.sources[name]
  if (rank(existing) < rank(source)) return 'outranked'
  return clears && existing !== undefined && existing !== source ? 'outranked' : null
}

function setValue(draft: Draft, { name, ordered }: Field, value: unknown, source: Source): Outcome['result'] {
  const clears = isEmpty(value)
  const refused = objection(draft, name, source, clears)
  if (refused) return refused
  const before = draft.values[name]
  if (clears) {
    delete draft.values[name]
    delete draft.sources[name]
    return before === undefined ? 'unchanged' : 'cleared'
  }
  draft.values[name] = value
  draft.sources[name] = source
  return (ordered ? isSameText(before, value) : isDeepStrictEqual(before, value)) ? 'unchanged' : 'set'
}

function authorsOf(draft: Draft): Author[] {
  return (draft.values.authors as Author[] | undefined) ?? []
}

/** Roles by the field that has their source and lock: a role with a people string has its own, all others share `authors`. */
function roleUnits(fields: readonly Field[]): Map<string, Set<AuthorRole>> {
  const units = new Map<string, Set<AuthorRole>>()
  for (const role of AUTHOR_ROLES) {
    const name = fields.find((field) => field.role === role)?.name ?? 'authors'
    units.set(name, (units.get(name) ?? new Set()).add(role))
  }
  return units
}

/** The list of people of a patch, with the roles that people strings override. */
function givenAuthors(fields: readonly Field[], patch: Readonly<Record<string, unknown>>): Author[] {
  let authors = (patch.authors as Author[] | null) ?? []
  for (const { name, role } of fields) {
    if (role === undefined || !(name in patch)) continue
    authors = withRole(authors, role, namedAuthors(authors, role, patch[name]))
  }
  return uniqueAuthors(authors)
}

/**
 * The people of a comma-separated string; a person who already has that role keeps the sort name. The string that the API returned stands for the current people
 * unchanged, and a known "King, Jr." stays one person when a user adds a name.
 */
function namedAuthors(known: readonly Author[], role: AuthorRole, value: unknown): Author[] {
  if (value === joinNames(known, role)) return known.filter((author) => author.role === role)
  const withComma = known.filter((author) => author.role === role && author.name.includes(',')).map(({ name }) => name)
  const names = splitNames((value as string | null) ?? '', withComma)
  return uniqueAuthors(names.map((name) => known.find((author) => author.role === role && author.name === name) ?? { name, role }))
}

function setAuthors(fields: readonly Field[], draft: Draft, given: Author[], source: Source): Outcome['result'] {
  if (source !== 'user' && draft.locks.has('authors')) return 'locked'
  const before = authorsOf(draft)
  const kept = new Set<AuthorRole>()
  for (const [name, roles] of roleUnits(fields)) {
    const clears = !given.some((author) => roles.has(author.role))
    if (clears && !before.some((author) => roles.has(author.role))) continue
    if (objection(draft, name, source, clears)) for (const role of roles) kept.add(role)
    else if (clears) delete draft.sources[name]
    else draft.sources[name] = source
  }
  const next = [...given.filter((author) => !kept.has(author.role)), ...before.filter((author) => kept.has(author.role))]
  storeAuthors(draft, next)
  if (isDeepStrictEqual(before, next)) return kept.size > 0 ? 'outranked' : 'unchanged'
  return next.length === 0 ? 'cleared' : 'set'
}

function setRole(draft: Draft, field: Field, value: unknown, source: Source): Outcome['result'] {
  if (source !== 'user' && draft.locks.has('authors')) return 'locked'
  const role = field.role as AuthorRole
  const before = authorsOf(draft)
  const given = namedAuthors(before, role, value)
  const refused = objection(draft, field.name, source, given.length === 0)
  if (refused) return refused
  const next = withRole(before, role, given)
  storeAuthors(draft, next)
  if (given.length === 0) delete draft.sources[field.name]
  else {
    draft.sources[field.name] = source
    if (source === 'user') draft.locks.add(field.name)
  }
  if (isDeepStrictEqual(before, next)) return 'unchanged'
  return given.length === 0 ? 'cleared' : 'set'
}

/** The list with the entries of one role replaced, at the position of the first one or at the end. */
function withRole(authors: readonly Author[], role: AuthorRole, entries: readonly Author[]): Author[] {
  const first = authors.findIndex((author) => author.role === role)
  const before = first === -1 ? authors : authors.slice(0, first)
  const after = first === -1 ? [] : authors.slice(first).filter((author) => author.role !== role)
  return [...before, ...entries, ...after]
}

function storeAuthors(draft: Draft, authors: Author[]): void {
  if (authors.length === 0) delete draft.values.authors
  else draft.values.authors = authors
}

/** One entry per name and role; the first counts. */
function uniqueAuthors(authors: readonly Author[]): Author[] {
  const seen = new Map<string, Author>()
  for (const author of authors) {
    const key = `${author.role}\0${normalizeText(author.name, NAME_LENGTH_MAX)}`
    if (!seen.has(key)) seen.set(key, author)
  }
  return [...seen.values()]
}

/**
 * Splits "Moore, Gibbons" into two names; the API joins names in the same way.
 * @param known names that contain commas: each counts as one name where it occurs completely
 */
export function splitNames(text: string, known: readonly string[] = []): string[] {
  const names: string[] = []
  const longestFirst = known.toSorted((one, other) => other.length - one.length)
  for (let start = 0; start <= text.length; ) {
    while (/\s/.test(text[start] ?? '')) start++
    const whole = longestFirst.find(
      (name) => text.startsWith(name, start) && /^\s*(,|$)/.test(text.slice(start + name.length, start + name.length + 20)),
    )
    const comma = text.indexOf(',', start + (whole?.length ?? 0))
    const end = comma === -1 ? text.length : comma
    names.push(text.slice(start, end).trim())
    start = end + 1
  }
  return names.filter((name) => name !== '')
}

/** Names of one role, joined as in the API; null if there are none. */
export function joinNames(authors: readonly Author[], role: AuthorRole): string | null {
  const names = authors.filter((author) => author.role === role).map((author) => author.name)
  return names.length === 0 ? null : names.join(', ')
}
