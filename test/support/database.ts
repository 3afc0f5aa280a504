import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { closeDatabase, hashMigrations, migrate, openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { CLUSTER_FOLDER, KEEPER, KEEPER_SOCKET } from '#test/support/cluster-folder.ts'

/** The first use on a machine runs initdb, in parallel to other tests. */
const CLUSTER_PATIENCE_MS = 60_000
/** A closing pool needs a moment to close its connections. */
const LEAK_PATIENCE_MS = 30_000
/** An arbitrary constant: the process that holds this lock creates the template. */
const TEMPLATE_LOCK = 7_201_884_314

/** Creates and drops databases for all tests of this process. */
interface Maker {
  urlOf: (database: string) => string
  admin: Knex
  findTemplate: () => Promise<string>
  /** The number of open databases. The administrative connection ends with the last one; otherwise a bench would never end. */
  open: number
}

let maker: Promise<Maker> | null = null

function findMaker(): Promise<Maker> {
  maker ??= openMaker()
  return maker
}

async function useMaker(): Promise<Maker> {
  const found = await findMaker()
  // Another caller may have closed it meanwhile.
  if (maker === null || (await maker) !== found) return await useMaker()
  found.open += 1
  return found
}

async function leaveMaker(used: Maker): Promise<void> {
  used.open -= 1
  if (used.open > 0) return
  maker = null
  await closeDatabase(used.admin)
}

async function openMaker(): Promise<Maker> {
  const urlOf = await connectToKeeper()
  const admin = openDatabase({ url: urlOf('postgres'), poolMax: 2, log: silentLog })
  let template: Promise<string> | null = null
  const findTemplate = () => {
    template ??= prepareTemplate(admin, urlOf)
    return template
  }
  return { urlOf, admin, findTemplate, open: 0 }
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

/** Creates the template database of the current migrations if it is missing; returns its name. */
async function prepareTemplate(admin: Knex, urlOf: (database: string) => string): Promise<string> {
  const name = `template_${await hashMigrations()}`
  await admin.transaction(async (holder) => {
    await holder.raw('SELECT pg_advisory_xact_lock(?)', [TEMPLATE_LOCK])
    if (await exists(admin, name)) return
    const half = `half_${randomUUID().replaceAll('-', '')}`
    await admin.raw('CREATE DATABASE ??', [half])
    const database = openDatabase({ url: urlOf(half), poolMax: 2, log: silentLog })
    try {
      await migrate(database)
      // The task queue creates its tables when it is opened for the first time.
      const queue = await openTaskQueue({ database, log: silentLog, nodeId: 'template' })
      await queue.stop()
    } finally {
      await closeDatabase(database)
    }
    await admin.raw('ALTER DATABASE ?? RENAME TO ??', [half, name])
  })
  return name
}

async function exists(admin: Knex, name: string): Promise<boolean> {
  const { rows } = await admin.raw('SELECT 1 FROM pg_database WHERE datname = ?', [name])
  return rows.length > 0
}

/**
 * A new database with all tables, for this test alone. Closed and dropped at teardown; connections that are still open
 * then (except those of `database`) fail the test.
 * @param options.empty without tables, for tests of migrating itself
 */
export async function openTestDatabase(
  t: Test,
  options: { empty?: boolean; poolMax?: number } = {},
): Promise<{ database: Knex; url: string }> {
  const used = await useMaker()
  const { urlOf, admin, findTemplate } = used
  const name = `test_${randomUUID().replaceAll('-', '')}`
  if (options.empty) await admin.raw('CREATE DATABASE ?? STRATEGY file_copy', [name])
  else await admin.raw('CREATE DATABASE ?? TEMPLATE ?? STRATEGY file_copy', [name, await findTemplate()])
  const url = urlOf(name)
  const database = openDatabase({ url, poolMax: options.poolMax ?? 8, log: silentLog })
  t.teardown(async () => {
    await closeDatabase(database)
    const leaks = await findLeaks(admin, name)
    await admin.raw('DROP DATABASE ?? WITH (FORCE)', [name])
    await leaveMaker(used)
    if (leaks.length > 0) throw new Error(`Connections to the test database were left open:\n${leaks.join('\n')}`)
  })
  return { database, url }
}

async function findLeaks(admin: Knex, name: string): Promise<string[]> {
  const until = Date.now() + LEAK_PATIENCE_MS
  for (;;) {
    const { rows } = await admin.raw(
      `SELECT application_name, state, left(query, 200) AS query FROM pg_stat_activity WHERE datname = ? AND backend_type = 'client backend'`,
      [name],
    )
    if (rows.length === 0 || Date.now() > until) return rows.map((row: object) => JSON.stringify(row))
    await sleep(20)
  }
}
