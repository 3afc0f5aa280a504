import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { SERIES_EXPORT_FIELDS } from '#core/exports/export-field-query.ts'
import { removeHalfFiles } from '#core/exports/export-file.ts'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { readCsv } from '#test/support/csv-reader.ts'
import { addManySeries, openExportFixture } from '#test/support/export-fixture.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { until } from '#test/support/library-fixture.ts'
import { hastenTries } from '#test/support/task-queues.ts'

t.setTimeout(240_000)

t.test('canceled and deleted while running', { timeout: 240_000 }, async (t) => {
  const { database, exports, caller, newExport, tasks, libraryId, files, ended } = await openExportFixture(t)
  // So many that an export takes longer than this process may stand still on a busy machine.
  await addManySeries(database, libraryId, 12_000)
  const all = { fields: Object.keys(SERIES_EXPORT_FIELDS) }
  const running = async (id: string) =>
    await until(async () => {
      const { progress } = await getTask(database, id)
      return files().length > 0 && progress !== undefined && progress.current > 0
    })
  const { id, taskId } = await exports.create(caller, newExport(all))
  await running(taskId)
  t.match(await exports.get(caller, id), { status: 'processing', rowCount: null, fileSizeBytes: null })
  await t.rejects(exports.findFile(caller, id), { code: 'conflict', message: /it is still processing/ })
  t.same(
    files().filter((name) => !name.endsWith('.part')),
    [],
    'an incomplete file does not have its final name',
  )
  t.ok(await tasks.cancel(taskId))
  t.match(await ended(id), { status: 'cancelled', error: null })
  await until(() => files().length === 0)
  await t.rejects(exports.findFile(caller, id), { code: 'conflict', message: /cancelled/ })

  const second = await exports.create(caller, newExport(all))
  await running(second.taskId)
  await exports.remove(caller, second.id)
  await t.rejects(exports.get(caller, second.id), { code: 'not_found' })
  await until(() => files().length === 0)
  await until(async () => (await getTask(database, second.taskId)).status === 'cancelled')
})

t.test('an export continues after a server stop; a failed one says so', { ...onlyFull, timeout: 240_000 }, async (t) => {
  const { database, exports, caller, newExport, tasks, libraryId, files, dataFolder, ended } = await openExportFixture(t)
  await addManySeries(database, libraryId, 3_000)
  const { id } = await exports.create(caller, newExport({ format: 'csv', fields: ['genres', 'progress'] }))
  await until(() => files().length > 0)
  await tasks.stop()
  t.match(await exports.get(caller, id), { status: 'pending' })
  t.same(files(), [])
  const next = await openTaskQueue({ database, log: silentLog, nodeId: 'next' })
  const again = await openExports({ database, tasks: next, dataFolder, log: silentLog })
  t.teardown(async () => {
    await next.stop()
    await again.close()
  })
  await next.start()
  t.match(await ended(id), { status: 'completed', rowCount: 3_000 })
  t.equal(readCsv(readFileSync((await exports.findFile(caller, id)).path, 'utf8').slice(1)).length, 3_001)

  // A file in place of the folder.
  rmSync(join(dataFolder, 'exports'), { recursive: true })
  writeFileSync(join(dataFolder, 'exports'), '')
  hastenTries(t, database)
  const broken = await again.create(caller, newExport())
  const failed = await ended(broken.id)
  t.match(failed, { status: 'failed', error: /The export failed/ })
  const task = await getTask(database, failed.taskId)
  t.notMatch(JSON.stringify([failed, task]), dataFolder, 'no path of the server is shown')
  t.equal(task.attempts, 4, 'it was tried again')
})

t.test('kill -9 in the middle', { timeout: 240_000, ...onlyFull }, async (t) => {
  const { database, url, exports, caller, newExport, tasks, libraryId, files, dataFolder, ended } = await openExportFixture(t, {
    manual: true,
  })
  await addManySeries(database, libraryId, 3_000)
  const { id } = await exports.create(caller, newExport({ format: 'csv', exportType: 'both', fields: Object.keys(SERIES_EXPORT_FIELDS) }))
  const script = fileURLToPath(new URL('../../support/export-child.ts', import.meta.url))
  for (const left of ['once', 'twice']) {
    const child = spawn(process.execPath, [script, url, dataFolder], { stdio: 'ignore' })
    const gone = once(child, 'exit')
    try {
      await until(async () => {
        const { progress } = await getTask(database, id)
        return files().some((name) => name.endsWith('.part')) && progress !== undefined && progress.current > 100
      })
    } finally {
      child.kill('SIGKILL')
    }
    await gone
    t.match(await exports.get(caller, id), { status: 'processing' }, `killed ${left}`)
    t.ok(files().length > 0, 'it has left a file')
    t.notOk(files().includes(`${id}.csv`), 'but no file that a user can download')
    await t.rejects(exports.findFile(caller, id), { code: 'conflict' })
    // As every start does.
    await removeHalfFiles(dataFolder)
    t.same(files(), [])
  }
  await tasks.start()
  const done = await ended(id)
  t.match(done, { status: 'completed', rowCount: 6_000 })
  const bytes = readFileSync((await exports.findFile(caller, id)).path)
  t.equal(bytes.length, done.fileSizeBytes)
  t.equal(readCsv(bytes.toString().slice(1)).length, 6_001)
  t.same(files(), [`${id}.csv`])
})

t.test('an export without a task, and one whose task is gone', { timeout: 240_000 }, async (t) => {
  const { database, exports, caller, newExport } = await openExportFixture(t, { manual: true })
  const { id } = await exports.create(caller, newExport())
  await database('tasks').delete()
  t.match(await exports.get(caller, id), { status: 'pending' }, 'its task may be about to be added')
  await database('series_exports').update({ created_at: new Date(Date.now() - 61_000) })
  t.match(await exports.get(caller, id), { status: 'failed', error: /Create it again/ })
})
