import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { chown, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { NO_OPTIONS } from '#core/database/canceler.ts'

/** The role of the server and its commands: owner of our database, without any other rights. */
export const ROLE = 'carrel'
/** The role that initdb creates. It may read files and run programs; nobody can connect as it once the server is up. */
const SUPERUSER = 'postgres'
/** 256 bits cannot be guessed. */
const PASSWORD_BYTES = 32
/** The minimum of RFC 7677; the password is random, so that more adds nothing. */
const SCRAM_ITERATIONS = 4_096
/** PostgreSQL reloads its access rules within milliseconds. */
const RELOAD_MS = 10_000
const POLL_MS = 5

const ACCESS_WHILE_PREPARING = `local all ${SUPERUSER} trust\nlocal all ${ROLE} scram-sha-256\n`
const ACCESS = `local all ${ROLE} scram-sha-256\n`

const passwordFile = (folder: string) => path.join(folder, 'postgres.password')

/** The password of the PostgreSQL that runs on a data folder; every start generates a new one. Null when there is none. */
export async function readPassword(folder: string): Promise<string | null> {
  const text = await readFile(passwordFile(folder), 'utf8').catch(() => '')
  return text.trim() || null
}

/** Generates a password and writes it where commands of the same user find it. */
export async function rotatePassword(folder: string): Promise<string> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const file = passwordFile(folder)
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
  return password
}

/** What PostgreSQL stores of a password (RFC 5803): it does not reveal the password, which is never sent in clear text. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`
}

/** Before PostgreSQL starts: lets the superuser in, for {@link prepareRole}. The socket's folder is ours, and no plugin runs yet. */
export async function allowPreparation(cluster: string, owner?: number): Promise<void> {
  await writeAccess(cluster, ACCESS_WHILE_PREPARING, owner)
}

async function writeAccess(cluster: string, text: string, owner?: number): Promise<void> {
  const file = path.join(cluster, 'pg_hba.conf')
  await writeFile(`${file}.new`, text, { mode: 0o600 })
  if (owner !== undefined) await chown(`${file}.new`, owner, owner)
  await rename(`${file}.new`, file)
}

/**
 * Performs the steps of a start that need the superuser: the role with its new password, its database, and the ownership of what an earlier
 * version created as superuser. Then locks the superuser out for as long as PostgreSQL runs.
 * @param options.urlOf connection URL of a database for a role
 * @param options.mayCreateDatabases for tests
 */
export async function prepareRole(options: {
  cluster: string
  owner: number | undefined
  database: string
  password: string
  urlOf: (role: string, database: string) => string
  mayCreateDatabases?: boolean
}): Promise<void> {
  const { database, urlOf } = options
  await withClient(urlOf(SUPERUSER, 'postgres'), async (client) => {
    const { rows: roles } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [ROLE])
    if (roles.length === 0) await client.query(`CREATE ROLE ${ROLE}`)
    const create = options.mayCreateDatabases ? 'CREATEDB' : 'NOCREATEDB'
    await client.query(
      `ALTER ROLE ${ROLE} LOGIN NOSUPERUSER ${create} NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '${scramVerifier(options.password)}'`,
    )
    const { rows: databases } = await client.query('SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1', [
      database,
    ])
    if (databases.length === 0) await client.query(`CREATE DATABASE ${database} OWNER ${ROLE}`)
    else if (databases[0].owner !== ROLE) {
      await withClient(urlOf(SUPERUSER, database), giveObjects)
      // Last, so that a start that is killed here repeats everything.
      await client.query(`ALTER DATABASE ${database} OWNER TO ${ROLE}`)
    }
    await keepSuperuserOut(client, options)
  })
}

/** Everything that the superuser owns in the database, except extensions, which own their objects. */
const OBJECTS_OF_SUPERUSER = `
  WITH owned AS (
    SELECT 'pg_namespace'::regclass AS class, oid, 'SCHEMA ' || quote_ident(nspname) AS name FROM pg_namespace WHERE nspowner = 10
    UNION ALL SELECT 'pg_class'::regclass, oid,
      CASE relkind WHEN 'S' THEN 'SEQUENCE ' WHEN 'v' THEN 'VIEW ' WHEN 'm' THEN 'MATERIALIZED VIEW ' ELSE 'TABLE ' END || oid::regclass
      FROM pg_class WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL SELECT 'pg_type'::regclass, oid, 'TYPE ' || oid::regtype FROM pg_type
      WHERE typowner = 10 AND typtype IN ('d', 'e', 'r', 'c') AND (typrelid = 0 OR (SELECT relkind FROM pg_class WHERE oid = typrelid) = 'c')
    UNION ALL SELECT 'pg_proc'::regclass, oid, 'ROUTINE ' || oid::regprocedure FROM pg_proc WHERE proowner = 10
    UNION ALL SELECT 'pg_collation'::regclass, oid, 'COLLATION ' || oid::regcollation FROM pg_collation WHERE collowner = 10
    UNION ALL SELECT 'pg_ts_config'::regclass, oid, 'TEXT SEARCH CONFIGURATION ' || oid::regconfig FROM pg_ts_config WHERE cfgowner = 10
    UNION ALL SELECT 'pg_ts_dict'::regclass, oid, 'TEXT SEARCH DICTIONARY ' || oid::regdictionary FROM pg_ts_dict WHERE dictowner = 10
  )
  SELECT name FROM owned
  -- Below are the schemas of every new database.
  WHERE oid >= 16384
    -- Part of an extension, or a sequence that follows the table it numbers.
    AND NOT EXISTS (
      SELECT 1 FROM pg_depend d WHERE d.classid = owned.class AND d.objid = owned.oid
        AND (d.deptype = 'e' OR (d.deptype IN ('a', 'i') AND name LIKE 'SEQUENCE %'))
    )`

async function giveObjects(client: pg.Client): Promise<void> {
  await client.query('BEGIN')
  // Otherwise names would lack their schemas.
  await client.query(`SET LOCAL search_path = ''`)
  const { rows } = await client.query<{ name: string }>(OBJECTS_OF_SUPERUSER)
  for (const { name } of rows) await client.query(`ALTER ${name} OWNER TO ${ROLE}`)
  await client.query('COMMIT')
}

/** Resolves when PostgreSQL uses the new rules and every connection made under the old ones has ended. */
async function keepSuperuserOut(client: pg.Client, options: Parameters<typeof prepareRole>[0]): Promise<void> {
  const { rows } = await client.query('SELECT pg_conf_load_time()::text AS before')
  await writeAccess(options.cluster, ACCESS, options.owner)
  await client.query('SELECT pg_reload_conf()')
  const isLoaded = async (connected: pg.Client) =>
    (await connected.query('SELECT pg_conf_load_time() > $1::timestamptz AS loaded', [rows[0].before])).rows[0].loaded as boolean
  const until = Date.now() + RELOAD_MS
  // A new connection uses the rules that the postmaster had loaded when it accepted the connection.
  while (!(await withClient(options.urlOf(ROLE, options.database), isLoaded))) {
    if (Date.now() > until) throw new Error(`PostgreSQL does not reload its access rules (${options.cluster}/pg_hba.conf).`)
    await sleep(POLL_MS)
  }
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    [SUPERUSER],
  )
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'carrel', options: NO_OPTIONS })
  // PostgreSQL ended in the meantime: the running query reports it.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
