import type { Caller } from '#core/account/caller.ts'
import { seesWholePaths } from '#core/account/path-view.ts'
import { CALLER, COLUMNS, type Column, type Fragment, PERSON } from '#core/catalog/filter-column-query.ts'
import { asksForPart, compareFolded } from '#core/catalog/folded-text-query.ts'
import { type Condition, type Operand, readCondition } from '#core/catalog/list-condition.ts'
import { noteAverages } from '#core/catalog/list-state-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { nameKey, nameKeyPart } from '#core/metadata/name.ts'

/** A condition, for trying rows one by one. */
export interface CompiledCondition extends Fragment {
  /** The same for finding all matches at once, if it should be written differently. */
  whole?: Fragment
  /** Whether it asks about averages of ratings. */
  asksAboutAverages?: true
}

/**
 * The WHERE clause of a condition over `books` or `series`, for one statement. Text comparisons ignore case and accents; a missing value is not equal to
 * anything, so `isNot`, `ne` and `doesNotContain` match it.
 * @throws invalid_request like {@link readCondition}, forbidden for fields whose permission the caller does not have
 */
export function compileFilter(given: unknown, target: keyof typeof COLUMNS, caller: Caller): CompiledCondition {
  const columns = COLUMNS[target]
  // A list of words restricts the values of a field; the operators of text accept any text beside them.
  const fields = Object.fromEntries(
    Object.entries(columns).map(([name, { family, words }]) => [name, family === 'word' && words ? { family, words } : { family }]),
  )
  const condition = readCondition(given, fields)
  const compiler = new Compiler(columns, caller)
  const whole = compiler.drive(condition)
  const compiled: CompiledCondition = { ...compiler.compile(condition), ...(whole && { whole }) }
  if (!compiler.asksAboutAverages) return compiled
  noteAverages()
  return { ...compiled, asksAboutAverages: true }
}

class Compiler {
  readonly #columns: Record<string, Column>
  readonly #caller: Caller
  asksAboutAverages = false

  constructor(columns: Record<string, Column>, caller: Caller) {
    this.#columns = columns
    this.#caller = caller
  }

