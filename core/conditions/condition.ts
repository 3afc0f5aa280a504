import { RE2JS } from 're2js'
import type { Context } from '#core/conditions/context.ts'
import { readPath } from '#core/conditions/context-path.ts'
import { type Operator, PRESENCE_OPERATORS, RULE_DEPTH_MAX, RULE_OPERATORS, RULES_MAX } from '#core/conditions/operators.ts'
import { refuse } from '#core/foundation/errors.ts'
import { normalizeText } from '#core/foundation/text.ts'

const FIELD_LENGTH_MAX = 500
const VALUE_LENGTH_MAX = 1_000
const VALUES_MAX = 500
/** How much of a text a pattern is matched against: a summary is shorter, and a pattern needs about a microsecond per character. */
const MATCHED_LENGTH_MAX = 20_000
/** Steps of all patterns together: patterns that people write have about ten to a hundred. */
const STEPS_MAX = 10_000
/** The sum over all rules of pattern steps times matched characters: a quarter of a second. Ten long summaries need less. */
const WORK_MAX = 2_000_000
/** How much of a value an explanation contains. */
const EXCERPT_LENGTH_MAX = 200
const EXCERPT_ENTRIES_MAX = 20
const EXCERPT_DEPTH_MAX = 3
/** How much of all values together an explanation contains, so that the response stays readable. */
const EXCERPT_LENGTH_TOTAL_MAX = 50_000

type Scalar = string | number | boolean | null
interface Test {
  (actual: unknown): boolean
  /** The cost of one character: the steps of a pattern, else one. */
  steps?: number
}

interface CompiledRule {
  field: string
  operator: Operator
  value?: Scalar | Scalar[]
  test: Test
}
interface CompiledGroup {
  mode: 'all' | 'any'
  rules: (CompiledRule | CompiledGroup)[]
}

/** The result of one rule, or of one group with its rules. */
type Verdict =
  | { field: string; operator: Operator; value?: Scalar | Scalar[]; actual: unknown; passed: boolean }
  | { mode: 'all' | 'any'; passed: boolean; rules: Verdict[] }

interface Condition {
  /** @throws invalid_value when evaluating it would take too many steps */
  passes(context: Context): boolean
  /** Evaluates every rule and reports the result of each. @throws invalid_value as `passes` */
  explain(context: Context): { passed: boolean; rules: Verdict[] }
}

/**
 * Parses `{ mode: "all" | "any", rules: [{ field, operator, value? } | { mode, rules }] }`. Without rules it passes.
 *
 * Text comparisons ignore case, except `matches`. On a list, `contains` checks whether an entry equals the value, and the other operators
 * whether an entry matches; negative operators are the opposite of their positive ones, so missing values pass them. Undefined, an empty text
 * and an empty list are null.
 * `matches` is a regular expression in RE2 syntax, linear in time; its cost is checked before evaluation.
 *
 * Only the program in the isolate that evaluates rules calls this: patterns and texts come from users.
 * @throws invalid_value with the path of the invalid member
 */
export function compileCondition(given: unknown, path = ''): Condition {
  const count = { rules: 0, steps: 0 }
  const group = readGroup(given, path, 1, count)
  return {
    passes: (context) => {
      checkWork(group, context, path)
      return passes(group, context)
    },
    explain: (context) => {
      checkWork(group, context, path)
      const verdict = explain(group, context, { length: EXCERPT_LENGTH_TOTAL_MAX })
      return { passed: verdict.passed, rules: 'rules' in verdict ? verdict.rules : [] }
    },
  }
}

const wrong = (path: string, message: string): never =>
  refuse('invalid_value', `The condition${path === '' ? '' : ` at ${path}`} ${message}.`, { details: [{ path, message }] })

function readGroup(given: unknown, path: string, depth: number, count: { rules: number; steps: number }): CompiledGroup {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return wrong(path, 'must be an object with mode and rules')
  if (depth > RULE_DEPTH_MAX) return wrong(path, `is nested deeper than ${RULE_DEPTH_MAX} levels`)
  const { mode = 'all', rules = [], ...more } = given as Record<string, unknown>
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) return wrong(`${path}/${unknown}`, 'is not a member of a condition: it has mode and rules')
  if (mode !== 'all' && mode !== 'any') return wrong(`${path}/mode`, 'must be "all" or "any"')
  if (!Array.isArray(rules)) return wrong(`${path}/rules`, 'must be a list')
  return {
    mode,
    rules: rules.map((rule, index) => {
      const here = `${path}/rules/${index}`
      if (rule !== null && typeof rule === 'object' && 'rules' in rule) return readGroup(rule, here, depth + 1, count)
      if (++count.rules > RULES_MAX) return wrong(here, `exceeds the limit of ${RULES_MAX} rules`)
      const read = readRule(rule, here)
      count.steps += read.test.steps ?? 0
      if (count.steps > STEPS_MAX)
        return wrong(
          `${here}/value`,
          `brings the patterns to ${count.steps} steps, more than the limit of ${STEPS_MAX}: use less repetition`,
        )
      return read
    }),
  }
}

