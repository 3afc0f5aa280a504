import { readdir } from 'node:fs/promises'
import knexFactory, { type Knex } from 'knex'
import pg from 'pg'
import { limitedClient } from '#core/database/limited-client.ts'
import { StartProblem } from '#core/database/start-problem.ts'
import { STATEMENT_LIMITS, StatementLimiter, type StatementLimits } from '#core/database/statement-limits.ts'
import type { Log } from '#core/foundation/log.ts'

/** A statement that takes longer than this is stuck or wrong; only migrations may take as long as they need. */
const STATEMENT_TIMEOUT_MS = 120_000
/** Tasks wait for a connection; requests wait less (core/database/statement-limits.ts). */
const ACQUIRE_TIMEOUT_MS = 30_000
/** How often PostgreSQL checks whether the client of a running statement is still connected. */
const CHECK_CLIENT_MS = 2_000
/**
 * What reading a page at any place costs, compared with the next one. PostgreSQL's 4 is that of a turning disk; with it, lists read whole tables where an
 * index in memory or on an SSD takes a fraction of the time.
 */
const RANDOM_PAGE_COST = 1.1
/** Any constant of our own: the process that holds this advisory lock runs the migrations. */
const MIGRATION_LOCK = 7_201_884_313
/** The first migration of every version before the first release; the baseline replaced them all. */
const FIRST_UNRELEASED = '0001_library.ts'
const MIGRATIONS = new URL('../../migrations/', import.meta.url)

const OID_INT8 = 20
const OID_NUMERIC = 1700

/** A bigint as a number when a double holds it exactly, else its decimal text (nanosecond times: select them as `::text`). */
export function parseBigint(text: string): number | string {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}

/** A numeric as a number when its digits fit a double (15 do always), else its decimal text. */
export function parseNumeric(text: string): number | string {
  const digits = text.replace(/^-?0*\.?0*/, '').replace('.', '')
  if (digits.length <= 15 && Number.isFinite(Number(text))) return Number(text)
  return /^-?\d+$/.test(text) ? parseBigint(text) : text
}

