import type { Knex } from 'knex'
import { countRows } from '#core/database/select.ts'
import { anchorsOf, type ListAnchor, type ListAnchors } from '#core/paging/list-anchors.ts'
import { type ListPart, type Order, orderOf, reversed, seek, type Terms } from '#core/paging/list-order.ts'

export interface IdPage {
  /** The ids on the page, in order. */
  ids: string[]
  /** How many match in total. */
  total: number
}

/** Up to here a page is read beside the count; further on, the total decides from which end to read. */
const NEAR_OFFSET_MAX = 1_000
/** Rows between two anchors that a walk through a list leaves: reading half as many takes a millisecond or two. */
const STEP_MIN = 10_000
/** Steps at once where each statement first finds what the caller may see, which takes as long as passing some thousand rows. */
const WALKING_STEPS = 3
/** A walk leaves no more anchors in a list than this: it takes longer steps in a longer one. */
const STEPS_MAX = 200

/**
 * Pages that were read leave anchors between those of walks: at both ends of a page of 50, so that the next one passes no rows, which may be many that the
 * caller does not see, and its statement is the same for all pages.
 */
const ANCHORS_PER_STEP = 250

export interface IdList {
  /** Selects `id` of all matches, without an order. */
  matching: Knex.QueryBuilder
  /** The same, written for passing many rows in their order, if that is faster. */
  walking?: Knex.QueryBuilder | undefined
  /** How many match, if that is known or cheaper to find than by counting them. */
  total?: number | (() => Promise<number>) | undefined
  /** The total as an expression, if reading it in the statement of a page costs less than a statement of its own. */
  beside?: TotalBeside | null
  /** May depend on how many match. */
  order: Order | ((total: number) => Order)
  offset: number
  limit: number
  /** Of everything that the list depends on, with its order: anchors in the list are remembered under it. */
  key?: string | undefined
  /** Replaces {@link STEP_MIN}. */
  stepMin?: number
}

/** A total that is read beside the rows of a page. */
export interface TotalBeside {
  total: Knex.Raw
  /** Called with the total when it was read. */
  note(total: number): void
}

/** Runs a query that selects the ids of a page in their order. */
type ReadIds<Row> = (ids: Knex.QueryBuilder) => Promise<Row[]>
/** The same, and selects `list_total` beside the first row if it is given one. */
type ReadRows<Row> = (ids: Knex.QueryBuilder, total: Knex.Raw | null) => Promise<Row[]>

/** One page of the ids of a list, and the total. */
export async function pageOfIds(database: Knex, list: IdList): Promise<IdPage> {
  const { rows, total } = await pageOfRows(database, { ...list, beside: null }, rowsOf)
  return { ids: rows.map(({ id }) => id), total }
}

/**
 * One page of a list, and the total. Costs about the same for every page whose surroundings are known.
 * @param read may read more than the ids, in the same statement
 */
export async function pageOfRows<Row extends { id: string; list_total?: string | number | null }>(
  database: Knex,
  list: IdList,
  read: ReadRows<Row>,
): Promise<{ rows: Row[]; total: number }> {
  const { order, offset, limit, beside } = list
  const known = typeof list.total === 'number' ? list.total : null
  const findTotal = typeof list.total === 'function' ? list.total : () => count(database, list.matching)
  const reader = (total: Knex.Raw | null) => new ListReader(database, list, (ids) => read(ids, total))
  if (known === null && typeof order !== 'function' && offset <= NEAR_OFFSET_MAX) {
    const near = { at: offset, size: limit, total: null }
    if (beside) return await readBeside(await reader(beside.total).read(order, near), beside, findTotal)
    const [rows, total] = await Promise.all([reader(null).read(order, near), findTotal()])
    return { rows, total }
  }
  const total = known ?? (await findTotal())
  const size = Math.min(limit, total - offset)
  if (size <= 0) return { rows: [], total }
  return { rows: await reader(null).read(typeof order === 'function' ? order(total) : order, { at: offset, size, total }), total }
}

/** A page without rows does not tell the total. */
async function readBeside<Row extends { list_total?: string | number | null }>(
  rows: Row[],
  beside: TotalBeside,
  findTotal: () => Promise<number>,
) {
  // Rows that were read backward have it at their end.
  const read = rows.find(({ list_total }) => list_total !== null)?.list_total
  const total = read === undefined ? await findTotal() : Number(read)
  beside.note(total)
  return { rows, total }
}

/** Rows of a list. `total` is null if unknown. */
interface Wanted {
  at: number
  size: number
  total: number | null
}

class ListReader<Row extends { id: string }> {
  readonly #database: Knex
  readonly #list: IdList
  readonly #read: ReadIds<Row>

  constructor(database: Knex, list: IdList, read: ReadIds<Row>) {
    this.#database = database
    this.#list = list
    this.#read = read
  }

  async read(order: Order, wanted: Wanted): Promise<Row[]> {
    return isParts(order) ? await this.#readParts(order, wanted) : await this.#readByTerms(order, wanted)
  }

