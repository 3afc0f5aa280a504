import { once } from 'node:events'
import { chown, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { migrate, openDatabase } from '#core/database/database.ts'
import { makeDataFolder } from '#core/embedded/data-folder.ts'
import { readPassword } from '#core/embedded/database-role.ts'
import { findRunningUrl, openEmbeddedPostgres, socketUrl } from '#core/embedded/embedded-postgres.ts'
import { launchPostgres, launchProgram } from '#core/embedded/launch-postgres.ts'
import { findPostgresRunner } from '#core/embedded/postgres-binaries.ts'
import { readPostmasterFile, stopPostmaster } from '#core/embedded/postmaster.ts'
import { silentLog } from '#core/foundation/log.ts'
import { onlyFull } from '#test/support/lane-size.ts'

// Creating a cluster takes a second on an idle machine, and several on a busy one.
t.setTimeout(240_000)

async function makeFolder(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-role-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  return await makeDataFolder(path.join(room, 'data'))
}

async function open(t: Test, folder: string) {
  const postgres = await openEmbeddedPostgres({ folder, log: silentLog, onExit() {}, settings: { fsync: 'off' } })
  t.teardown(() => postgres.close())
  return postgres
}

async function query(connectionString: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

t.test('a connection needs the password, and cannot leave the database', async (t) => {
  const folder = await makeFolder(t)
  const first = await open(t, folder)
  const { socketFolder } = (await readPostmasterFile(path.join(folder, 'postgres')))!
  t.equal((await stat(socketFolder)).mode & 0o777, 0o700)
  t.equal((await stat(path.join(socketFolder, '.s.PGSQL.5432'))).mode & 0o777, 0o700)
  for (const database of ['carrel', 'postgres', 'template1']) {
    for (const role of ['postgres', 'root', 'nobody', 'pg_execute_server_program'])
      await t.rejects(query(socketUrl(socketFolder, database, { role }), 'SELECT 1'), { code: '28000' }, `${role} in ${database}`)
    await t.rejects(query(socketUrl(socketFolder, database, { password: 'guessed' }), 'SELECT 1'), { code: '28P01' })
  }
  await t.rejects(query(socketUrl(socketFolder, 'carrel'), 'SELECT 1'), /password/)

  t.match(
    await query(
      first.url,
      `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user`,
    ),
    [{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false, rolbypassrls: false }],
  )
  const rights = { code: '42501' }
  for (const statement of [
    `COPY (SELECT 1) TO PROGRAM 'cat'`,
    `CREATE TEMPORARY TABLE told (line text); COPY told FROM PROGRAM 'id'`,
    `COPY (SELECT 1) TO '/tmp/carrel-role-test'`,
    `SELECT pg_read_file('postgresql.conf')`,
    `SELECT lo_import('/etc/passwd')`,
    `SET ROLE postgres`,
    `SET SESSION AUTHORIZATION postgres`,
    `GRANT pg_execute_server_program TO carrel`,
    `ALTER ROLE carrel SUPERUSER`,
    `ALTER SYSTEM SET archive_command = 'id'`,
    `CREATE FUNCTION run(cstring) RETURNS int AS '/lib/x86_64-linux-gnu/libc.so.6', 'system' LANGUAGE c`,
    `CREATE DATABASE another`,
    `LOAD '/tmp/library.so'`,
  ])
    await t.rejects(query(first.url, statement), rights, statement)
  await query(first.url, 'CREATE EXTENSION pg_trgm; CREATE EXTENSION unaccent; DROP EXTENSION pg_trgm, unaccent')
})

t.test('every start generates a new password, in a file of its user', async (t) => {
  const folder = await makeFolder(t)
  const first = await open(t, folder)
  const file = path.join(folder, 'postgres.password')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const before = await readPassword(folder)
  t.ok(first.url.includes(before!))
  t.equal(await findRunningUrl(folder), first.url)
  t.notMatch(await readFile(path.join(folder, 'postgres', 'pg_hba.conf'), 'utf8'), /trust|postgres/)
  await first.close()
  t.equal(await findRunningUrl(folder), null)

  const second = await open(t, folder)
  t.not(await readPassword(folder), before)
  await t.rejects(query(first.url, 'SELECT 1'), { code: '28P01' }, 'the previous one is invalid')
  t.same((await query(second.url, 'SELECT 1 AS one'))[0], { one: 1 })
})

/** As an earlier version did, which trusted every connection to the socket and worked as superuser. */
async function makeOldCluster(folder: string): Promise<void> {
  const cluster = path.join(folder, 'postgres')
  const runner = await findPostgresRunner(folder)
  await mkdir(cluster, { mode: 0o700 })
  if (runner.owner !== undefined) await chown(cluster, runner.owner, runner.owner)
  const made = launchProgram(runner, 'initdb', ['-D', cluster, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'])
  made.stdout!.resume()
  made.stderr!.resume()
  const [code] = await once(made, 'close')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)
  const server = launchPostgres(runner, cluster, [
    '-D',
    cluster,
    '-c',
    'listen_addresses=',
    '-c',
    `unix_socket_directories=${cluster}`,
    '-c',
    'fsync=off',
  ])
  server.stdout!.resume()
  server.stderr!.resume()
  for (let tries = 0; tries < 1_000 && !(await readPostmasterFile(cluster))?.ready; tries++) await sleep(20)
  await query(socketUrl(cluster, 'postgres', { role: 'postgres' }), 'CREATE DATABASE carrel')
  const url = socketUrl(cluster, 'carrel', { role: 'postgres' })
  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  await migrate(database)
  await database.destroy()
  await query(url, OLD_OBJECTS)
  await stopPostmaster(server.pid!)
}

const OLD_OBJECTS = `
  CREATE EXTENSION citext;
  CREATE SCHEMA "Queue of old";
  CREATE TYPE "Queue of old"."State" AS ENUM ('a', 'b');
  CREATE DOMAIN "Queue of old".positive AS int CHECK (VALUE > 0);
  CREATE TABLE "Queue of old"."Job" (id serial, number int GENERATED ALWAYS AS IDENTITY, state "Queue of old"."State") PARTITION BY LIST (state);
  CREATE TABLE "Queue of old".job_a PARTITION OF "Queue of old"."Job" FOR VALUES IN ('a');
  INSERT INTO "Queue of old"."Job" (state) VALUES ('a');
  CREATE VIEW "Queue of old".seen AS SELECT * FROM "Queue of old"."Job";
  CREATE MATERIALIZED VIEW "Queue of old".counted AS SELECT count(*) FROM "Queue of old"."Job";
  CREATE SEQUENCE "Queue of old".free;
  CREATE FUNCTION "Queue of old".twice(n int, "odd name" text DEFAULT 'x') RETURNS int LANGUAGE sql AS 'SELECT n * 2';
  CREATE PROCEDURE "Queue of old".nothing() LANGUAGE sql AS 'SELECT 1';
  CREATE TEXT SEARCH CONFIGURATION "Queue of old".words (COPY = simple)`

t.test('objects that an earlier version created as superuser belong to the role afterwards', onlyFull, async (t) => {
  const folder = await makeFolder(t)
  await makeOldCluster(folder)
  const { url } = await open(t, folder)
  await t.rejects(query(url.replace(/carrel:[^@]+@/, 'postgres@'), 'SELECT 1'), { code: '28000' })
  t.same(await query(url, `SELECT relname FROM pg_class WHERE relowner = 10 AND oid >= 16384 AND relkind <> 't'`), [])
  for (const statement of [
    'ALTER TABLE books ADD COLUMN added int',
    'ALTER COLLATION carrel_natural RENAME TO carrel_natural_order',
    'ALTER TABLE series DISABLE TRIGGER USER',
    `INSERT INTO "Queue of old"."Job" (state) VALUES ('a')`,
    `ALTER TYPE "Queue of old"."State" ADD VALUE 'c'`,
    'REFRESH MATERIALIZED VIEW "Queue of old".counted',
    'DROP SCHEMA "Queue of old" CASCADE',
    'DROP SCHEMA public CASCADE',
  ])
    await t.resolves(query(url, statement), statement)
})