// Per connection, not pg.types.setTypeParser: that would change the parsers of every other user of pg in the process.
const types = {
  getTypeParser(oid: number, format: string) {
    if (format !== 'binary' && oid === OID_INT8) return parseBigint
    if (format !== 'binary' && oid === OID_NUMERIC) return parseNumeric
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/**
 * Opens a pool on a PostgreSQL server. Connections are opened when first needed, so this succeeds even when the server is down:
 * call {@link checkDatabase} to find out.
 * @param options.poolMax most connections at the same time (at least 2: migrating holds one while it uses another); one more cancels statements
 * @param options.limits limits of the statements of requests, if not the default
 */
export function openDatabase(options: {
  url: string
  poolMax: number
  log: Log
  statementTimeoutMs?: number
  acquireTimeoutMs?: number
  limits?: Partial<StatementLimits>
}): Knex {
  const { url, log } = options
  const poolMax = Math.max(2, options.poolMax)
  const timeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const connection = (): Knex.PgConnectionConfig => ({
    connectionString: url,
    types,
    application_name: 'carrel',
    statement_timeout: timeoutMs,
    // No statement runs for a client that has disconnected: after a server is killed, its statements end within seconds.
    options: `-c client_connection_check_interval=${CHECK_CLIENT_MS} -c random_page_cost=${RANDOM_PAGE_COST}`,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  const limiter = new StatementLimiter({
    poolMax,
    timeoutMs,
    limits: { ...STATEMENT_LIMITS, ...options.limits },
    configure: () => ({ connectionString: url, application_name: 'carrel', keepAlive: true }),
  })
  return knexFactory({
    client: limitedClient(limiter),
    connection,
    pool: { min: 0, max: poolMax },
    acquireConnectionTimeout: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    // Values do not belong in messages or the log, and formatting a megabyte of them would block the main thread.
    compileSqlOnError: false,
    log: {
      warn: (message: unknown) => log.warn({}, `database: ${String(message)}`),
      error: (message: unknown) => log.error({}, `database: ${String(message)}`),
      deprecate: (message: unknown) => log.debug({}, `database: ${String(message)}`),
      debug: (message: unknown) => log.debug({}, `database: ${String(message)}`),
    },
  })
}

/** The server's version number (180004 = 18.4) and database name; throws when it cannot be reached. */
export async function checkDatabase(database: Knex): Promise<{ version: number; name: string }> {
  const { rows } = await database.raw(`SELECT current_setting('server_version_num')::int AS version, current_database() AS name`)
  return rows[0]
}

/** Names of the migrations in this version, in the order they run. */
export async function listMigrations(): Promise<string[]> {
  const files = await readdir(MIGRATIONS)
  return files.filter((file) => /^\d{4}_[a-z0-9_]+\.ts$/.test(file)).sort()
}

/** Migrations that have not run on the database yet. */
export async function pendingMigrations(database: Knex): Promise<string[]> {
  const known = await appliedMigrations(database)
  return (await listMigrations()).filter((name) => !known.has(name))
}

/**
 * Refuses tables that this version cannot use, before anything is written.
 * @throws UnreleasedDatabase when a version before the first release made them, NewerDatabase when a newer version migrated them
 */
export async function refuseIncompatible(database: Knex): Promise<void> {
  const own = await listMigrations()
  const applied = await appliedMigrations(database)
  if (applied.has(FIRST_UNRELEASED)) throw new UnreleasedDatabase()
  const newer = [...applied].filter((name) => !own.includes(name))
  if (newer.length > 0) throw new NewerDatabase(newer)
}

/** The tables of a version before the first release: no migration leads from there. */
class UnreleasedDatabase extends StartProblem {
  constructor() {
    super(
      'An unreleased version of Carrel made this database, and this version cannot read it: export what you need with that version, then move the data ' +
        'folder away or start with another --data-dir (or DATABASE_URL); the files of your books are not touched.',
    )
    this.name = 'UnreleasedDatabase'
  }
}

/** This version is older than the tables, and might damage them. */
class NewerDatabase extends StartProblem {
  constructor(names: readonly string[]) {
    super(`A newer version of Carrel migrated this database (to ${names.join(', ')}). Start that version, or restore a backup.`)
    this.name = 'NewerDatabase'
  }
}

async function appliedMigrations(database: Knex): Promise<Set<string>> {
  if (!(await database.schema.hasTable('knex_migrations'))) return new Set()
  return new Set(await database('knex_migrations').pluck('name'))
}

/**
 * Brings the tables up to date; returns the names of the migrations it ran. Safe to run twice and from several processes at the same time: one
 * works, the others wait.
 * @throws UnreleasedDatabase, NewerDatabase, or the error of a migration, which is rolled back
 */
export async function migrate(database: Knex): Promise<string[]> {
  const own = await listMigrations()
  // The lock ends with its connection: a killed process cannot leave it behind, as it would leave the lock row of knex.
  return await database.transaction(async (holder) => {
    // Waiting for another process' migrations takes as long as they do.
    await holder.raw('SET LOCAL statement_timeout = 0')
    await holder.raw('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
    await refuseIncompatible(database)
    await database.migrate.forceFreeMigrationsLock()
    const migrationSource = {
      getMigrations: async () => own,
      getMigrationName: (name: string) => name,
      getMigration: async (name: string) => withoutTimeout(await import(new URL(name, MIGRATIONS).href)),
    }
    const [, ran] = await database.migrate.latest({ migrationSource }).catch((error: unknown) => {
      throw describeMissingExtension(error) ?? error
    })
    return ran as string[]
  })
}

/** The sentence for an operator whose own PostgreSQL lacks the extension, or does not let us create it; null for any other error. */
export function describeMissingExtension(error: unknown): StartProblem | null {
  if (!(error instanceof Error) || !/\bextension "pg_trgm"/.test(error.message)) return null
  return new StartProblem(
    'The PostgreSQL of DATABASE_URL lacks the extension pg_trgm: install the contrib package of that PostgreSQL, or run CREATE EXTENSION pg_trgm in ' +
      'the database as its superuser.',
    { cause: error },
  )
}

/** Each migration runs in a transaction of its own, on another connection than the lock. */
function withoutTimeout(migration: Knex.Migration): Knex.Migration {
  return {
    ...migration,
    async up(knex) {
      await knex.raw('SET LOCAL statement_timeout = 0')
      await migration.up(knex)
    },
  }
}

/** Information for the doctor command. `icu` is false when the server was built without it; `naturalOrder` when our collation sorts differently. */
export async function inspectDatabase(
  database: Knex,
): Promise<{ version: string; encoding: string; icu: boolean; naturalOrder: boolean; pendingMigrations: string[] }> {
  const { rows } = await database.raw(
    `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
       EXISTS (SELECT 1 FROM pg_collation WHERE collprovider = 'i') AS icu`,
  )
  const pending = await pendingMigrations(database)
  const order = await database
    .raw(`SELECT 'volume 9' < 'Volume 10' COLLATE carrel_natural AS natural`)
    .then((answer) => answer.rows[0].natural as boolean)
    .catch(() => false)
  return { ...rows[0], naturalOrder: order, pendingMigrations: pending }
}
