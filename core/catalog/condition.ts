import { refuse } from '#core/foundation/errors.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** Operators by family; what a field takes is said in the lists of fields. */
export const OPERATORS = {
  text: ['is', 'isNot', 'contains', 'doesNotContain', 'beginsWith', 'endsWith', 'isNull', 'isNotNull'],
  word: ['is', 'isNot'],
  uuid: ['is', 'isNot', 'in', 'notIn'],
  bool: ['isTrue', 'isFalse'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'between', 'isNull', 'isNotNull'],
  date: ['after', 'before', 'onOrAfter', 'onOrBefore', 'between', 'isNull', 'isNotNull'],
} as const
export type Family = keyof typeof OPERATORS

/** Deeper or larger than any rule editor makes, small enough to plan and run at once. */
export const DEPTH_MAX = 10
export const LEAVES_MAX = 200
/** Of allOf, anyOf and not. Empty ones count no comparison, but each is a piece of the statement. */
export const GROUPS_MAX = 500
/** Longer than any title; a set of ids is a page of a list. */
export const VALUE_LENGTH_MAX = 500
export const VALUES_MAX = 500
/** Of all sets together: to read and send five times as many takes a tenth of a second, in which nobody else is answered. */
export const VALUES_TOTAL_MAX = 5_000

/** A field that conditions may name. `words` are the only values of a field of family `word`. */
export interface FilterField {
  family: Family
  words?: readonly string[]
}

/** A moment as a filter means it: a day is a moment at its beginning and lasts until the next. */
export interface Moment {
  from: string
  /** Same as `from` for a moment that was given to the second. */
  until: string
}

export type Operand =
  | { family: 'text' | 'word'; operator: string; value: string | null }
  | { family: 'uuid'; operator: string; values: string[] }
  | { family: 'bool'; operator: string }
  | { family: 'number'; operator: string; low: number | null; high: number | null }
  | { family: 'date'; operator: string; low: Moment | null; high: Moment | null }

export type Condition =
  | { kind: 'allOf' | 'anyOf'; parts: Condition[] }
  | { kind: 'not'; part: Condition }
  | { kind: 'leaf'; field: string; operand: Operand }

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/
/** What the database's clock knows, with room at both ends. */
const TIME_MIN = Date.UTC(-4000, 0, 1)
const TIME_MAX = Date.UTC(9999, 11, 31)
const DAY_MS = 86_400_000

/**
 * Reads the condition of a list request (decisions.md 10).
 * @throws invalid_request with the path of the member for an unknown field or operator, a value of another family, too much depth or size
 */
export function readCondition(given: unknown, fields: Readonly<Record<string, FilterField>>): Condition {
  let leaves = 0
  let values = 0
  let groups = 0
  return read(given, '/condition', 1)

  function read(value: unknown, path: string, depth: number): Condition {
    if (depth > DEPTH_MAX) malformed(path, `lies deeper than ${DEPTH_MAX} levels`)
    const [key, member] = onlyMember(value, path)
    const at = `${path}/${key}`
    if ((key === 'allOf' || key === 'anyOf' || key === 'not') && ++groups > GROUPS_MAX)
      malformed(at, `is one group too many: there may be ${GROUPS_MAX}`)
    if (key === 'allOf' || key === 'anyOf') {
      if (!Array.isArray(member)) malformed(at, 'must be a list of conditions')
      return { kind: key, parts: member.map((part, index) => read(part, `${at}/${index}`, depth + 1)) }
    }
    if (key === 'not') return { kind: 'not', part: read(member, at, depth + 1) }
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (!field) malformed(at, `is no field to filter by; there are ${Object.keys(fields).join(', ')}, and allOf, anyOf, not`)
    if (++leaves > LEAVES_MAX) malformed(at, `is one comparison too many: there may be ${LEAVES_MAX}`)
    // Counted before they are looked at.
    const own = isObject(member) && Array.isArray(member['values']) ? member['values'].length : 0
    values += Math.min(own, VALUES_MAX)
    if (values > VALUES_TOTAL_MAX) malformed(`${at}/values`, `holds too many: in all sets together there may be ${VALUES_TOTAL_MAX}`)
    return { kind: 'leaf', field: key, operand: readOperand(member, field, at) }
  }
}

function onlyMember(value: unknown, path: string): [string, unknown] {
  const entries = isObject(value) ? Object.entries(value) : []
  const [entry] = entries
  if (entries.length !== 1 || !entry) malformed(path, 'must be an object with exactly one member: allOf, anyOf, not, or a field')
  return entry
}

