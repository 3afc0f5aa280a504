import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { addressOf, faultBelowOf, quieten } from '#api/cli/quiet-log.ts'
import type { Log } from '#core/foundation/log.ts'
import { makeRoom, root, runCommand, spawnCarrel, startCarrel } from '#test/support/carrel-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull, someOf } from '#test/support/lane-size.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'

t.setTimeout(300_000)

const PLACE = { dataFolder: '/srv/data', databaseUrl: 'postgresql://me:secret@db.example.org:6000/books' }
const errorOf = (fields: object, message = '') => Object.assign(new Error(message), fields)

t.test('what a fault below the server is', async (t) => {
  const cases: [error: unknown, name: string | null][] = [
    [errorOf({ code: '57P01' }), 'database_away'],
    [errorOf({}, 'SELECT 1 - Connection terminated unexpectedly'), 'database_away'],
    [errorOf({ code: 'ECONNREFUSED', port: 6000 }), 'database_away'],
    [errorOf({ code: 'ECONNREFUSED', errors: [errorOf({ port: 6000 }), errorOf({ port: 6000 })] }), 'database_away'],
    [errorOf({ code: 'ECONNREFUSED', port: 443 }), null],
    [errorOf({ code: '53100' }), 'disk_full'],
    [errorOf({ code: 'ENOSPC', path: '/srv/data/x' }), 'disk_full'],
    [errorOf({ code: '53300' }), 'no_connections'],
    [errorOf({ code: '40P01' }), null],
    [new TypeError('x is not a function'), null],
    [undefined, null],
  ]
  for (const [error, name] of cases) t.equal(faultBelowOf(error, 'Something failed', PLACE)?.name ?? null, name, String(error))
  const pool = 'database: Acquire connection error: Error: connect ECONNREFUSED 127.0.0.1:6000'
  t.match(faultBelowOf(undefined, pool, PLACE), { name: 'database_away', message: /db\.example\.org:6000\/books .*Start it/ })
  t.equal(addressOf(PLACE.databaseUrl), 'db.example.org:6000/books', 'neither name nor password')
})

t.test('a line for each fault, again after 30 s; the rest as it is', async (t) => {
  const written: string[] = []
  const write = (level: string) => (fields: object, message: string) => void written.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const loud: Log = { debug: () => {}, info: write('info'), warn: write('warn'), error: write('error') }
  let now = 0
  const log = quieten(loud, PLACE, () => now)
  for (; now <= 31_000; now += 1_000) {
    log.error({ err: errorOf({ code: '57P01' }) }, 'A task failed')
    log.warn({ error: errorOf({ code: 'ENOSPC' }) }, 'A cover was not written')
  }
  log.warn({ error: new Error('other') }, 'Other')
  t.match(written, [
    /^error The database .*\{\}$/,
    /^error The disk of \/srv\/data is full\./,
    /^error The database .*"more":29/,
    /^error The disk .*"more":29/,
    /^warn Other/,
  ])
  t.equal(written.length, 5)
})

/** The output of something that failed: no stack, and short. */
function isQuiet(t: Test, output: string, linesMax: number): void {
  t.notMatch(output, /^\s+at /m, 'no stack')
  // A machine that is busy with other tests.
  const lines = output.split('\n').filter((line) => line !== '' && !line.includes('event loop was blocked'))
  t.ok(lines.length <= linesMax, lines.join(' | '))
}

t.test('a database that goes away', async (t) => {
  const postgres = await openOwnPostgres(t)
  const server = await startCarrel(t, path.join(await makeRoom(t), 'data'), [], { env: { DATABASE_URL: postgres.url } })
  // The last line of its welcome.
  await server.said(/Books +\d+ found.*\n/)
  const before = server.output().length
  await postgres.stop('fast')
  for (let turn = 0; turn < 8; turn++) {
    const body = JSON.stringify({ username: 'nobody', password: 'nothing at all' })
    const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    t.equal((await fetch(`${server.url}/api/v1/auth/login`, login)).status, 503)
    await sleep(500)
  }
  const output = server.output().slice(before)
  t.match(output, /error: The database 127\.0\.0\.1:\d+\/books \(DATABASE_URL\) does not answer\. Start it/)
  isQuiet(t, output, 1)
  await postgres.start()
})

t.test('a database that a newer Carrel has written', async (t) => {
  const { database, url } = await openTestDatabase(t)
  await database('knex_migrations').insert({ name: '9999_later.ts', batch: 99, migration_time: new Date() })
  const { code, output } = await runCommand(['--data-dir', path.join(await makeRoom(t), 'data')], { env: { DATABASE_URL: url } })
  t.equal(code, 1)
  t.match(output, /newer version of Carrel migrated this database \(to 9999_later\.ts\)\. Start that version/)
  isQuiet(t, output, 2)
})

const isRoot = process.getuid?.() === 0
const canBecome = isRoot && spawnSync('setpriv', ['--version']).status === 0
t.test('a data folder of another user', { skip: !canBecome && 'only root can become somebody else' }, async (t) => {
  const room = await makeRoom(t)
  await chmod(room, 0o755)
  const data = path.join(room, 'data')
  await mkdir(data)
  // A user without a name, as in containers.
  const stranger = [
    'setpriv',
    '--reuid',
    '54321',
    '--regid',
    '54321',
    '--clear-groups',
    'env',
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    path.join(root, 'api/main.ts'),
  ]
  for (const mode of someOf('modes of the folder', [0o700, 0o755], 1))
    for (const words of [[], ['doctor']]) {
      await chmod(data, mode)
      const { code, output } = await spawnCarrel([...words, '--data-dir', data, '--port', '0'], {
        run: stranger,
        env: { NODE_OPTIONS: '' },
      }).ended
      t.equal(code, 1)
      t.match(output, /data (is closed to|cannot be (written by|looked at))[\s\S]*user 54321[\s\S]*chown/, `${mode.toString(8)} ${words}`)
      if (words.length === 0) isQuiet(t, output, 2)
    }
})

t.test('a full disk at the first start', onlyFull, async (t) => {
  const small = path.join(await makeRoom(t), 'small')
  await mkdir(small)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'none', small], { stdio: 'pipe' })
  } catch {
    t.comment('nothing may be mounted here')
    return
  }
  t.teardown(() => void spawnSync('umount', [small]))
  const { code, output } = await runCommand(['--data-dir', path.join(small, 'data'), '--port', '0'])
  t.equal(code, 1)
  t.match(output, /The disk of .*small\/data\S* is full\. Free some space/)
  isQuiet(t, output, 4)
})
