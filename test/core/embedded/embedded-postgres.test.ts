import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { Canceler } from '#core/database/canceler.ts'
import { checkDatabase, openDatabase } from '#core/database/database.ts'
import { makeDataFolder } from '#core/embedded/data-folder.ts'
import { type EmbeddedPostgres, findRunningUrl, openEmbeddedPostgres, socketUrl } from '#core/embedded/embedded-postgres.ts'
import { findPostgresFolder, findPostgresRunner, NOBODY, reachableByNobody, readPostgresVersion } from '#core/embedded/postgres-binaries.ts'
import { findPostmaster, readPostmasterFile, stopOrphan } from '#core/embedded/postmaster.ts'
import { silentLog } from '#core/foundation/log.ts'
import { awaitExit } from '#test/support/carrel-process.ts'
import { onlyFull } from '#test/support/lane-size.ts'

// Creating a cluster takes a second on an idle machine, and several on a busy one.
t.setTimeout(240_000)

/** These tests start PostgreSQL without fsync: they check processes and folders. */
const FAST = { fsync: 'off' }
const asRoot = process.getuid?.() === 0

async function makeRoom(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-postgres-test-'))
  await chmod(room, 0o755)
  t.teardown(() => rm(room, { recursive: true, force: true }))
  return room
}

async function open(t: Test, folder: string, onExit: (reason: string) => void = () => {}): Promise<EmbeddedPostgres> {
  const postgres = await openEmbeddedPostgres({ folder: await makeDataFolder(folder), log: silentLog, onExit, settings: FAST })
  t.teardown(() => postgres.close())
  return postgres
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  try {
    return (await database.raw(sql)).rows
  } finally {
    await database.destroy()
  }
}

// One cluster for the tests that only start and stop it: creating one takes a second.
const shared = path.join(await makeRoom(t), 'data')

t.test('created over a half-created one, stopped, started again', async (t) => {
  const folder = shared
  const half = path.join(await makeDataFolder(folder), 'postgres.new')
  await mkdir(path.join(half, 'base'), { recursive: true })
  const first = await open(t, folder)
  t.equal(await stat(half).catch(() => null), null)
  t.equal(await findRunningUrl(folder), first.url)
  await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n')
  t.match(await query(first.url, `SELECT current_setting('listen_addresses') AS tcp, current_setting('jit') AS jit`), [
    { tcp: '', jit: 'off' },
  ])
  await query(first.url, 'CREATE EXTENSION pg_trgm')
  t.same(
    await query(first.url, `SELECT lower('ÄÉ') AS lower, 'é' COLLATE "und-x-icu" < 'f' AS icu, show_trgm('日本é') <> '{}' AS letters`),
    [{ lower: 'äé', icu: true, letters: true }],
    'letters beyond ASCII are letters',
  )
  await first.close()
  await first.close()
  t.equal(await findRunningUrl(folder), null)
  t.equal(await stat(path.join(folder, 'run')).catch(() => null), null, 'the socket is gone')

  const second = await open(t, folder)
  t.same(await query(second.url, 'SELECT n FROM kept'), [{ n: 7 }])
})

t.test('folders with spaces, quotes, commas and long names', onlyFull, async (t) => {
  const room = await makeRoom(t)
  const odd = `it's "my", data%20 ü`
  const long = 'long'.repeat(40)
  for (const name of [odd, long]) {
    if (name === long) await rename(path.join(room, odd), path.join(room, long))
    const postgres = await open(t, path.join(room, name))
    t.equal((await query(postgres.url, 'SELECT 1 AS one')).length, 1, name)
    const socketFolder = (await readPostmasterFile(path.join(room, name, 'postgres')))!.socketFolder
    t.equal((await stat(socketFolder)).mode & 0o777, 0o700)
    await postgres.close()
    t.equal(await stat(socketFolder).catch(() => null), null)
  }
})

/** Another process that starts PostgreSQL on the folder. */
async function spawnOwner(folder: string): Promise<ChildProcess> {
  const script = `
    const { openEmbeddedPostgres } = await import('#core/embedded/embedded-postgres.ts')
    const { makeDataFolder } = await import('#core/embedded/data-folder.ts')
    const { silentLog } = await import('#core/foundation/log.ts')
    await openEmbeddedPostgres({ folder: await makeDataFolder(process.argv[1]), log: silentLog, onExit() {} })
    console.log('ready')`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  await once(owner.stdout!, 'data')
  return owner
}