  /** Tests a row. What costs least comes first: PostgreSQL evaluates the parts of an expression in their order. */
  compile(condition: Condition): Fragment {
    switch (condition.kind) {
      case 'not': {
        const { sql, bindings } = this.compile(condition.part)
        return { sql: `((${sql}) IS NOT TRUE)`, bindings }
      }
      case 'leaf':
        return compileLeaf(this.#columnOf(condition.field), condition.operand, this.#caller)
      default: {
        const parts = condition.parts.map((part) => this.compile(part)).sort((one, other) => costOf(one) - costOf(other))
        if (parts.length === 0) return { sql: condition.kind === 'allOf' ? 'true' : 'false', bindings: [] }
        return joined(parts, condition.kind)
      }
    }
  }

  /**
   * The condition for finding all matches of a large table, from the few rows that name a person or a genre: as a list of ids, for which PostgreSQL uses an
   * index, also where several lists are alternatives. Only one part of an "all of" becomes a list: the others would be compared with each of its ids. Null
   * if no part can.
   */
  drive(condition: Condition): Fragment | null {
    if (condition.kind === 'not') return null
    if (condition.kind === 'leaf') return listLeaf(this.#columnOf(condition.field), condition.operand)
    const driven = condition.parts.map((part) => this.drive(part))
    if (condition.kind === 'anyOf') return driven.length > 0 && driven.every((part) => part !== null) ? joined(driven, 'anyOf') : null
    const first = driven.findIndex((part) => part !== null)
    if (first < 0) return null
    return joined([driven[first] as Fragment, ...condition.parts.flatMap((part, at) => (at === first ? [] : this.compile(part)))], 'allOf')
  }

  #columnOf(field: string): Column {
    const column = this.#columns[field] as Column
    const { needs } = column
    if (column.isAverage) this.asksAboutAverages = true
    if (needs !== undefined && !this.#caller.permissions.has(needs))
      refuse('forbidden', `Filtering by ${field} requires the permission ${needs}.`, { details: { permission: needs } })
    return column
  }
}

const joined = (parts: readonly Fragment[], kind: 'allOf' | 'anyOf'): Fragment => ({
  sql: `(${parts.map(({ sql }) => sql).join(kind === 'allOf' ? ' AND ' : ' OR ')})`,
  bindings: parts.flatMap(({ bindings }) => bindings),
})

/** Compared with a column: a text is compared letter by letter, and other tables are searched. */
const costOf = ({ sql }: Fragment): number => (sql.includes('SELECT') ? 2 : sql.includes('LIKE') ? 1 : 0)

/** The entries of a set that match; null if the operator is a negation, which most rows match. */
function listLeaf(column: Column, operand: Operand): Fragment | null {
  const { operator } = operand
  if (!('sets' in column) || NEGATIONS[operator] || operator === 'isNull' || operator === 'isNotNull') return null
  const { sql, bindings } = compareEntry(column, operand)
  const lists = column.sets.map(({ of, from, by }) => `${of} = ANY(ARRAY(SELECT ${by} FROM ${from} WHERE ${sql}))`)
  return { sql: `(${lists.join(' OR ')})`, bindings: column.sets.flatMap(() => bindings) }
}

function compileLeaf(column: Column, operand: Operand, caller: Caller): Fragment {
  if ('test' in column) {
    const { operator, value } = operand as { operator: string; value: string }
    const { sql, bindings } = column.test(value)
    const bound = bindings.map((binding) => (binding === CALLER ? caller.userId : binding))
    return { sql: operator === 'isNot' ? `NOT (${sql})` : sql, bindings: bound }
  }
  if ('sets' in column) {
    const { operator } = operand
    const negated = NEGATIONS[operator]
    const positive = negated ? ({ ...operand, operator: negated } as Operand) : operand
    // A set is null if it contains no value.
    const isBare = operator === 'isNull' || operator === 'isNotNull'
    const { sql, bindings } = isBare
      ? compare(column.name, { ...operand, operator: 'isNotNull' } as Operand)
      : compareEntry(column, positive)
    // Not IN: a negation would keep the ids of a whole library in memory, or compare each with each.
    const within = column.sets.map(({ of, from, by }) => `EXISTS (SELECT 1 FROM ${from} WHERE ${by} = ${of} AND ${sql})`)
    const negative = negated !== undefined || operator === 'isNull'
    return { sql: `${negative ? 'NOT ' : ''}(${within.join(' OR ')})`, bindings: column.sets.flatMap(() => bindings) }
  }
  const own = column.callerBinding ? [caller.userId] : []
  const expression = seesWholePaths(caller) ? column.expression : (column.visibleExpression ?? column.expression)
  const { sql, bindings } = compare(expression, operand, column)
  const times = sql.split(expression).length - 1
  return { sql, bindings: [...Array.from({ length: times }, () => own).flat(), ...bindings] }
}

/** For a set of names, the negation applies to the whole set. */
const NEGATIONS: Record<string, string | undefined> = { isNot: 'is', doesNotContain: 'contains', notIn: 'in' }

/** One comparison with an entry of a set. Keys of names have single spaces, so the value is converted to a key first. */
function compareEntry({ name, folded, key }: { name: string; folded?: string; key?: 'name' | 'person' }, operand: Operand): Fragment {
  if (key === undefined || operand.family !== 'text') return compare(name, operand, { folded })
  const { operator } = operand
  const value = operand.value as string
  const colon = value.indexOf(':')
  if (key === 'person' && colon >= 0 && (operator === 'is' || operator === 'beginsWith')) {
    const { sql, bindings } = compareKey('n.name_fold', operator, value.slice(colon + 1))
    return { sql: `(x.role = ? AND ${sql})`, bindings: [value.slice(0, colon).trim().toLowerCase(), ...bindings] }
  }
  return compareKey(key === 'person' ? PERSON : 'n.name_fold', operator, value)
}

const compareKey = (folded: string, operator: string, value: string): Fragment =>
  asksForPart(operator)
    ? compareFolded(folded, operator, nameKeyPart(value))
    : { sql: `${folded} = carrel_fold(?)`, bindings: [nameKey(value)] }

/** One comparison; the expression precedes every binding. @param column.folded of a text, if it is kept */
function compare(expression: string, operand: Operand, column: { folded?: string | undefined; isNullable?: true } = {}): Fragment {
  const { operator } = operand
  const { folded = `carrel_fold(${expression})`, isNullable = false } = column
  if (operator === 'isNull') return { sql: `${expression} IS NULL`, bindings: [] }
  if (operator === 'isNotNull') return { sql: `${expression} IS NOT NULL`, bindings: [] }
  switch (operand.family) {
    case 'bool':
      if (isNullable) return { sql: `${expression} IS ${operator === 'isTrue' ? 'TRUE' : 'FALSE'}`, bindings: [] }
      // By itself, so that PostgreSQL knows an index for it, and joins rows that exist instead of testing each record.
      return { sql: operator === 'isTrue' ? expression : `NOT ${expression}`, bindings: [] }
    case 'uuid':
      return operator === 'is' || operator === 'in'
        ? { sql: `${expression} = ANY(CAST(? AS uuid[]))`, bindings: [operand.values] }
        : { sql: `(${expression} = ANY(CAST(? AS uuid[]))) IS NOT TRUE`, bindings: [operand.values] }
    case 'text':
    case 'word': {
      const { sql, bindings } = compareFolded(folded, operator, operand.value as string)
      const isNegative = operator === 'doesNotContain' || operator === 'isNot'
      return { sql: `(${sql})${isNegative ? ' IS NOT TRUE' : ''}`, bindings }
    }
    case 'number': {
      const { low, high } = operand
      if (operator === 'between')
        return {
          sql: `${expression} BETWEEN coalesce(CAST(? AS float8), '-Infinity') AND coalesce(CAST(? AS float8), 'Infinity')`,
          bindings: [low, high],
        }
      const sign = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' }[operator]
      return { sql: `${expression} ${sign ?? 'IS DISTINCT FROM'} CAST(? AS float8)`, bindings: [low] }
    }
    case 'date': {
      const { low, high } = operand
      if (operator === 'between')
        return {
          sql: `(${expression} <@ tstzrange(CAST(? AS timestamptz), CAST(? AS timestamptz), '[${high && high.from === high.until ? ']' : ')'}'))`,
          bindings: [low?.from ?? null, high?.until ?? null],
        }
      const day = low as { from: string; until: string }
      const isDay = day.from !== day.until
      const [sign, at] = {
        after: isDay ? ['>=', day.until] : ['>', day.from],
        before: ['<', day.from],
        onOrAfter: ['>=', day.from],
        onOrBefore: isDay ? ['<', day.until] : ['<=', day.from],
      }[operator] as [string, string]
      return { sql: `${expression} ${sign} CAST(? AS timestamptz)`, bindings: [at] }
    }
  }
}
