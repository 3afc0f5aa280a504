import { randomUUID } from 'node:crypto'
import { fittingList } from '#core/fields/limits.ts'
import type { KnownValues } from '#test/support/request-builder.ts'

interface Shape {
  type?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Shape[]
  allOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  uniqueItems?: boolean
}

/** Lists with a limit of length in addition to the number of entries. */
const LISTS_OF_RECORDS = new Set(['authors', 'awards', 'subjects'])
/** How many members an object with free names gets. */
const MEMBERS = 50
/** Room of one entry of a list, if there is room for more entries than the list may have. */
const ITEM_ROOM = 2_000
/** Values of fields with a pattern are given by name; most patterns match a word. */
const WORD = 'word'
/** Letters whose comparison, folding and search take several steps. */
const LETTERS = 'Élan vital – ß 12, '

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0
const fillerOf = (length: number): string => LETTERS.repeat(Math.ceil(length / LETTERS.length)).slice(0, Math.max(length, 0))

/**
 * The largest value that a schema allows, with existing ids where the name of a member requires one.
 * @param room characters of JSON that it may have
 * @param known values by the name of a member; arrays for members that are lists
 */
export function largestOf(shape: Shape, name: string, room: number, known: KnownValues & Record<string, unknown>): unknown {
  const value = known[name]
  if (value !== undefined) return Array.isArray(value) ? value.slice(0, maxItemsOf(shape) ?? value.length) : value
  if (shape.enum) return shape.enum.at(-1)
  if (shape.const !== undefined) return shape.const
  if (shape.anyOf) {
    const values = shape.anyOf.map((branch) => largestOf(branch, name, room, known))
    return values.sort((a, b) => sizeOf(b) - sizeOf(a))[0]
  }
  if (shape.allOf) return Object.assign({}, ...shape.allOf.map((part) => largestOf(part, name, room, known) as object))
  if (shape.properties || shape.type === 'object') return largestObject(shape, room, known)
  if (shape.type === 'array') return largestArray(shape, name, room, known)
  if (shape.type === 'string') return largestText(shape, room)
  if (shape.type === 'integer' || shape.type === 'number') return Math.max(shape.minimum ?? 1, Math.min(shape.maximum ?? 500, 500))
  if (shape.type === 'boolean') return true
  return shape.type === 'null' ? null : fillerOf(Math.min(room, 1_000))
}

/** A list that may be null too is one of two branches. */
const maxItemsOf = ({ maxItems, anyOf }: Shape): number | undefined =>
  maxItems ?? anyOf?.find((branch) => branch.maxItems !== undefined)?.maxItems

function largestObject(shape: Shape, room: number, known: KnownValues & Record<string, unknown>): unknown {
  const members = Object.entries(shape.properties ?? {})
  const value: Record<string, unknown> = {}
  // The smallest first: the others use the remaining room.
  const sized = members.map(([name, inner]) => ({ name, inner, size: sizeOf(largestOf(inner, name, room, known)) }))
  let left = room
  for (const [index, { name, inner }] of sized.sort((a, b) => a.size - b.size).entries()) {
    value[name] = largestOf(inner, name, Math.floor(left / (sized.length - index)), known)
    left -= sizeOf(value[name]) + name.length
  }
  if (members.length > 0) return value
  const each = Object.values(shape.patternProperties ?? {})[0] ?? { type: 'string', maxLength: 500 }
  for (let index = 0; index < MEMBERS; index++) value[`member ${index}`] = largestOf(each, '', Math.floor(room / MEMBERS) - 20, known)
  return value
}

function largestArray(shape: Shape, name: string, room: number, known: KnownValues & Record<string, unknown>): unknown {
  const one = largestOf(
    shape.items ?? {},
    name,
    Math.max(Math.min(room, ITEM_ROOM), Math.floor(room / (shape.maxItems ?? 1_000)) - 2),
    known,
  )
  const count = Math.min(shape.maxItems ?? 1_000, Math.max(1, Math.floor(room / (sizeOf(one) + 1))))
  if (Array.isArray(shape.items?.enum)) return shape.items.enum.slice(0, count)
  const list = Array.from({ length: count }, (_, index) => distinct(shape.items ?? {}, one, index))
  return LISTS_OF_RECORDS.has(name) ? fittingList(list) : list
}

/** Makes the entries of a list distinct: equal names would be stored once. */
function distinct(shape: Shape, value: unknown, index: number): unknown {
  if (shape.format === 'uuid') return randomUUID()
  // The chosen branch is unknown here, and with it the required beginning.
  if (shape.anyOf) return value
  if (typeof value === 'string' && shape.enum === undefined && shape.pattern === undefined)
    return `${index} ${value}`.slice(0, value.length)
  if (typeof value !== 'object' || value === null || !shape.properties) return value
  const members = Object.entries(value).map(([name, member]) => [name, distinct(shape.properties?.[name] ?? {}, member, index)])
  return Object.fromEntries(members)
}

function largestText({ format, pattern, maxLength }: Shape, room: number): string {
  if (format === 'uuid') return randomUUID()
  if (format === 'email') return `${randomUUID()}@example.org`
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  if (pattern !== undefined) return /http/.test(pattern) ? 'https://example.org/' : WORD
  // JSON escapes some letters, which makes them longer.
  return fillerOf(Math.min(maxLength ?? room, Math.floor(room * 0.9)))
}