t.test('kill -9 of the process that started PostgreSQL ends it', async (t) => {
  const cluster = path.join(shared, 'postgres')
  for (const whole of [false, true]) {
    const owner = await spawnOwner(shared)
    const { pid } = (await findPostmaster(cluster))!
    process.kill(whole ? -owner.pid! : owner.pid!, 'SIGKILL')
    await once(owner, 'exit')
    t.ok(await awaitExit(pid), whole ? 'the whole group too' : 'the process alone')
    t.equal(await readPostmasterFile(cluster), null, 'it was shut down cleanly')
  }
})

/** One of an earlier database may end at any moment. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

t.test('an orphaned PostgreSQL is stopped first', async (t) => {
  const cluster = path.join(shared, 'postgres')
  const owner = await spawnOwner(shared)
  const { pid } = (await findPostmaster(cluster))!
  for (const watcher of await listWatchers(cluster)) killIfThere(watcher)
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  t.ok(await findPostmaster(cluster), 'it still runs')
  const postgres = await open(t, shared)
  t.not(postgres.pid, pid)
  t.ok(await awaitExit(pid))
})

/** Shells whose current directory is the cluster: those that wait for the end of its owner. */
async function listWatchers(cluster: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || (await readlink(`/proc/${name}/cwd`).catch(() => '')) !== cluster) continue
    if (!/^postgres/.test(path.basename(await readlink(`/proc/${name}/exe`).catch(() => 'postgres')))) found.push(Number(name))
  }
  return found
}

t.test('no shell waits for an owner that has closed', async (t) => {
  const cluster = path.join(shared, 'postgres')
  // Those of earlier databases may still be ending.
  const before = await listWatchers(cluster)
  const postgres = await open(t, shared)
  const watchers = (await listWatchers(cluster)).filter((pid) => !before.includes(pid))
  t.equal(watchers.length, 1)
  await postgres.close()
  for (const watcher of watchers) t.ok(await awaitExit(watcher))
})

t.test('another process with the pid in the pid file is left alone', async (t) => {
  const folder = shared
  const cluster = path.join(folder, 'postgres')
  const first = await open(t, folder)
  const written = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8')
  await first.close()
  const stranger = spawn('sleep', ['60'])
  t.teardown(() => stranger.kill())
  await writeFile(path.join(cluster, 'postmaster.pid'), written.replace(/^\d+/, String(stranger.pid)))
  t.equal(await findPostmaster(cluster), null)
  t.equal(await stopOrphan(cluster), null)
  const second = await open(t, folder)
  t.equal((await query(second.url, 'SELECT 1 AS one')).length, 1)
  t.equal(stranger.exitCode, null)
  t.equal(stranger.signalCode, null)
})

t.test('its unexpected end is reported', async (t) => {
  const folder = shared
  const told = Promise.withResolvers<string>()
  const postgres = await open(t, folder, told.resolve)
  process.kill(postgres.pid, 'SIGQUIT')
  t.match(await Promise.race([told.promise, sleep(60_000, 'nothing was told', { ref: false })]), /PostgreSQL has stopped/)
  await t.rejects(query(postgres.url, 'SELECT 1'), /ENOENT|ECONNREFUSED/)
})

t.test('the programs of PostgreSQL are found and run', async (t) => {
  t.ok((await stat(path.join(findPostgresFolder(), 'bin', 'postgres'))).isFile())
  t.match(await readPostgresVersion(), /^18\./)
  t.equal(new URL(socketUrl('/tmp/a b', 'x').replace('@/', '@host/')).searchParams.get('host'), '/tmp/a b')
  const postgres = await open(t, shared)
  const database = openDatabase({ url: postgres.urlOf('postgres'), poolMax: 2, log: silentLog })
  t.match(await checkDatabase(database), { name: 'postgres' })
  await database.destroy()
})