function readRule(given: unknown, path: string): CompiledRule {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return wrong(path, 'must be an object with field and operator')
  const { field, operator, value, ...more } = given as Record<string, unknown>
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) return wrong(`${path}/${unknown}`, 'is not a member of a rule: it has field, operator and value')
  if (typeof field !== 'string' || field === '' || field.length > FIELD_LENGTH_MAX)
    return wrong(`${path}/field`, 'must be a path such as metadata.title')
  if (!RULE_OPERATORS.includes(operator as Operator)) return wrong(`${path}/operator`, `must be one of ${RULE_OPERATORS.join(', ')}`)
  const known = operator as Operator
  if ((PRESENCE_OPERATORS as readonly string[]).includes(known)) {
    if (value !== undefined && value !== null) return wrong(`${path}/value`, `must be omitted: ${known} takes no value`)
    return { field, operator: known, test: known === 'is_null' ? isNull : (actual) => !isNull(actual) }
  }
  const checked = readValue(value, known, `${path}/value`)
  return { field, operator: known, value: checked, test: testOf(known, checked, `${path}/value`) }
}

const isScalar = (value: unknown): value is Scalar => value === null || ['string', 'number', 'boolean'].includes(typeof value)

function readValue(value: unknown, operator: Operator, path: string): Scalar | Scalar[] {
  const isSet = operator === 'in' || operator === 'not_in'
  if (isSet && !Array.isArray(value)) return wrong(path, 'must be a list')
  if (!isSet && operator !== 'equals' && operator !== 'not_equals' && (Array.isArray(value) || value === null))
    return wrong(path, 'must be a text, a number or true or false')
  const values = Array.isArray(value) ? value : [value]
  if (values.length > VALUES_MAX) return wrong(path, `has more than ${VALUES_MAX} entries`)
  for (const one of values) {
    if (one === undefined || !isScalar(one)) return wrong(path, 'must be given as a text, a number or true or false')
    if (typeof one === 'string' && one.length > VALUE_LENGTH_MAX) return wrong(path, `is longer than ${VALUE_LENGTH_MAX} characters`)
  }
  return value as Scalar | Scalar[]
}

const isNull = (actual: unknown) =>
  actual === undefined || actual === null || actual === '' || (Array.isArray(actual) && actual.length === 0)

function testOf(operator: Operator, value: Scalar | Scalar[], path: string): Test {
  switch (operator) {
    case 'not_equals':
      return not(testOf('equals', value, path))
    case 'not_contains':
      return not(testOf('contains', value, path))
    case 'not_in':
      return not(testOf('in', value, path))
    case 'equals': {
      if (!Array.isArray(value))
        return (actual) => (Array.isArray(actual) ? actual.length === 1 && isSame(actual[0], value) : isSame(actual, value))
      const wanted = value.map(keyOf).sort()
      return (actual) => Array.isArray(actual) && actual.length === wanted.length && String(actual.map(keyOf).sort()) === String(wanted)
    }
    case 'in': {
      const keys = new Set((value as Scalar[]).map(keyOf))
      return any((actual) => keys.has(keyOf(actual)))
    }
    case 'contains': {
      const part = keyOf(value)
      return (actual) =>
        Array.isArray(actual) ? actual.some((entry) => keyOf(entry) === part) : !isNull(actual) && keyOf(actual).includes(part)
    }
    case 'starts_with':
    case 'ends_with': {
      const part = keyOf(value)
      return any((actual) => (operator === 'starts_with' ? keyOf(actual).startsWith(part) : keyOf(actual).endsWith(part)))
    }
    case 'matches': {
      const pattern = compilePattern(value, path)
      const test = any((actual) => pattern.matcher(textOf(actual).slice(0, MATCHED_LENGTH_MAX)).find())
      return Object.assign(test, { steps: pattern.programSize() })
    }
    default:
      return any((actual) => {
        const order = compare(actual, value as Scalar)
        if (Number.isNaN(order)) return false
        return operator === 'gt' ? order > 0 : operator === 'gte' ? order >= 0 : operator === 'lt' ? order < 0 : order <= 0
      })
  }
}

const not =
  (test: Test): Test =>
  (actual) =>
    !test(actual)

