import type { BrowseKind } from '../browse-address.ts'
import { type Family, FILTER_FIELDS, type FilterField, OPERATORS } from './filter-fields.ts'

/** The same limits as those of the API. */
export const DEPTH_MAX = 10
export const LINES_MAX = 200

export type Join = 'all' | 'any' | 'none'

/** A comparison as a person writes it; what is not used by its operator stays, so that another choice loses nothing. */
export interface Line {
  kind: 'line'
  id: number
  field: string
  operator: string
  /** Of `is` and `isNot`. */
  values: readonly string[]
  /** The value of the other operators, and the first of a range. */
  low: string
  high: string
}

export interface Group {
  kind: 'group'
  id: number
  join: Join
  parts: readonly Part[]
}

export type Part = Line | Group

/** A condition of the API. */
export type Condition = { [key: string]: unknown }

let lastId = 0
const newId = () => ++lastId

export const newGroup = (join: Join, parts: readonly Part[] = []): Group => ({ kind: 'group', id: newId(), join, parts })
export const newLine = (kind: BrowseKind, field: string): Line => {
  const { family } = FILTER_FIELDS[kind][field] as FilterField
  return { kind: 'line', id: newId(), field, operator: OPERATORS[family][0], values: [], low: '', high: '' }
}

/** The group with one of its parts, at any depth, changed; null removes it. */
export function withPart(group: Group, id: number, change: (part: Part) => Part | null): Group {
  const parts = group.parts.flatMap((part) => {
    if (part.id === id) return change(part) ?? []
    return [part.kind === 'group' ? withPart(part, id, change) : part]
  })
  return { ...group, parts }
}

export const countLines = (part: Part): number => (part.kind === 'line' ? 1 : part.parts.reduce((sum, each) => sum + countLines(each), 0))

/** What is wrong with a line. */
export type LineFault = 'valueMissing' | 'noNumber' | 'noDay' | 'rangeMissing' | 'rangeTurned'

export interface Written {
  /** Null when nothing restricts the list. Lines with faults are left out. */
  condition: Condition | null
  faults: ReadonlyMap<number, LineFault>
  /** Where each line stands in the condition, as the API names places in its errors. */
  places: ReadonlyMap<string, number>
}

/** The condition that a draft means. */
export function writeDraft(kind: BrowseKind, root: Group): Written {
  const faults = new Map<number, LineFault>()
  const places = new Map<string, number>()
  const condition = writePart(root, '/condition')
  return { condition, faults, places }

  function writePart(part: Part, path: string): Condition | null {
    if (part.kind === 'group') return writeGroup(part, path)
    const { family } = FILTER_FIELDS[kind][part.field] as FilterField
    const fault = faultOf(part, family)
    if (fault) {
      faults.set(part.id, fault)
      return null
    }
    places.set(path, part.id)
    return writeLine(part, family)
  }

  function writeGroup({ join, parts }: Group, path: string): Condition | null {
    const isUsed = (part: Part): boolean =>
      part.kind === 'group' ? part.parts.some(isUsed) : faultOf(part, (FILTER_FIELDS[kind][part.field] as FilterField).family) === null
    const used = parts.filter(isUsed)
    for (const part of parts) if (!used.includes(part)) writePart(part, path)
    if (used.length === 0) return null
    const at = join === 'none' ? `${path}/not` : path
    const key = join === 'all' ? 'allOf' : 'anyOf'
    const [only] = used
    const inner =
      used.length === 1 && only ? writePart(only, at) : { [key]: used.map((part, index) => writePart(part, `${at}/${key}/${index}`)) }
    return join === 'none' && inner ? { not: inner } : inner
  }
}

const isBare = (operator: string) => ['isNull', 'isNotNull', 'isTrue', 'isFalse'].includes(operator)
const hasValues = (operator: string) => operator === 'is' || operator === 'isNot'

function faultOf({ operator, values, low, high }: Line, family: Family): LineFault | null {
  if (isBare(operator)) return null
  if (hasValues(operator)) return values.length === 0 ? 'valueMissing' : null
  const ends = operator === 'between' ? [low, high].filter((each) => each.trim() !== '') : [low]
  if (operator === 'between' && ends.length === 0) return 'rangeMissing'
  if (ends.some((each) => each.trim() === '')) return 'valueMissing'
  if (family === 'number' && ends.some((each) => !Number.isFinite(Number(each)))) return 'noNumber'
  if (family === 'date' && ends.some((each) => !isDay(each))) return 'noDay'
  if (ends.length === 2) {
    const [first, last] = family === 'number' ? [Number(low), Number(high)] : [low.trim(), high.trim()]
    if (first > last) return 'rangeTurned'
  }
  return null
}