t.test('nothing comes from variables of the environment', async (t) => {
  const hostile = {
    ...{
      PGOPTIONS: '-cwork_mem=1',
      PGREPLICATION: 'database',
      PGSSLNEGOTIATION: 'direct',
      PGSSLMODE: 'verify-full',
      PGCLIENT_ENCODING: 'LATIN1',
    },
    ...{
      PGUSER: 'nobody',
      PGPASSWORD: 'wrong',
      PGDATABASE: 'none',
      PGHOST: '127.0.0.1',
      PGPORT: '1',
      PGAPPNAME: 'x',
      PGPASSFILE: '/nowhere',
    },
  }
  const before = Object.keys(hostile).map((name) => [name, process.env[name]] as const)
  t.teardown(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  Object.assign(process.env, hostile)
  const postgres = await open(t, shared)
  t.match(
    await query(postgres.url, `SELECT current_setting('work_mem') AS memory, current_setting('application_name') AS app, 'é' AS text`),
    [{ memory: '4MB', app: 'carrel', text: 'é' }],
  )
  t.equal(await findRunningUrl(shared), postgres.url)
  const canceler = new Canceler(() => ({ connectionString: postgres.url }))
  await canceler.cancel(2 ** 31 - 1)
  await canceler.close()
})

t.test('a failed start reports its reason', async (t) => {
  const folder = shared
  await t.rejects(
    openEmbeddedPostgres({ folder: await makeDataFolder(folder), log: silentLog, onExit() {}, settings: { shared_buffers: 'much' } }),
    /did not start[\s\S]*shared_buffers/,
  )
  await writeFile(path.join(folder, 'postgres', 'PG_VERSION'), '12\n')
  await t.rejects(openEmbeddedPostgres({ folder, log: silentLog, onExit() {} }), /written by PostgreSQL 12/)
})

const othersReach = await reachableByNobody(import.meta.dirname)
const closedTo = asRoot
  ? !othersReach && 'SKIPPED: this copy of the repository is in a folder that is closed to other users'
  : 'only root changes users'
t.test('root, a folder closed to others, and back', { skip: onlyFull.skip || closedTo }, async (t) => {
  const room = await makeRoom(t)
  const closed = path.join(room, 'closed')
  await mkdir(closed, { mode: 0o700 })
  t.notOk(await reachableByNobody(path.join(closed, 'data')))
  const data = await makeDataFolder(path.join(closed, 'data'))
  t.notOk(await reachableByNobody(data))
  const runner = await findPostgresRunner(data)
  t.match(runner, { owner: 0, prefix: ['unshare'] })
  const inside = await open(t, data)
  await query(inside.url, 'CREATE TABLE kept AS SELECT 7 AS n')
  await inside.close()

  await chmod(closed, 0o755)
  t.ok(await reachableByNobody(data), 'root lets that one user pass')
  t.equal((await stat(data)).mode & 0o007, 0)
  const open1 = await open(t, data)
  t.same(await query(open1.url, 'SELECT n FROM kept'), [{ n: 7 }], 'the data followed its owner')
  t.equal((await stat(path.join(data, 'postgres', 'base'))).uid, NOBODY)
  await open1.close()

  await chmod(closed, 0o700)
  const again = await open(t, data)
  t.same(await query(again.url, 'SELECT n FROM kept'), [{ n: 7 }])
  await again.close()
  await rename(path.join(closed, 'data'), path.join(room, 'moved'))
  const moved = await open(t, path.join(room, 'moved'))
  t.same(await query(moved.url, 'SELECT n FROM kept'), [{ n: 7 }], 'moved elsewhere')
})

t.test('root where user namespaces are forbidden', { skip: asRoot ? false : 'only root changes users' }, async (t) => {
  const room = await makeRoom(t)
  const data = await makeDataFolder(path.join(room, 'data'))
  const closed = path.join(room, 'closed')
  // Nothing is started here, which would need the libraries too.
  await cp(path.join(findPostgresFolder(), 'bin'), path.join(closed, 'native', 'bin'), { recursive: true })
  await cp(path.join(findPostgresFolder(), '..', 'package.json'), path.join(closed, 'package.json'))
  await chmod(closed, 0o700)
  // Without the program unshare, the result is the same as where the system forbids it.
  const options = { native: path.join(closed, 'native'), searchPath: '/nowhere' }
  const runner = await findPostgresRunner(data, options)
  t.match(runner, { uid: NOBODY, prefix: [], owner: NOBODY })
  t.ok(runner.binFolder.startsWith(data), 'the programs were copied to where that user can reach them')
  t.ok(await reachableByNobody(path.join(runner.binFolder, 'postgres'), 5))
  await chmod(room, 0o700)
  await t.rejects(findPostgresRunner(data, options), /--data-dir[\s\S]*DATABASE_URL/)
})