  /** A page after the middle is read from the end, so that the last page costs as much as the first. */
  async #readByTerms({ terms, bindings = [] }: Terms, { at, size, total }: Wanted): Promise<Row[]> {
    const isBackward = total !== null && at > total / 2
    const query = this.#list.matching.clone().orderByRaw((isBackward ? reversed(terms) : terms).join(', '), [...bindings])
    const rows = await this.#read(paged(query, isBackward ? total - at - size : at, size))
    return isBackward ? rows.reverse() : rows
  }

  async #readParts(parts: readonly ListPart[], { at, size, total }: Wanted): Promise<Row[]> {
    const { key, matching, walking, stepMin = STEP_MIN } = this.#list
    const rows: Row[] = []
    let skipped = at
    let left = total
    for (const [index, part] of parts.entries()) {
      const narrowed = narrow(matching, part)
      const anchors = key === undefined ? null : anchorsOf(`${key} ${index}`, Math.ceil(stepMin / ANCHORS_PER_STEP))
      const isLast = index === parts.length - 1
      const length = isLast ? left : skipped > 0 ? await lengthOf(this.#database, narrowed, anchors) : null
      if (length === null || skipped < length) {
        const step = Math.max(walking ? stepMin * WALKING_STEPS : stepMin, Math.ceil((length ?? 0) / STEPS_MAX))
        const reader = new PartReader({
          part,
          matching: narrowed,
          walking: walking ? narrow(walking, part) : narrowed,
          anchors,
          step,
          read: this.#read,
        })
        const own = length === null ? size - rows.length : Math.min(size - rows.length, length - skipped)
        rows.push(...(await reader.read({ at: skipped, size: own, total: length })))
      }
      if (rows.length === size) break
      skipped = length === null ? 0 : Math.max(0, skipped - length)
      if (left !== null) left = length === null ? null : left - length
    }
    return rows
  }
}

/** The numbers are part of the text: a plan that does not know them would expect a tenth of all rows. */
const paged = (query: Knex.QueryBuilder, offset: number, limit: number): Knex.QueryBuilder =>
  (offset > 0 ? query.offset(offset, { skipBinding: true }) : query).limit(limit, { skipBinding: true })

const isParts = (order: Order): order is readonly ListPart[] => Array.isArray(order)

function narrow(matching: Knex.QueryBuilder, part: ListPart): Knex.QueryBuilder {
  const query = matching.clone()
  part.narrow?.(query)
  return query
}

async function lengthOf(database: Knex, matching: Knex.QueryBuilder, anchors: ListAnchors | null): Promise<number> {
  const length = anchors?.length ?? (await count(database, matching))
  if (anchors) anchors.length = length
  return length
}

/** Reads rows of one part, from the nearest anchor that is known: its begin, its end, or a row that was read before. */
class PartReader<Row extends { id: string }> {
  readonly #part: ListPart
  readonly #matching: Knex.QueryBuilder
  readonly #walking: Knex.QueryBuilder
  readonly #anchors: ListAnchors | null
  readonly #step: number
  readonly #read: ReadIds<Row>

  constructor(options: {
    part: ListPart
    matching: Knex.QueryBuilder
    walking: Knex.QueryBuilder
    anchors: ListAnchors | null
    step: number
    read: ReadIds<Row>
  }) {
    this.#part = options.part
    this.#matching = options.matching
    this.#walking = options.walking
    this.#anchors = options.anchors
    this.#step = options.step
    this.#read = options.read
  }

  async read({ at, size, total }: Wanted): Promise<Row[]> {
    let origin = this.#nearest({ at, size, total })
    const distance = () => (origin.isBackward ? origin.at - at - size : at - origin.at)
    while (this.#anchors !== null && distance() > this.#step) {
      const anchor = await this.#walk(origin)
      // Rows were removed since they were counted.
      if (anchor === null) break
      this.#anchors.note(anchor)
      origin = { ...anchor, isBackward: origin.isBackward }
    }
    const rows = await this.#read(this.#from(origin, distance(), size))
    if (origin.isBackward) rows.reverse()
    const [first, last] = [rows[0], rows.at(-1)]
    if (first && at > 0) this.#anchors?.note({ at, id: first.id })
    if (last && rows.length > 1) this.#anchors?.note({ at: at + rows.length - 1, id: last.id })
    return rows
  }

  #nearest({ at, size, total }: Wanted): Origin {
    const { before, behind } = this.#anchors?.around(at) ?? { before: null, behind: null }
    const forward: Origin = before ? { ...before, isBackward: false } : { at: 0, id: null, isBackward: false }
    const isUsable = behind !== null && behind.at >= at + size
    const end: Origin | null = total === null ? null : { at: total, id: null, isBackward: true }
    const backward: Origin | null = isUsable ? { ...behind, isBackward: true } : end
    return backward !== null && backward.at - at - size < at - forward.at ? backward : forward
  }

  /** The anchor that is one step away. */
  async #walk(origin: Origin): Promise<ListAnchor | null> {
    // Backward, the origin itself is not read.
    const skip = origin.isBackward ? this.#step - 1 : this.#step
    const [row] = await rowsOf(this.#from(origin, skip, 1))
    return row === undefined ? null : { at: origin.at + (origin.isBackward ? -this.#step : this.#step), id: row.id }
  }

  #from({ id, isBackward }: Origin, skip: number, size: number): Knex.QueryBuilder {
    const query = (skip > NEAR_OFFSET_MAX ? this.#walking : this.#matching).clone()
    if (id !== null) query.modify(seek(this.#part, id, isBackward))
    return paged(query.orderByRaw(orderOf(this.#part, isBackward)), skip, size)
  }
}

/** Where to read from, and in which direction. `id` is null at the begin and at the end; backward, the row itself is not read. */
interface Origin {
  at: number
  id: string | null
  isBackward: boolean
}

async function count(database: Knex, matching: Knex.QueryBuilder): Promise<number> {
  return await countRows(database.from(matching.clone().as('matching')))
}

const rowsOf: ReadIds<{ id: string }> = async (query) => await query
