import { type BrowseAddress, type BrowseKind, isYear } from '../browse-address.ts'
import { type Group, type Line, newGroup, newLine, readDraft, writeDraft } from './draft.ts'

/** Browsers and proxies refuse longer addresses; nginx takes 8 KB of them. In characters, as they stand in the address. */
const WHERE_MAX = 6_000

/** The filters of an address that are chips of their own, named as the fields that they mean. */
const CHIPS = ['genre', 'tag', 'person', 'publisher', 'language', 'format', 'year'] as const
type Chip = (typeof CHIPS)[number]

/** The filters of an address; null takes one away. */
export type WhereChange = Record<Chip | 'show' | 'where', string | null>

/** The condition of an address as a draft; null when there is none or it is not understood. */
export function whereOf(kind: BrowseKind, where: string | null): Group | null {
  if (where === null) return null
  try {
    return readDraft(kind, JSON.parse(where))
  } catch {
    return null
  }
}

function lineIs(kind: BrowseKind, field: string, value: string): Line {
  const line = newLine(kind, field)
  // Numbers have one value, as ranges have two.
  return line.operator === 'is' ? { ...line, values: [value] } : { ...line, low: value }
}

/** All filters of an address as one draft for the builder. */
export function draftOf(kind: BrowseKind, address: BrowseAddress): Group {
  const chips = CHIPS.flatMap((chip) => {
    const value = address[chip]
    return value === null ? [] : [lineIs(kind, chip, value)]
  })
  const lines = address.show === 'all' ? chips : [lineIs(kind, 'readStatus', address.show), ...chips]
  const where = whereOf(kind, address.where)
  if (lines.length === 0) return where ?? newGroup('all')
  return newGroup('all', [...lines, ...(where === null ? [] : where.join === 'all' ? where.parts : [where])])
}

/** What an address says for a draft: simple comparisons as chips, the rest as a condition. */
export function changeOf(kind: BrowseKind, root: Group): WhereChange {
  const change: WhereChange = {
    ...{ show: null, where: null, genre: null, tag: null, person: null, publisher: null, language: null, format: null, year: null },
  }
  const rest = root.join === 'all' ? root.parts.filter((part) => part.kind !== 'line' || !takeChip(part, change)) : root.parts
  const { condition } = writeDraft(kind, { ...root, parts: rest })
  return { ...change, where: condition && JSON.stringify(condition) }
}

function takeChip({ field, operator, values, low }: Line, change: WhereChange): boolean {
  const chip = field === 'readStatus' ? 'show' : field
  const [value] = field === 'year' ? [low] : values
  if (operator !== (field === 'year' ? 'eq' : 'is') || values.length > 1 || value === undefined || value !== value.trim()) return false
  if (field === 'year' && !isYear(value)) return false
  if (!Object.hasOwn(change, chip) || chip === 'where' || change[chip as Chip] !== null) return false
  change[chip as Chip] = value
  return true
}

export const isTooLong = ({ where }: WhereChange): boolean => where !== null && encodeURIComponent(where).length > WHERE_MAX

/** The condition of an address without one part of its top. */
export function withoutPart(kind: BrowseKind, where: Group, id: number): string | null {
  const parts = where.parts.filter((part) => part.id !== id)
  const { condition } = writeDraft(kind, { ...where, parts: where.id === id ? [] : parts })
  return condition && JSON.stringify(condition)
}