/** Whether one entry of a list matches; a missing value never matches. */
const any =
  (test: Test): Test =>
  (actual) =>
    Array.isArray(actual) ? actual.some((entry) => !isNull(entry) && test(entry)) : !isNull(actual) && test(actual)

function compilePattern(value: Scalar | Scalar[], path: string): RE2JS {
  if (typeof value !== 'string') return wrong(path, 'must be a regular expression')
  try {
    return RE2JS.compile(value)
  } catch (error) {
    return wrong(path, `is not a regular expression: ${(error as Error).message}`)
  }
}

/** The text form of a context value: people and titles by their names, identifiers by themselves. */
function textOf(value: unknown): string {
  if (value === null || typeof value !== 'object') return String(value)
  for (const name of ['name', 'title', 'id']) {
    const member = (value as Record<string, unknown>)[name]
    if (Object.hasOwn(value, name) && typeof member === 'string') return member
  }
  return JSON.stringify(value)
}

/** How much of a text is compared: no field of a book or series is longer, nor any custom metadata. */
const COMPARED_LENGTH_MAX = 65_536

/** Two values with one key are equal: case does not matter, nor whether a number is given as text. */
const keyOf = (value: unknown) => normalizeText(textOf(value), COMPARED_LENGTH_MAX).toLowerCase()

const isSame = (actual: unknown, value: Scalar) => (isNull(actual) ? isNull(value) : value !== null && keyOf(actual) === keyOf(value))

const numberOf = (value: unknown) =>
  typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN

/** Compares numbers as numbers, everything else (including dates) as text. */
function compare(actual: unknown, value: Scalar): number {
  const [a, b] = [numberOf(actual), numberOf(value)]
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b
  if (typeof actual === 'number' || typeof value === 'number') return Number.NaN
  const [x, y] = [keyOf(actual), keyOf(value)]
  return x < y ? -1 : x > y ? 1 : 0
}

/** @throws invalid_value when the rules would exceed the limit of steps */
function checkWork(group: CompiledGroup, context: Context, path: string): void {
  const work = workOf(group, context)
  if (work <= WORK_MAX) return
  const message = `would take ${work} steps over this context, more than the limit of ${WORK_MAX}: use fewer rules, or patterns with less repetition`
  wrong(path, message)
}

function workOf(rule: CompiledRule | CompiledGroup, context: Context): number {
  if ('rules' in rule) return rule.rules.reduce((sum, one) => sum + workOf(one, context), 0)
  const actual = readPath(context, rule.field)
  const steps = rule.test.steps ?? 1
  const most = rule.test.steps === undefined ? Number.POSITIVE_INFINITY : MATCHED_LENGTH_MAX
  const list = Array.isArray(actual) ? actual : [actual]
  return list.reduce((sum: number, one) => sum + steps * (1 + Math.min(most, textOf(one).length)), 0)
}

function passes(rule: CompiledRule | CompiledGroup, context: Context): boolean {
  if (!('rules' in rule)) return rule.test(readPath(context, rule.field))
  if (rule.rules.length === 0) return true
  return rule.mode === 'all' ? rule.rules.every((one) => passes(one, context)) : rule.rules.some((one) => passes(one, context))
}

function explain(rule: CompiledRule | CompiledGroup, context: Context, room: { length: number }): Verdict {
  if (!('rules' in rule)) {
    const { test, ...rest } = rule
    const actual = readPath(context, rule.field)
    return { ...rest, actual: excerptOf(actual, room, 0), passed: test(actual) }
  }
  const rules = rule.rules.map((one) => explain(one, context, room))
  const passed = rules.length === 0 || (rule.mode === 'all' ? rules.every((one) => one.passed) : rules.some((one) => one.passed))
  return { mode: rule.mode, passed, rules }
}

/** @param room how many characters the explanation may still contain */
function excerptOf(value: unknown, room: { length: number }, depth: number): unknown {
  if (value === undefined) return null
  if (room.length <= 0 || (Array.isArray(value) && depth === EXCERPT_DEPTH_MAX)) return '…'
  if (Array.isArray(value)) return value.slice(0, EXCERPT_ENTRIES_MAX).map((one) => excerptOf(one, room, depth + 1))
  if (typeof value === 'string') {
    room.length -= Math.min(value.length, EXCERPT_LENGTH_MAX)
    return value.length > EXCERPT_LENGTH_MAX ? `${value.slice(0, EXCERPT_LENGTH_MAX).toWellFormed()}…` : value
  }
  if (value === null || typeof value !== 'object') return value
  const { length } = JSON.stringify(value)
  room.length -= Math.min(length, EXCERPT_LENGTH_MAX * 5)
  return length > EXCERPT_LENGTH_MAX * 5 ? '{…}' : value
}
