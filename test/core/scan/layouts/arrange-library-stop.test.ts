import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { editLibrary } from '#core/scan/edit-library.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { slowDown } from '#test/support/slow-table.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

/** Enough that a kill meets the task between the first move and the last. */
const GROUPS = 150

/** A library whose books have rows, but no files: of each folder `S 1` two volumes with two books. */
async function openGroups(t: Test): Promise<LibraryFixture> {
  const fixture = await openLibraryFixture(t, { manual: true })
  const { database, libraryId, root } = fixture
  for (const volume of ['Vol 1', 'Vol 2']) {
    await database.raw(
      `WITH placed AS (
         INSERT INTO series (library_id, path, title) SELECT :libraryId, 'S ' || n || '/' || :volume, :volume FROM generate_series(1, :count) AS n RETURNING id, path)
       INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title, state)
       SELECT :libraryId, id, :root || '/' || path || '/' || name || '.cbz', name || '.cbz', 'cbz', 1, 1, name, 'analyzed' FROM placed, unnest(ARRAY['a', 'b']) AS name`,
      { libraryId, root, volume, count: GROUPS },
    )
  }
  // Each move takes a moment: all of them together longer than this process may stand still on a busy machine.
  await slowDown(database, { after: 'DELETE', table: 'series', each: 'STATEMENT', ms: 30 })
  return fixture
}

/** From now on moves take no more time than they need. */
const hasten = async ({ database }: LibraryFixture) => await database.raw('DROP TRIGGER slow ON series')

const change = async ({ database, tasks, dataFolder, libraryId }: LibraryFixture) => {
  const parts = { database, tasks, rules: findRules(), settings: { dataFolder } }
  await editLibrary(parts, libraryId, { seriesStrategy: 'series_volume_chapter' })
  return (await database('tasks').where('type', 'arrange_library').first('id')).id as string
}

/** How many groups have the new layout; the others have the old one, whole. */
async function countMoved(t: Test, { database, root }: LibraryFixture): Promise<number> {
  const { rows } = await database.raw(
    `SELECT split_part(substr(b.path, ?), '/', 1) AS name, array_agg(DISTINCT s.path ORDER BY s.path) AS paths, count(*)::int AS books
     FROM books b JOIN series s ON s.id = b.series_id GROUP BY 1`,
    [root.length + 2],
  )
  const groups = rows as { name: string; paths: string[]; books: number }[]
  const isNew = (group: (typeof groups)[number]) => group.paths.join() === group.name
  const isOld = ({ name, paths }: (typeof groups)[number]) => paths.join() === `${name}/Vol 1,${name}/Vol 2`
  t.equal(groups.length, GROUPS)
  t.same(
    groups.filter((group) => group.books !== 4 || (!isNew(group) && !isOld(group))),
    [],
    'each group has the old or the new layout',
  )
  const { rows: odd } = await database.raw(
    `SELECT path FROM series s WHERE name_key <> '' OR NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id)`,
  )
  t.same(odd, [], 'no series without books, and none between two places')
  return groups.filter(isNew).length
}

/** Waits until some groups are moved. */
const begun = ({ database }: LibraryFixture) =>
  until(async () => Number((await database('series').whereNot('path', 'like', '%/%').count({ n: '*' }))[0]?.['n']) > 5)

async function checkEnd(t: Test, fixture: LibraryFixture): Promise<void> {
  const { database } = fixture
  await until(async () => (await database('libraries').first('arrange_due')).arrange_due === false)
  t.equal(await countMoved(t, fixture), GROUPS, 'the next run completes it')
  t.equal(Number((await database('series').count({ n: '*' }))[0]?.['n']), GROUPS)
}

t.test('killed with kill -9 in the middle', async (t) => {
  const fixture = await openGroups(t)
  const { database, url, tasks } = fixture
  await change(fixture)
  const script = fileURLToPath(new URL('../../../support/arranging-child.ts', import.meta.url))
  const child = spawn(process.execPath, [script, url], { stdio: 'ignore' })
  const gone = once(child, 'exit')
  try {
    await begun(fixture)
  } finally {
    child.kill('SIGKILL')
  }
  await gone
  const moved = await countMoved(t, fixture)
  t.ok(moved < GROUPS, `${moved} of ${GROUPS} groups were moved`)
  t.match(await database('libraries').first(), { arrange_due: true })
  await hasten(fixture)
  await tasks.start()
  await checkEnd(t, fixture)
})

t.test('canceled in the middle: the next scan completes it, before it looks at files', async (t) => {
  const fixture = await openGroups(t)
  const { database, tasks, scans, libraryId } = fixture
  const taskId = await change(fixture)
  await tasks.start()
  await begun(fixture)
  await tasks.cancel(taskId)
  await until(async () => (await database('tasks').where('id', taskId).first('status')).status === 'cancelled')
  const moved = await countMoved(t, fixture)
  t.ok(moved < GROUPS, `${moved} of ${GROUPS} groups were moved`)
  t.match(await database('libraries').first(), { arrange_due: true })
  await hasten(fixture)
  await scans.start(libraryId)
  await checkEnd(t, fixture)
})