function readOperand(given: unknown, field: FilterField, path: string): Operand {
  if (!isObject(given)) malformed(path, 'must be an object with an operator')
  const operators: readonly string[] = OPERATORS[field.family]
  const { operator } = given
  if (typeof operator !== 'string' || !operators.includes(operator)) malformed(`${path}/operator`, `must be one of ${operators.join(', ')}`)
  const member = (name: string, ...others: string[]) => {
    const extra = Object.keys(given).find((key) => key !== 'operator' && key !== name && !others.includes(key))
    if (extra !== undefined) malformed(`${path}/${extra}`, `is not known beside ${operator}`)
    return given[name]
  }
  const bare = operator === 'isNull' || operator === 'isNotNull' || field.family === 'bool'
  if (bare) member('operator')
  switch (field.family) {
    case 'bool':
      return { family: 'bool', operator }
    case 'text':
    case 'word':
      return { family: field.family, operator, value: bare ? null : readText(member('value'), field, `${path}/value`) }
    case 'uuid': {
      const many = operator === 'in' || operator === 'notIn'
      const values = many ? member('values') : [member('value')]
      if (!Array.isArray(values)) malformed(`${path}/values`, 'must be a list of UUIDs')
      if (values.length > VALUES_MAX) malformed(`${path}/values`, `holds more than ${VALUES_MAX}`)
      values.forEach((value, index) => {
        if (typeof value !== 'string' || !isUuid(value)) malformed(many ? `${path}/values/${index}` : `${path}/value`, 'must be a UUID')
      })
      return { family: 'uuid', operator, values: values as string[] }
    }
    case 'number': {
      if (bare) return { family: 'number', operator, low: null, high: null }
      if (operator !== 'between') return { family: 'number', operator, low: readNumber(member('value'), `${path}/value`), high: null }
      const [low, high] = [member('min', 'max'), given.max]
      if (low == null && high == null) malformed(path, 'needs min, max or both')
      return {
        family: 'number',
        operator,
        low: low == null ? null : readNumber(low, `${path}/min`),
        high: high == null ? null : readNumber(high, `${path}/max`),
      }
    }
    case 'date': {
      if (bare) return { family: 'date', operator, low: null, high: null }
      if (operator !== 'between') return { family: 'date', operator, low: readMoment(member('value'), `${path}/value`), high: null }
      const [low, high] = [member('start', 'end'), given.end]
      if (low == null && high == null) malformed(path, 'needs start, end or both')
      return {
        family: 'date',
        operator,
        low: low == null ? null : readMoment(low, `${path}/start`),
        high: high == null ? null : readMoment(high, `${path}/end`),
      }
    }
  }
}

function readText(value: unknown, field: FilterField, path: string): string {
  if (typeof value !== 'string') malformed(path, 'must be a text')
  // Characters, as PostgreSQL and the schemas of requests count them: pictures among letters are two units each.
  const isLong = value.length > VALUE_LENGTH_MAX && (value.length > 2 * VALUE_LENGTH_MAX || [...value].length > VALUE_LENGTH_MAX)
  if (isLong) malformed(path, `is longer than ${VALUE_LENGTH_MAX} characters`)
  if (field.words && !field.words.includes(value)) malformed(path, `must be one of ${field.words.join(', ')}`)
  return value
}

function readNumber(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) malformed(path, 'must be a number')
  return value
}

function readMoment(value: unknown, path: string): Moment {
  if (typeof value !== 'string' || !(DAY.test(value) || TIME.test(value)))
    malformed(path, 'must be a day such as 2024-02-29 or a time such as 2024-02-29T12:00:00Z')
  const from = Date.parse(value)
  // Date.parse takes the 30th of February for the 1st of March.
  const isReal = !Number.isNaN(from) && new Date(Date.parse(value.slice(0, 10))).toISOString().slice(0, 10) === value.slice(0, 10)
  if (!isReal || from < TIME_MIN || from > TIME_MAX) malformed(path, `is no day of the calendar`)
  return { from: new Date(from).toISOString(), until: new Date(DAY.test(value) ? from + DAY_MS : from).toISOString() }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

function malformed(path: string, message: string): never {
  refuse('invalid_request', `The member ${path.slice(1)} ${message}.`, { details: [{ path, message }] })
}
