import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import t from 'tap'
import { addressOf, outageOf, quieten } from '#api/cli/quiet-log.ts'
import { reachableByNobody } from '#core/embedded/postgres-binaries.ts'
import type { Log } from '#core/foundation/log.ts'
import { makeRoom, root, runCommand, spawnCarrel, startCarrel } from '#test/support/carrel-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull, someOf } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
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
    [
      errorOf({ code: '53100' }, 'SELECT 1 - could not resize shared memory segment "/PostgreSQL.7" to 8 bytes: No space left on device'),
      'memory_full',
    ],
    [errorOf({ code: 'ENOSPC', path: '/srv/data/x' }), 'disk_full'],
    [errorOf({ code: '53300' }), 'no_connections'],
    [errorOf({ code: '40P01' }), null],
    [new TypeError('x is not a function'), null],
    [undefined, null],
  ]
  for (const [error, name] of cases) t.equal(outageOf(error, 'Something failed', PLACE)?.name ?? null, name, String(error))
  const pool = 'database: Acquire connection error: Error: connect ECONNREFUSED 127.0.0.1:6000'
  t.match(outageOf(undefined, pool, PLACE), { name: 'database_away', message: /db\.example\.org:6000\/books .*Start it/ })
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
  // A machine that is busy with other tests, and pages that a test has built.
  const lines = output.split('\n').filter((line) => line !== '' && !/event loop was blocked|web interface is ready/.test(line))
  t.ok(lines.length <= linesMax, lines.join(' | '))
}

t.test('a database that goes away', onlyFull, async (t) => {
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
    // Long enough for several attempts of the server to reach it.
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
  const { code, output } = await runCommand(['--data-dir', path.join(await makeRoom(t), 'data'), '--port', '0'], {
    env: { DATABASE_URL: url },
  })
  t.equal(code, 1)
  t.match(output, /newer version of Carrel migrated this database \(to 9999_later\.ts\)\. Start that version/)
  isQuiet(t, output, 2)
})

/** The migrations of the versions before the first release. */
const UNRELEASED = [
  ...['0001_library', '0002_task', '0003_reading', '0004_metadata', '0005_reading_state', '0006_search', '0007_settings', '0008_plugins'],
  ...['0009_recommendations', '0010_bounded_search', '0011_files', '0012_health', '0014_known_devices', '0015_plugin_readers'],
  ...['0016_linear_documents', '0017_who_gave_it', '0018_titles_of_folders', '0019_keys_of_identifiers', '0020_exact_values'],
  ...['0021_recommendation_errors', '0022_documents_at_once', '0023_source_maps', '0025_app_sessions', '0026_places', '0027_operations'],
  ...['0029_user_preferences', '0030_app_session_rows', '0031_tasks', '0041_one_change'],
]

/** The schema and every row of a database, each table as one text. */
async function readAll(database: Knex): Promise<Record<string, string>> {
  const columns = await database.raw(
    `SELECT table_name || '.' || column_name || ' ' || data_type AS line FROM information_schema.columns WHERE table_schema = 'public' ORDER BY line`,
  )
  const tables: string[] = await database('pg_tables').where({ schemaname: 'public' }).orderBy('tablename').pluck('tablename')
  const all: Record<string, string> = { columns: columns.rows.map(({ line }: { line: string }) => line).join('\n') }
  for (const table of tables) {
    const { rows } = await database.raw(`SELECT string_agg(r::text, E'\n' ORDER BY r::text) AS text FROM ?? r`, [table])
    all[table] = rows[0].text
  }
  return all
}

t.test('a database that a Carrel before the first release has written', onlyFull, async (t) => {
  const { database, url } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  await addBook(database, { library_id, series_id: await addSeries(database, { library_id, title: 'One' }), title: 'One 1' })
  await database.raw('ALTER TABLE series RENAME COLUMN aggregate_due TO seed_due')
  await database('knex_migrations').delete()
  await database('knex_migrations').insert(UNRELEASED.map((name) => ({ name: `${name}.ts`, batch: 1, migration_time: new Date() })))
  const before = await readAll(database)
  const data = path.join(await makeRoom(t), 'data')
  for (const words of [['--port', '0'], ['library', 'list'], ['doctor']]) {
    const { code, output } = await runCommand([...words, '--data-dir', data], { env: { DATABASE_URL: url } })
    t.equal(code, 1, words.join(' '))
    t.match(
      output,
      /unreleased version of Carrel.*export what you need with that version, then move the data folder away or start with another/,
    )
    t.match(output, /the files of your books are not touched/)
    if (words[0] !== 'doctor') isQuiet(t, output, 2)
  }
  t.same(await readAll(database), before, 'nothing has changed')
})

const isRoot = process.getuid?.() === 0
const canBecome = isRoot && spawnSync('setpriv', ['--version']).status === 0
const isClosed =
  !(await reachableByNobody(import.meta.dirname)) && 'SKIPPED: this copy of the repository is in a folder that is closed to other users'
t.test(
  'a data folder of another user',
  { skip: onlyFull.skip || (canBecome ? isClosed : 'only root can become somebody else') },
  async (t) => {
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
  },
)

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
