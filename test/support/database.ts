import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { migrate, openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { CLUSTER_FOLDER, KEEPER, KEEPER_SOCKET } from '#test/support/cluster-folder.ts'
import {
  CLEANER,
  type EmptyingPlan,
  emptyDatabase,
  planEmptying,
  UnheldConnection,
  type UsedDatabase,
} from '#test/support/used-database.ts'

/** The first use on a machine runs initdb, in parallel to other tests. */
const CLUSTER_PATIENCE_MS = 60_000
/** A closing pool needs a moment to close its connections. */
const LEAK_PATIENCE_MS = 30_000
/** An arbitrary constant: the process that holds this lock creates the template. */
const TEMPLATE_LOCK = 7_201_884_314

/** Databases that wait for the next test of this process. More are used only by tests that open several at a time. */
const USED_MAX = 3

interface Template {
  name: string
  plan: EmptyingPlan
}

/** Creates, empties and drops databases for all tests of this process. */
interface Maker {
  urlOf: (database: string) => string
  admin: UnheldConnection
  findTemplate: () => Promise<Template>
  used: UsedDatabase[]
}

let maker: Promise<Maker> | null = null

function findMaker(): Promise<Maker> {
  maker ??= openMaker()
  return maker
}

async function openMaker(): Promise<Maker> {
  const urlOf = await connectToKeeper()
  const admin = await UnheldConnection.open(urlOf('postgres'), CLEANER)
  let template: Promise<Template> | null = null
  const findTemplate = () => {
    template ??= prepareTemplate(admin, urlOf)
    return template
  }
  const made: Maker = { urlOf, admin, findTemplate, used: [] }
  // The process ends once nothing is left to drop. Those of a process that is killed stay until the keeper deletes the cluster.
  process.on('beforeExit', async () => {
    for (const left of made.used.splice(0)) await drop(made, left)
  })
  return made
}

/** Connects to the keeper of the cluster, and starts one if necessary. Returns a function for the URL of a database in it. */
async function connectToKeeper(): Promise<(database: string) => string> {
  const until = Date.now() + CLUSTER_PATIENCE_MS
  let started: ChildProcess | null = null
  while (Date.now() < until) {
    const template = await askKeeper()
    if (template) return (database) => template.replace('__name__', database)
    if (started === null || started.exitCode !== null) {
      started = spawn(process.execPath, [KEEPER], { detached: true, stdio: 'ignore', cwd: '/' })
      started.unref()
    }
    await sleep(50)
  }
  throw new Error(`The test database did not start in ${CLUSTER_PATIENCE_MS / 1000} s; look at ${CLUSTER_FOLDER}`)
}

/** The connection stays open until this process ends, which tells the keeper that the cluster is in use. */
function askKeeper(): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = net.connect(KEEPER_SOCKET)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (!text.endsWith('\n')) return
      socket.unref()
      resolve(text.trim())
    })
    socket.on('error', () => resolve(null))
    socket.on('close', () => resolve(null))
  })
}

/** Changes when any migration or a module of one changes. */
async function hashMigrations(): Promise<string> {
  const folder = new URL('../../migrations/', import.meta.url)
  const hash = createHash('sha256')
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts')).sort()
  for (const name of files) hash.update(name).update(await readFile(new URL(name, folder)))
  return hash.digest('hex').slice(0, 16)
}

/** Creates the template database of the current migrations if it is missing. */
async function prepareTemplate(admin: UnheldConnection, urlOf: (database: string) => string): Promise<Template> {
  const name = `template_${await hashMigrations()}`
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
  try {
    const plan = (await readPlan(admin, name)) ?? (await createTemplate(admin, { name, urlOf }))
    return { name, plan }
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK])
  }
}

async function createTemplate(
  admin: UnheldConnection,
  { name, urlOf }: { name: string; urlOf: (database: string) => string },
): Promise<EmptyingPlan> {
  const half = `half_${randomUUID().replaceAll('-', '')}`
  await admin.query(`CREATE DATABASE ${half}`)
  const database = openDatabase({ url: urlOf(half), poolMax: 2, log: silentLog })
  try {
    await migrate(database)
    // The task queue creates its tables when it is opened for the first time.
    const queue = await openTaskQueue({ database, log: silentLog, nodeId: 'template' })
    await queue.stop()
  } finally {
    await database.destroy()
  }
  const connection = await UnheldConnection.open(urlOf(half), CLEANER)
  const plan = await planEmptying(connection).finally(() => connection.close())
  const { rows } = await admin.query(`SELECT format('COMMENT ON DATABASE ${half} IS %L', $1::text) AS comment`, [JSON.stringify(plan)])
  await admin.query(rows[0].comment)
  await admin.query(`ALTER DATABASE ${half} RENAME TO ${name}`)
  return plan
}

async function readPlan(admin: UnheldConnection, template: string): Promise<EmptyingPlan | null> {
  const { rows } = await admin.query(`SELECT shobj_description(oid, 'pg_database') AS plan FROM pg_database WHERE datname = $1`, [template])
  return rows.length > 0 ? JSON.parse(rows[0].plan) : null
}

/** One that an earlier test of this process has left, emptied, or a new one. */
async function takeDatabase(made: Maker, { empty = false, fresh = false }): Promise<UsedDatabase> {
  const template = empty ? null : await made.findTemplate()
  // The last one first: its connection has the fullest caches.
  while (template !== null && !fresh) {
    const left = made.used.pop()
    if (left === undefined) break
    if (await emptyDatabase(left, template.plan)) return left
    await drop(made, left)
  }
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await made.admin.query(`CREATE DATABASE ${name} ${template === null ? '' : `TEMPLATE ${template.name}`} STRATEGY file_copy`)
  return { name, url: made.urlOf(name), connection: null }
}

async function drop({ admin }: Maker, { name, connection }: UsedDatabase): Promise<void> {
  await connection?.close()
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
}

/**
 * A database with all tables as the migrations leave them, for this test alone until its teardown. Connections that are still open then (except those of
 * `database`) fail the test.
 * @param options.empty without tables, for tests of migrating itself
 * @param options.leakPatienceMs how long connections may take to close
 * @param options.fresh no test used it before, for tests of how rows lie on the disk
 */
export async function openTestDatabase(
  t: Test,
  options: { empty?: boolean; fresh?: boolean; poolMax?: number; leakPatienceMs?: number } = {},
): Promise<{ database: Knex; url: string }> {
  const made = await findMaker()
  const taken = await takeDatabase(made, options)
  const { name, url } = taken
  const database = openDatabase({ url, poolMax: options.poolMax ?? 8, log: silentLog })
  t.teardown(async () => {
    await database.destroy()
    const leaks = await findLeaks(made.admin, name, options.leakPatienceMs ?? LEAK_PATIENCE_MS)
    if (leaks.length > 0 || options.empty || made.used.length >= USED_MAX) await drop(made, taken)
    else made.used.push(taken)
    if (leaks.length > 0) throw new Error(`Connections to the test database were left open:\n${leaks.join('\n')}`)
  })
  return { database, url }
}

async function findLeaks(admin: UnheldConnection, name: string, patienceMs: number): Promise<string[]> {
  const until = Date.now() + patienceMs
  for (;;) {
    const { rows } = await admin.query(
      `SELECT application_name, state, left(query, 200) AS query FROM pg_stat_activity
        WHERE datname = $1 AND backend_type = 'client backend' AND application_name <> '${CLEANER}'`,
      [name],
    )
    if (rows.length === 0 || Date.now() > until) return rows.map((row: object) => JSON.stringify(row))
    await sleep(20)
  }
}
