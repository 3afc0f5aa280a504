import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { handleBookAnalyses } from '#core/analysis/analyze-book.ts'
import { acceptContent, requestVerification } from '#core/analysis/verify-library.ts'
import { deleteLibraryRows } from '#core/catalog/library-content-store.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { TaskAdder } from '#core/tasks/task.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(240_000)

/** Changes one byte of a picture, and neither size nor date, as a failing disk does. */
function rot(path: string): void {
  const { atime, mtime } = statSync(path)
  const bytes = readFileSync(path)
  const at = bytes.indexOf('\x89PNG', 0, 'latin1') + 50
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(path, bytes)
  utimesSync(path, atime, mtime)
}

const errorsOf = (fixture: LibraryFixture, bookId: string): Promise<{ details: unknown; message: string }[]> =>
  fixture.database('book_errors').where('book_id', bookId).select('error_type', 'message', 'details')

async function verify(fixture: LibraryFixture): Promise<unknown> {
  const { taskId } = await requestVerification(fixture, null, fixture.libraryId)
  return await until(async () => (await getTask(fixture.database, taskId)).result)
}

async function openBooks(t: Parameters<typeof openLibraryFixture>[0], analyze = findPool().analyze) {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'], analyze })
  // Whole seconds: a time that is set again loses its nanoseconds.
  const paths = ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'].map((name) => `${fixture.root}/${name}`)
  for (const path of paths) utimesSync(path, 1_000_000_000, 1_000_000_000)
  await fixture.scan()
  const row = async () => (await fixture.books()).get('a/2.cbz')
  return { fixture, path: paths[1] as string, row }
}

t.test('a deep scan keeps the hash of a file that has rotted, and says so, until somebody accepts its content', async (t) => {
  const { fixture, path, row } = await openBooks(t)
  const before = await row()
  const bookId = before?.id as string
  const caller = await addCaller(fixture.database)
  await t.rejects(acceptContent(fixture, caller, bookId), { code: 'conflict' })
  rot(path)
  await fixture.scan('deep')
  const after = await row()
  t.equal(after?.file_hash, before?.file_hash)
  t.match(await errorsOf(fixture, bookId), [{ error_type: 'other', message: /size and date have not/, details: { integrity: true } }])
  const { taskId } = await acceptContent(fixture, caller, bookId)
  await until(async () => (await getTask(fixture.database, taskId)).status === 'completed')
  t.not((await row())?.file_hash, before?.file_hash)
  t.notOk((await errorsOf(fixture, bookId)).some(({ details }) => (details as { integrity?: boolean } | null)?.integrity))
})

t.test('the verification of a library finds what has rotted, and that a file is back', async (t) => {
  const { fixture, path, row } = await openBooks(t)
  t.same(await verify(fixture), { verified: 3, rotted: 0, damaged: 0 })
  const sound = readFileSync(path)
  rot(path)
  t.same(await verify(fixture), { verified: 3, rotted: 1, damaged: 0 })
  const bookId = (await row())?.id as string
  t.match(await errorsOf(fixture, bookId), [{ details: { integrity: true } }])
  writeFileSync(path, sound)
  utimesSync(path, 1_000_000_000, 1_000_000_000)
  t.same(await verify(fixture), { verified: 3, rotted: 0, damaged: 0 })
  t.same(await errorsOf(fixture, bookId), [])
})

t.test('a verification that was stopped continues with the files that it has not checked', async (t) => {
  const { fixture } = await openBooks(t)
  const [first] = [...(await fixture.books()).values()]
  await fixture.database('book_checks').insert({ book_id: first?.id, checked_at: new Date(Date.now() + 60_000) })
  t.same(await verify(fixture), { verified: 2, rotted: 0, damaged: 0 })
})

t.test('the verification of a library that is deleted meanwhile reads no further file', async (t) => {
  let before = async () => {}
  const { fixture } = await openBooks(t, async (...given) => {
    await before()
    return await findPool().analyze(...given)
  })
  before = async () => {
    await deleteLibraryRows(fixture.database, fixture.libraryId)
  }
  t.same(await verify(fixture), { verified: 1, rotted: 0, damaged: 0 })
})

t.test('a verification reads each file once, also if the clock of the database is behind that of the server', async (t) => {
  const { fixture } = await openBooks(t)
  const { tasks, libraryId, analyzed } = fixture
  const since = new Date(Date.now() + 3_600_000).toISOString()
  for (const key of ['first', 'continued']) {
    const { taskId } = await tasks.add({ type: 'verify_library', libraryId, dedupeKey: key, params: { since } })
    const { result } = await until(async () => {
      const task = await getTask(fixture.database, taskId)
      return task.status === 'completed' && task
    })
    t.match(result, { verified: key === 'first' ? 3 : 0 })
  }
  t.equal(analyzed.get('a/1.cbz'), 2, 'by the scan and the verification')
})

t.test('one task reads the files of a library at a time, for all who ask and on all nodes', async (t) => {
  let gate = Promise.resolve()
  const analyze: Analyze = async (...given) => {
    await gate
    return await findPool().analyze(...given)
  }
  const { fixture } = await openBooks(t, analyze)
  const { database, libraryId, dataFolder } = fixture
  let release = () => {}
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  const other = await openTaskQueue({ database, log: silentLog, nodeId: 'other' })
  t.teardown(() => other.stop())
  handleBookAnalyses({ database, tasks: other, log: silentLog, settings: { dataFolder, workers: 1 }, analyze })
  const { taskId } = await requestVerification(fixture, null, libraryId)
  // It is running a moment before it has taken the files.
  await until(async () => await database('tasks').where('id', taskId).whereRaw(`params ->> 'isReading' = 'true'`).first('id'))
  await other.start()
  t.same(await requestVerification({ database, tasks: other }, null, libraryId), { taskId }, 'a second request is about the same task')
  // As if both had come at one moment.
  const second = await other.add({ type: 'verify_library', libraryId, dedupeKey: 'second', params: { since: new Date().toISOString() } })
  t.same(await until(async () => (await getTask(database, second.taskId)).result), { skipped: true })
  release()
  t.same(await until(async () => (await getTask(database, taskId)).result), { verified: 3, rotted: 0, damaged: 0 })
  t.same(await verify(fixture), { verified: 3, rotted: 0, damaged: 0 }, 'afterwards, a new one')
})

t.test('a request that comes while the task of another one begins is about that one, and leaves no second task', async (t) => {
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let isGated = false
  const { fixture } = await openBooks(t, async (...given) => {
    if (isGated) await gate
    return await findPool().analyze(...given)
  })
  const { database, libraryId, tasks } = fixture
  isGated = true
  t.teardown(() => release())
  let first = ''
  const late: TaskAdder = {
    addMany: (all) => tasks.addMany(all),
    add: async (task) => {
      first = (await requestVerification(fixture, null, libraryId)).taskId
      await until(async () => (await getTask(database, first)).status === 'processing')
      return await tasks.add(task)
    },
  }
  const { taskId } = await requestVerification({ database, tasks: late }, null, libraryId)
  t.equal(taskId, first)
  t.same(await database('tasks').where('type', 'verify_library').pluck('id'), [first])
  release()
  t.same(await until(async () => (await getTask(database, first)).result), { verified: 3, rotted: 0, damaged: 0 })
})
