import { refuse } from '#core/foundation/errors.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { isUuid, NUMBER_MAX } from '#core/foundation/schema.ts'

/** Operators by family; the lists of fields say the family of each. */
export const OPERATORS = {
  text: ['is', 'isNot', 'contains', 'doesNotContain', 'beginsWith', 'endsWith', 'isNull', 'isNotNull'],
  word: ['is', 'isNot'],
  uuid: ['is', 'isNot', 'in', 'notIn'],
  bool: ['isTrue', 'isFalse'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'between', 'isNull', 'isNotNull'],
  date: ['after', 'before', 'onOrAfter', 'onOrBefore', 'between', 'isNull', 'isNotNull'],
} as const
export type Family = keyof typeof OPERATORS

/** Deeper or larger than any rule editor produces, small enough to plan and execute fast. */
export const DEPTH_MAX = 10
export const LEAVES_MAX = 200
/** Of allOf, anyOf and not. Empty groups contain no comparison, but each is a part of the statement. */
export const GROUPS_MAX = 500
/** Longer than any title; a set of ids is a page of a list. */
export const VALUE_LENGTH_MAX = 500
export const VALUES_MAX = 500
/** Of all sets together: reading and sending five times as many takes a tenth of a second, which blocks all other requests. */
export const VALUES_TOTAL_MAX = 5_000

/** A field that conditions may use. `words` are the only values of a field of family `word`. */
export interface FilterField {
  family: Family
  words?: readonly string[]
}

/** A moment in a filter: a day begins at its first moment and lasts until the next day. */
interface Moment {
  from: string
  /** Same as `from` for a moment with a time of day. */
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
/** The range of the database's timestamps, with a margin at both ends. */
const TIME_MIN = Date.UTC(-4000, 0, 1)
const TIME_MAX = Date.UTC(9999, 11, 31)
const DAY_MS = 86_400_000

/**
 * Parses the condition of a list request.
 * @throws invalid_request with the path of the member for an unknown field or operator, a value of another family, or a condition that is too large
 */
export function readCondition(given: unknown, fields: Readonly<Record<string, FilterField>>): Condition {
  let leaves = 0
  let values = 0
  let groups = 0
  return read(given, '/condition', 1)

  function read(value: unknown, path: string, depth: number): Condition {
    if (depth > DEPTH_MAX) malformed(path, `is nested deeper than ${DEPTH_MAX} levels`)
    const [key, member] = onlyMember(value, path)
    const at = `${path}/${key}`
    if ((key === 'allOf' || key === 'anyOf' || key === 'not') && ++groups > GROUPS_MAX)
      malformed(at, `exceeds the limit of ${GROUPS_MAX} groups`)
    if (key === 'allOf' || key === 'anyOf') {
      if (!Array.isArray(member)) malformed(at, 'must be a list of conditions')
      return { kind: key, parts: member.map((part, index) => read(part, `${at}/${index}`, depth + 1)) }
    }
    if (key === 'not') return { kind: 'not', part: read(member, at, depth + 1) }
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (!field) malformed(at, `is not a filter field; the fields are ${Object.keys(fields).join(', ')}, besides allOf, anyOf, not`)
    if (++leaves > LEAVES_MAX) malformed(at, `exceeds the limit of ${LEAVES_MAX} comparisons`)
    // Counted before they are checked.
    const own = isObject(member) && Array.isArray(member['values']) ? member['values'].length : 0
    values += Math.min(own, VALUES_MAX)
    if (values > VALUES_TOTAL_MAX) malformed(`${at}/values`, `has too many entries: all sets together may have ${VALUES_TOTAL_MAX}`)
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
    if (extra !== undefined) malformed(`${path}/${extra}`, `is not allowed beside ${operator}`)
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
      if (values.length > VALUES_MAX) malformed(`${path}/values`, `has more than ${VALUES_MAX} entries`)
      values.forEach((value, index) => {
        if (typeof value !== 'string' || !isUuid(value)) malformed(many ? `${path}/values/${index}` : `${path}/value`, 'must be a UUID')
      })
      return { family: 'uuid', operator, values: values as string[] }
    }
    case 'number':
      return { family: 'number', operator, ...range('min', 'max', readNumber) }
    case 'date':
      return { family: 'date', operator, ...range('start', 'end', readMoment) }
  }

  function range<Value>(first: string, last: string, readValue: (value: unknown, path: string) => Value) {
    if (bare) return { low: null, high: null }
    if (operator !== 'between') return { low: readValue(member('value'), `${path}/value`), high: null }
    const [low, high] = [member(first, last), member(last, first)]
    if (low == null && high == null) malformed(path, `needs ${first}, ${last} or both`)
    return { low: low == null ? null : readValue(low, `${path}/${first}`), high: high == null ? null : readValue(high, `${path}/${last}`) }
  }
}

function readText(value: unknown, field: FilterField, path: string): string {
  if (typeof value !== 'string') malformed(path, 'must be a text')
  // Characters, as PostgreSQL and the schemas of requests count them: an emoji takes two UTF-16 code units.
  const isLong = value.length > VALUE_LENGTH_MAX && (value.length > 2 * VALUE_LENGTH_MAX || [...value].length > VALUE_LENGTH_MAX)
  if (isLong) malformed(path, `is longer than ${VALUE_LENGTH_MAX} characters`)
  if (field.words && !field.words.includes(value)) malformed(path, `must be one of ${field.words.join(', ')}`)
  return value
}

function readNumber(value: unknown, path: string): number {
  if (typeof value !== 'number' || Number.isNaN(value)) malformed(path, 'must be a number')
  if (Math.abs(value) > NUMBER_MAX) malformed(path, `must be between ${-NUMBER_MAX} and ${NUMBER_MAX}`)
  return value
}

function readMoment(value: unknown, path: string): Moment {
  if (typeof value !== 'string' || !(DAY.test(value) || TIME.test(value)))
    malformed(path, 'must be a day such as 2024-02-29 or a time such as 2024-02-29T12:00:00Z')
  const from = Date.parse(value)
  // Date.parse treats February 30 as March 1.
  const isReal = !Number.isNaN(from) && new Date(Date.parse(value.slice(0, 10))).toISOString().slice(0, 10) === value.slice(0, 10)
  if (!isReal || from < TIME_MIN || from > TIME_MAX) malformed(path, `is not a valid date`)
  return { from: new Date(from).toISOString(), until: new Date(DAY.test(value) ? from + DAY_MS : from).toISOString() }
}

function malformed(path: string, message: string): never {
  refuse('invalid_request', `The member ${path.slice(1)} ${message}.`, { details: [{ path, message }] })
}
