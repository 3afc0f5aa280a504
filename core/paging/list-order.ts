import type { Knex } from 'knex'

/** One term of an ORDER BY, such as `books.number ASC NULLS LAST`. The last of a list must be unique, so that no page repeats or misses a row. */
export type OrderTerm = string

/** A list in any order, whose pages are counted off from its ends. Bindings belong to the terms in their order. */
export interface Terms {
  terms: readonly OrderTerm[]
  bindings?: readonly Knex.RawBinding[]
}

type Direction = 'ASC' | 'DESC'

/** Expressions that are never null, in one direction. */
interface Keys {
  terms: readonly string[]
  direction: Direction
}

/**
 * A part of a list with an order of its own. A list by a value that some rows do not have consists of two: the rows with the value, then the others. So
 * each part has keys that are never null, and a page can begin at any row whose id is known.
 */
export interface ListPart {
  /** Adds the tables of the keys to a query of the list, and restricts it to the part. */
  narrow?: (query: Knex.QueryBuilder) => void
  /** Usually one; a second one orders the rows that are equal in the first. The last term of the last is the unique id. */
  keys: readonly [Keys, Keys?]
  /** The tables from which the keys of a row are read. */
  from: { sql: string; bindings?: readonly Knex.RawBinding[] }
}

/** The id is the last key of every part. */
const idOf = ({ keys }: ListPart): string => ((keys[1] ?? keys[0]).terms.at(-1) as string).trim()

/** ORDER BY of a part, or the reverse. */
export const orderOf = ({ keys }: ListPart, isBackward: boolean): string =>
  keys.flatMap((group) => group?.terms.map((term) => `${term} ${turned(group.direction, isBackward)}`) ?? []).join(', ')

const turned = (direction: Direction, isBackward: boolean): Direction => (isBackward ? (direction === 'ASC' ? 'DESC' : 'ASC') : direction)

/**
 * Restricts a query to the rows from the row with this id on, or, backward, to those before it.
 * @param id must be in the part
 */
export function seek(part: ListPart, id: string, isBackward: boolean): (query: Knex.QueryBuilder) => void {
  const [first, second] = part.keys
  const valuesOf = ({ terms }: Keys) => `(SELECT ${terms.join(', ')} FROM ${part.from.sql} WHERE ${idOf(part)} = ?)`
  const bindings = [...(part.from.bindings ?? []), id]
  const compare = (keys: Keys, sign: string) => `(${keys.terms.join(', ')}) ${sign} ${valuesOf(keys)}`
  return (query) => {
    const ahead = turned(first.direction, isBackward) === 'ASC' ? '>' : '<'
    if (second === undefined) {
      query.whereRaw(compare(first, isBackward ? ahead : `${ahead}=`), bindings)
      return
    }
    // Rows that are equal in the first keys are on both sides of the row.
    query.whereRaw(compare(first, `${ahead}=`), bindings)
    const behind = turned(second.direction, isBackward) === 'ASC' ? '<' : '>'
    const outside = `NOT (${compare(first, '=')} AND ${compare(second, isBackward ? `${behind}=` : behind)})`
    query.whereRaw(outside, [...bindings, ...bindings])
  }
}

/** A term as its expression and what follows it. */
export function splitTerm(term: OrderTerm): { expression: string; direction: Direction; nulls: string | undefined; turn: string } {
  const [, expression = term, direction = 'ASC', nulls] = /^(.*?)(?: (ASC|DESC))?(?: NULLS (FIRST|LAST))?$/s.exec(term) ?? []
  return { expression, direction: direction as Direction, nulls, turn: term.slice(expression.length) }
}

/** The reverse of any terms. */
export function reversed(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map((term) => {
    const { expression, direction, nulls } = splitTerm(term)
    const reversedNulls = nulls === undefined ? '' : ` NULLS ${nulls === 'LAST' ? 'FIRST' : 'LAST'}`
    return `${expression} ${turned(direction, true)}${reversedNulls}`
  })
}

/** A list of more rows than this is shuffled by where it begins: to compare a hash of every id takes a second for a million. */
const HASHED_MAX = 10_000

/** A random order that stays the same for a day, so that the pages of a list are consistent. @param id column of the ids, which are random themselves */
export function shuffled(from: string, id: string): (total: number) => Order {
  const today = `to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')`
  const pivot = `CAST(md5(${today}) AS uuid)`
  const part = (sign: string): ListPart => ({
    narrow: (query) => query.whereRaw(`${id} ${sign} ${pivot}`),
    keys: [{ terms: [id], direction: 'ASC' }],
    from: { sql: from },
  })
  return (total) => (total > HASHED_MAX ? [part('>='), part('<')] : { terms: [`md5(${id}::text || ${today})`, id] })
}

/** The parts of a list one after the other, or terms. */
export type Order = readonly ListPart[] | Terms
