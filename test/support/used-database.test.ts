import t, { type Test } from 'tap'
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'

type Opened = Awaited<ReturnType<typeof openTestDatabase>>

/** Opens a database for as long as `use` takes, as a test does, and returns its URL. */
async function useOnce(
  use: (opened: Opened) => Promise<unknown>,
  options: { fresh?: boolean; leakPatienceMs?: number } = {},
): Promise<string> {
  const ends: (() => unknown)[] = []
  const opened = await openTestDatabase({ teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test, options)
  try {
    await use(opened)
  } finally {
    for (const end of ends) await end()
  }
  return opened.url
}

/** All rows of all tables and the state of all sequences. */
async function describe({ database }: Opened): Promise<string[]> {
  const { rows } = await database.raw(
    `SELECT oid::regclass::text AS name, relkind FROM pg_class WHERE relkind IN ('r', 'S') AND oid >= 16384`,
  )
  const found: string[] = []
  for (const { name, relkind } of rows) {
    // Not log_cnt, which is how many numbers the sequence took in advance.
    const columns = relkind === 'S' ? 'last_value, is_called' : '*'
    const content = await database.raw(
      `SELECT string_agg(content::text, ',' ORDER BY content::text) AS text FROM (SELECT ${columns} FROM ${name}) content`,
    )
    found.push(`${name}: ${content.rows[0].text}`)
  }
  return found.sort()
}

const SERIES = `
  WITH library AS (INSERT INTO libraries (name, path) VALUES ('Comics', '/comics') RETURNING id)
  INSERT INTO series (library_id, path, title) SELECT id, title, title FROM library, unnest(ARRAY['A', 'B']) title`

t.test('rows, sequences and what triggers wrote are gone for the next test', async (t) => {
  let pristine: string[] = []
  const fresh = await useOnce(
    async (opened) => {
      pristine = await describe(opened)
    },
    { fresh: true },
  )
  const filled = await useOnce(async (opened) => {
    const { database } = opened
    await database.raw(SERIES)
    await database.raw(`DELETE FROM series WHERE title = 'A'`)
    await database.raw(`SELECT graphile_worker.add_job('a task')`)
    const changed = (await describe(opened)).filter((line) => !pristine.includes(line)).join('\n')
    for (const name of ['libraries', 'series', 'series_search', 'cover_orphans', 'cover_orphans_id_seq', '_private_jobs'])
      t.match(changed, new RegExp(`^(graphile_worker\\.)?${name}: `, 'm'))
  })
  const next = await useOnce(async (opened) => t.same(await describe(opened), pristine))
  t.same([filled, next], [fresh, fresh], 'one database serves all three')
})

t.test('a database that emptying cannot restore serves no other test', async (t) => {
  const changes = {
    'a table': 'CREATE TABLE more (id int)',
    'a trigger that is off': 'ALTER TABLE series DISABLE TRIGGER series_cover_orphans',
    'a function': `CREATE OR REPLACE FUNCTION carrel_book_is_back() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    'a constraint': 'ALTER TABLE cover_orphans DROP CONSTRAINT cover_orphans_kind_check',
    'an index': 'DROP INDEX series_created',
    statistics: `${SERIES}; ANALYZE series`,
    'statistics of an empty table': 'ANALYZE books',
    'a setting': `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 128', current_database()); END $$`,
    'a row of the template': `DELETE FROM knex_migrations`,
    'a large table': `INSERT INTO cover_orphans (kind, owner_id) SELECT 'book', gen_random_uuid() FROM generate_series(1, 5000)`,
  }
  for (const [name, sql] of Object.entries(changes)) {
    const changed = await useOnce(({ database }) => database.raw(sql))
    const next = await useOnce(async ({ database }) => {
      const { rows } = await database.raw(`SELECT 1 FROM pg_database WHERE datname = ?`, [/test_[0-9a-f]+/.exec(changed)?.[0] ?? ''])
      t.same(rows, [], `with ${name} it is dropped`)
    })
    t.not(next, changed, name)
  }
})

t.test('tests that run at the same time have databases of their own', async (t) => {
  const urls = await Promise.all([1, 2, 3, 4, 5].map(() => useOnce(({ database }) => database.raw(SERIES))))
  t.equal(new Set(urls).size, 5)
})

t.test('a connection that is left open fails the test', async (t) => {
  const left: { end: (() => Promise<void>) | null } = { end: null }
  const leak = async ({ url }: Opened) => {
    const other = openDatabase({ url, poolMax: 2, log: silentLog })
    left.end = () => other.destroy()
    await other.raw('SELECT 1')
  }
  await t.rejects(useOnce(leak, { leakPatienceMs: 100 }), /were left open/)
  await left.end?.()
})
