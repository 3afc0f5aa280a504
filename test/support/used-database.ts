// Empties a database that a test has used, so that the next one need not create its own: that takes a tenth of a second of a core, and this a few ms.
import pg from 'pg'

/** Tells these connections from those that a test left open. */
export const CLEANER = 'carrel-test-cleaner'
/** PostgreSQL expects ten pages of a table that was never analyzed, as long as it has no more: until then deleted rows change no plan. */
const TABLE_PAGES_MAX = 10
/** Deleting rows makes triggers write others, which are deleted next. */
const PASSES_MAX = 3

/** Its types lack these two. */
type Client = pg.Client & { ref(): void; unref(): void }

/** A connection that keeps its process running only while it works. */
export class UnheldConnection {
  readonly #client: Client
  #running = 0

  private constructor(client: Client) {
    this.#client = client
  }

  static async open(url: string, name: string): Promise<UnheldConnection> {
    const client = new pg.Client({ connectionString: url, application_name: name }) as Client
    // The next query fails and says why.
    client.on('error', () => {})
    await client.connect()
    client.unref()
    return new UnheldConnection(client)
  }

  async query(query: string | pg.QueryConfig, values?: unknown[]): Promise<pg.QueryResult> {
    if (this.#running++ === 0) this.#client.ref()
    try {
      return await this.#client.query(query as string, values)
    } finally {
      if (--this.#running === 0) this.#client.unref()
    }
  }

  async close(): Promise<void> {
    this.#client.ref()
    await this.#client.end().catch(() => {})
  }
}

/** How to empty a copy of the template. Kept as the comment of the template, for every process that copies it. */
export interface EmptyingPlan {
  /** Tables without rows in the template; those that refer to others come before them. */
  tables: string[]
  /** One row: `isUnchanged`, whether emptying makes the database equal to the template, and `filled`, which of the tables have rows. */
  check: string
  /** Puts all sequences back. */
  restart: string
}

/** A database that a test has left. */
export interface UsedDatabase {
  name: string
  url: string
  /** Stays open between tests: its caches and plans cost more than the rows. */
  connection: UnheldConnection | null
}

const OWN_TABLES = `FROM pg_class WHERE relkind = 'r' AND oid >= 16384`

/** @param template the template before anything copies it */
export async function planEmptying(template: UnheldConnection): Promise<EmptyingPlan> {
  const { rows: tables } = await template.query(
    `SELECT oid, format('%I.%I', relnamespace::regnamespace::text, relname) AS name,
      ARRAY(SELECT conrelid FROM pg_constraint WHERE contype = 'f' AND confrelid = pg_class.oid AND conrelid <> confrelid) AS referring ${OWN_TABLES} ORDER BY oid`,
  )
  const empty: string[] = []
  const kept: string[] = []
  for (const { name } of childrenFirst(tables)) {
    const { rows } = await template.query(`SELECT 1 FROM ${name} LIMIT 1`)
    ;(rows.length === 0 ? empty : kept).push(name)
  }
  const conditions = [...UNCHANGED, ...(await describeContent(template, kept))]
  const { rows } = await template.query(
    `SELECT format('setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value IS NOT NULL) AS step FROM pg_sequences`,
  )
  return {
    tables: empty,
    check: `SELECT ${conditions.map((condition) => `(${condition})`).join(' AND ')} AS "isUnchanged", array_remove(ARRAY[${empty.map(filledSql).join()}], NULL) AS filled`,
    restart: `SELECT ${rows.map(({ step }) => step).join()}`,
  }
}

const filledSql = (table: string, at: number) => `CASE WHEN EXISTS (SELECT FROM ${table}) THEN ${at} END`

/** Emptying deletes rows only, so that everything else has to be as it was. */
const UNCHANGED = [
  // Of the schema: nothing has written to the catalogs of this database since it was created. ANALYZE writes there too.
  `SELECT sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid) + pg_stat_get_tuples_deleted(oid)) = 0
    FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND NOT relisshared`,
  // Of the database: no ALTER DATABASE.
  `SELECT datallowconn AND datconnlimit = -1 AND NOT EXISTS (SELECT FROM pg_db_role_setting WHERE setdatabase = pg_database.oid)
    FROM pg_database WHERE datname = current_database()`,
  `SELECT max(pg_relation_size(oid)) <= ${TABLE_PAGES_MAX} * current_setting('block_size')::int ${OWN_TABLES}`,
]

/** What the planner knows of the tables, which VACUUM and ANALYZE write in place, and the rows that the template has. */
async function describeContent(template: UnheldConnection, kept: readonly string[]): Promise<string[]> {
  const contents = [
    `SELECT concat_ws(' ', sum(relpages), sum(reltuples), sum(relallvisible)) FROM pg_class WHERE oid >= 16384`,
    ...kept.map((table) => `SELECT md5(string_agg(kept::text, '' ORDER BY kept::text)) FROM ${table} kept`),
  ]
  const conditions: string[] = []
  for (const content of contents) {
    const { rows } = await template.query(`SELECT format('(%s) IS NOT DISTINCT FROM %L', $$${content}$$, (${content})) AS condition`)
    conditions.push(rows[0].condition)
  }
  return conditions
}

interface Table {
  oid: number
  name: string
  referring: number[]
}

/** A table comes after all that refer to it; tables that refer to each other come in any order. */
function childrenFirst(tables: readonly Table[]): Table[] {
  const ordered: Table[] = []
  const left = new Map(tables.map((table) => [table.oid, table]))
  while (left.size > 0) {
    const all = [...left.values()]
    const next = all.filter(({ referring }) => !referring.some((oid) => left.has(oid)))
    for (const table of next.length > 0 ? next : all.slice(0, 1)) {
      ordered.push(table)
      left.delete(table.oid)
    }
  }
  return ordered
}

/** Whether the database is now as the template; if not, it is of no more use. */
export async function emptyDatabase(used: UsedDatabase, plan: EmptyingPlan): Promise<boolean> {
  try {
    used.connection ??= await UnheldConnection.open(used.url, CLEANER)
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const { rows } = await used.connection.query({ name: 'check', text: plan.check })
      const { isUnchanged, filled } = rows[0] as { isUnchanged: boolean; filled: number[] }
      if (!isUnchanged) return false
      if (filled.length === 0 && pass > 0) return true
      await used.connection.query([...filled.map((at) => `DELETE FROM ${plan.tables[at]}`), plan.restart].join(';'))
    }
    return false
  } catch {
    // The test ended all connections of its database, or rows of two tables need each other.
    return false
  }
}
