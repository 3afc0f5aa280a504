import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import type { CompiledCondition } from '#core/catalog/filter-query.ts'
import { AVERAGES_VERSION, CATALOG_VERSION, OWN_VERSION } from '#core/catalog/list-state-query.ts'
import { perDatabase } from '#core/database/per-database.ts'
import { prepared } from '#core/database/prepared.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import { currentScope } from '#core/database/statement-scope.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { shortKey } from '#core/foundation/register.ts'
import type { TotalBeside } from '#core/paging/id-page-query.ts'
import type { ListState } from '#core/paging/list-state.ts'

interface Counted {
  /** The versions on which it depends, in one text. */
  versions: string
  total: number
}

/** A filtered list as its total depends on it. */
interface FilteredList {
  of: 'books' | 'series'
  /** What its filter consists of, without the condition. */
  filter: Readonly<Record<string, unknown>>
  condition?: CompiledCondition | undefined
  /** Whether the filter asks about what belongs to the caller: progress, wanted series, ratings. The condition tells by itself. */
  asksAboutCaller: boolean
  /** The total as an expression, see {@link countOf} and core/catalog/kept-total-query.ts. */
  total: Knex.Raw
  /** Whether the total is kept: its statement is one of few then, so that it is worth preparing. */
  isKept: boolean
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
  /** Of a total that is kept: for the statement of a page. */
  beside: TotalBeside | null
  /**
   * Runs a statement that finds the total beside other things, once for all who wait for it, and remembers the total.
   * @param others tells it from other statements about the list
   * @param select is given columns that it must select, and selects the `total`
   */
  counted<Row extends { total: string | number }>(others: string, select: (versions: Knex.Raw) => Knex.Raw): Promise<Row>
}

/** Some 5,000 lists, whatever their conditions. */
const REMEMBERED_BYTES_MAX = 3 * 1024 * 1024

class Totals {
  readonly #remembered = new BoundedCache<Counted>({ bytesMax: REMEMBERED_BYTES_MAX })
  readonly #counting = new SingleFlight({ mayRepeat: true })
  readonly #database: Knex

  constructor(database: Knex) {
    this.#database = database
  }

  of(caller: Caller, state: ListState, list: FilteredList): ListTotal {
    const isOwn = list.asksAboutCaller || (list.condition?.bindings.includes(caller.userId) ?? false)
    // A condition may have a megabyte, and what waits or is remembered has this key in its own.
    const key = shortKey(
      JSON.stringify([
        list.of,
        state.sight,
        list.filter,
        list.condition && [list.condition.sql, list.condition.bindings],
        ...(isOwn ? [caller.userId, progressUserId(caller)] : []),
      ]),
    )
    // A request after a change must not get a count from before it.
    const versionsOf = ({ catalog, own, averages }: Versions) =>
      [catalog, isOwn && own, list.condition?.asksAboutAverages && averages].filter(Boolean).join()
    const versions = versionsOf(state)
    const moment = `${versions} ${key}`
    const find = () => {
      const known = this.#remembered.get(key)
      return known?.versions === versions ? known.total : null
    }
    const counted = (others: string, select: (versions: Knex.Raw) => Knex.Raw) =>
      // Nobody leaves before a kept total is there, and a signal costs more than it.
      this.#counting.join(`${moment} ${others}`, list.isKept ? undefined : currentScope()?.signal(), async () => {
        // The versions are of the very moment of the count.
        const { rows } = await select(this.#database.raw(VERSIONS, [caller.userId, caller.userId]))
        const [row] = rows as [Versions & { total: string | number }]
        this.#remembered.set(key, { versions: versionsOf(row), total: Number(row.total) })
        return row
      })
    return {
      get known() {
        return find()
      },
      key: moment,
      // The versions were read before the total is, so that no request after a change gets a total from before it.
      beside: list.isKept ? { total: list.total, note: (total) => this.#remembered.set(key, { versions, total }) } : null,
      counted: counted as ListTotal['counted'],
      count: async () => {
        const select = (versions: Knex.Raw) => this.#database.raw('SELECT ?, ? AS total', [versions, list.total])
        return find() ?? Number((await counted('', list.isKept ? (versions) => prepared(select(versions)) : select)).total)
      },
    }
  }
}

type Versions = Pick<ListState, 'catalog' | 'own' | 'averages'>

const VERSIONS = `${CATALOG_VERSION}::text AS catalog, ${OWN_VERSION}::text AS own, ${AVERAGES_VERSION}::text AS averages`

const totalsOf = perDatabase((database) => new Totals(database))

/** The total of a filtered list: counted once for all callers who see the same, and remembered until something that it depends on changes. */
export const totalOf = (database: Knex, caller: Caller, state: ListState, list: FilteredList): ListTotal =>
  totalsOf(database).of(caller, state, list)
