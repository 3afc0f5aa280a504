import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { requestLibraryAnalysis } from '#core/analysis/request-analyses.ts'
import { countAwaited } from '#core/scan/scan-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { slowDown } from '#test/support/slow-table.ts'

t.setTimeout(240_000)

const BOOKS = 12_000

/** A library of many rows without files, whose analyses stay queued: there is no handler for them. */
async function openLibrary(t: Test) {
  const fixture = await openLibraryFixture(t, { manual: true })
  const { database, libraryId, tasks } = fixture
  const [series] = await database('series').insert({ library_id: libraryId, path: 'A', title: 'A' }).returning('id')
  await database.raw(
    `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
     SELECT ?, ?, '/srv/' || n, n || '.cbz', 'cbz', 1, 1, n::text FROM generate_series(1, ?::int) AS n`,
    [libraryId, series.id, BOOKS],
  )
  // Never claimed: they stay queued.
  await database.raw(
    `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.scheduled_for = 'infinity'; RETURN NEW; END $$`,
  )
  await database.raw(`CREATE TRIGGER hold BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.type = 'analyze_book') EXECUTE FUNCTION hold()`)
  // Each statement takes a moment: all of them together longer than a process may stand still on a busy machine.
  await slowDown(database, { after: 'INSERT', table: 'tasks', each: 'STATEMENT', ms: 100 })
  await tasks.start()
  const { taskId } = await requestLibraryAnalysis(fixture, await addCaller(database), { libraryId, scope: 'unanalyzed' })
  const queued = () => countAwaited(database, libraryId, 'deep')
  await until(async () => (await queued()) > 0)
  return { ...fixture, taskId, queued }
}

t.test('canceling the work of a library leaves nothing queued', async (t) => {
  const { database, libraryId, scans, taskId, queued } = await openLibrary(t)
  await scans.cancel(libraryId)
  await until(async () => (await getTask(database, taskId)).status === 'cancelled')
  t.equal(await queued(), 0)
  // What was still on its way would be queued by then.
  await sleep(500)
  t.equal(await queued(), 0, 'and nothing comes after')
})

t.test('canceling the task alone removes what it has queued', async (t) => {
  const { tasks, taskId, queued } = await openLibrary(t)
  t.equal(await tasks.cancel(taskId), true)
  await until(async () => (await queued()) === 0)
  // As above.
  await sleep(500)
  t.equal(await queued(), 0)
})

t.test('when the server stops, queued analyses stay queued, and the task continues at the next start', onlyFull, async (t) => {
  const { database, tasks, taskId, queued } = await openLibrary(t)
  await tasks.stop()
  t.ok((await queued()) > 0)
  t.equal((await getTask(database, taskId)).status, 'pending')
})
