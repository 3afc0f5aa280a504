import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import type { Fragment } from '#core/catalog/filter-query.ts'
import { CATALOG_VERSION, type ListState, OWN_VERSION } from '#core/catalog/list-state-query.ts'
import { openSingleFlight } from '#core/database/single-flight.ts'
import { currentScope } from '#core/database/statement-scope.ts'
import { bounded } from '#core/foundation/bounded.ts'

interface Counted {
  catalog: string
  own: string
  total: number
}

/** A filtered list as its total depends on it. */
interface FilteredList {
  of: 'books' | 'series'
  /** What its filter consists of, without the condition. */
  filter: Readonly<Record<string, unknown>>
  condition?: Fragment | undefined
  /** Whether the filter asks about what belongs to the caller: progress, wanted series, ratings. The condition tells by itself. */
  asksAboutCaller: boolean
  /** The total as an expression, see {@link countOf} and core/catalog/kept-total-query.ts. */
  total: Knex.Raw
}

/** The number of rows of a query, as an expression. */
export const countOf = (database: Knex, matching: Knex.QueryBuilder): Knex.Raw =>
  database.raw('(SELECT count(*) FROM (?) AS matching)', [matching])

/** The total of a list, if it is known, and how to find it. */
export interface ListTotal {
  /** Also if another request has found it meanwhile. */
  readonly known: number | null
  /** Of the list and the state of the data: the same for two requests only if the same rows match. */
  key: string
  count(): Promise<number>
  /**
   * Runs a statement that finds the total beside other things, once for all who wait for it, and remembers the total.
   * @param others tells it from other statements about the list
   * @param select is given columns that it must select, and selects the `total`
   */
  counted<Row extends { total: string | number }>(others: string, select: (versions: Knex.Raw) => Knex.Raw): Promise<Row>
}

/** Some 300 bytes each, with the condition: 3 MB. */
const REMEMBERED_MAX = 10_000

class Totals {
  readonly #remembered = new LRUCache<string, Counted>(bounded(REMEMBERED_MAX))
  readonly #counting = openSingleFlight()
  readonly #database: Knex

  constructor(database: Knex) {
    this.#database = database
  }

  of(caller: Caller, state: ListState, list: FilteredList): ListTotal {
    const isOwn = list.asksAboutCaller || (list.condition?.bindings.includes(caller.userId) ?? false)
    const key = JSON.stringify([
      list.of,
      state.grants,
      list.filter,
      list.condition && [list.condition.sql, list.condition.bindings],
      ...(isOwn ? [caller.userId, progressUserId(caller)] : []),
    ])
    // A request after a change must not get a count from before it.
    const moment = `${[state.catalog, ...(isOwn ? [state.own] : [])].join()} ${key}`
    const find = () => {
      const known = this.#remembered.get(key)
      return known?.catalog === state.catalog && (!isOwn || known.own === state.own) ? known.total : null
    }
    const counted = (others: string, select: (versions: Knex.Raw) => Knex.Raw) =>
      this.#counting.join(`${moment} ${others}`, currentScope()?.scope.signal(), () => this.#counted(caller, key, select))
    return {
      get known() {
        return find()
      },
      key: moment,
      counted: counted as ListTotal['counted'],
      count: async () =>
        find() ?? Number((await counted('', (versions) => this.#database.raw('SELECT ?, ? AS total', [versions, list.total]))).total),
    }
  }

  /** The versions are of the very moment of the count. */
  async #counted(caller: Caller, key: string, select: (versions: Knex.Raw) => Knex.Raw): Promise<{ total: string | number }> {
    const { rows } = await select(this.#database.raw(VERSIONS, [caller.userId, caller.userId]))
    const [row] = rows as [{ catalog: string; own: string; total: string | number }]
    this.#remembered.set(key, { catalog: row.catalog, own: row.own, total: Number(row.total) })
    return row
  }
}

const VERSIONS = `${CATALOG_VERSION}::text AS catalog, ${OWN_VERSION}::text AS own`

const totals = new WeakMap<Knex, Totals>()

/** The total of a filtered list: counted once for all callers who see the same, and remembered until something that it depends on changes. */
export function totalOf(database: Knex, caller: Caller, state: ListState, list: FilteredList): ListTotal {
  let own = totals.get(database)
  if (own === undefined) {
    own = new Totals(database)
    totals.set(database, own)
  }
  return own.of(caller, state, list)
}