/** Days, and the times that addresses of others may have. */
const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text.trim()) && !Number.isNaN(Date.parse(text.trim()))

function writeLine({ field, operator, values, low, high }: Line, family: Family): Condition {
  if (isBare(operator)) return { [field]: { operator } }
  if (hasValues(operator)) {
    if (family === 'id' && values.length > 1) return { [field]: { operator: operator === 'is' ? 'in' : 'notIn', values } }
    const leaves = values.map((value) => ({ [field]: { operator, value } }))
    return leaves.length === 1 ? (leaves[0] as Condition) : { [operator === 'is' ? 'anyOf' : 'allOf']: leaves }
  }
  const read = (text: string) => (family === 'number' ? Number(text) : text.trim())
  if (operator !== 'between') return { [field]: { operator, value: family === 'text' ? low : read(low) } }
  const [first, last] = family === 'number' ? ['min', 'max'] : ['start', 'end']
  return { [field]: { operator, ...(low.trim() && { [first]: read(low) }), ...(high.trim() && { [last]: read(high) }) } }
}

/** Reads a condition; null when it has what this version does not know. @param given of an address: anything */
export function readDraft(kind: BrowseKind, given: unknown): Group | null {
  const part = readPart(kind, given, 1)
  if (part === null || countLines(part) > LINES_MAX) return null
  return part.kind === 'group' ? part : newGroup('all', [part])
}

function readPart(kind: BrowseKind, given: unknown, depth: number): Part | null {
  if (typeof given !== 'object' || given === null || depth > DEPTH_MAX) return null
  const entries = Object.entries(given)
  const [key, member] = entries[0] ?? []
  if (entries.length !== 1 || key === undefined) return null
  if (key === 'not') {
    const part = readPart(kind, member, depth + 1)
    if (part === null) return null
    return newGroup('none', part.kind === 'group' && part.join === 'any' ? part.parts : [part])
  }
  if (key === 'allOf' || key === 'anyOf') {
    if (!Array.isArray(member)) return null
    const parts = member.map((each) => readPart(kind, each, depth + 1))
    if (parts.some((part) => part === null)) return null
    return oneLine(parts as Part[], key) ?? newGroup(key === 'allOf' ? 'all' : 'any', parts as Part[])
  }
  return readLeaf(kind, key, member)
}

/** "Tag is one of Sea, Folklore" is several comparisons for the API. */
function oneLine(parts: readonly Part[], key: 'allOf' | 'anyOf'): Line | null {
  const operator = key === 'anyOf' ? 'is' : 'isNot'
  const [first] = parts
  const isSame = (part: Part) => part.kind === 'line' && first?.kind === 'line' && part.field === first.field && part.operator === operator
  if (parts.length < 2 || first?.kind !== 'line' || !parts.every(isSame)) return null
  return { ...first, values: [...new Set(parts.flatMap((part) => (part as Line).values))] }
}

function readLeaf(kind: BrowseKind, field: string, given: unknown): Line | null {
  const known = Object.hasOwn(FILTER_FIELDS[kind], field) ? FILTER_FIELDS[kind][field] : undefined
  if (!known || typeof given !== 'object' || given === null) return null
  const said = given as Record<string, unknown>
  const sets: Record<string, string> = { in: 'is', notIn: 'isNot' }
  const operator = sets[String(said['operator'])] ?? String(said['operator'])
  if (!(OPERATORS[known.family] as readonly string[]).includes(operator)) return null
  const line: Line = { ...newLine(kind, field), operator }
  if (isBare(operator)) return line
  if (hasValues(operator)) {
    const values: unknown[] = Array.isArray(said['values']) ? said['values'] : [said['value']]
    const isGood = values.every((each) => typeof each === 'string' && (!known.words || known.words.includes(each)))
    return isGood ? { ...line, values: values as string[] } : null
  }
  const write = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  const [first, last] = known.family === 'number' ? ['min', 'max'] : ['start', 'end']
  const read =
    operator === 'between' ? { ...line, low: write(said[first]), high: write(said[last]) } : { ...line, low: write(said['value']) }
  return faultOf(read, known.family) === null ? read : null
}
