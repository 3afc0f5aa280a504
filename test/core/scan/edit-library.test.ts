import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { addLibrary } from '#core/scan/add-library.ts'
import { removeLibrary } from '#core/scan/edit-library.ts'
import { Scans } from '#core/scan/scans.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('a library whose scan has not stopped is not deleted, and the response says what was canceled', async (t) => {
  const { database } = await openTestDatabase(t)
  const room = await realpath(await mkdtemp(path.join(os.tmpdir(), 'carrel-edit-library-test-')))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  t.teardown(() => tasks.stop())
  const [dataFolder, folder] = [path.join(room, 'data'), path.join(room, 'Comics')]
  for (const one of [dataFolder, folder]) await mkdir(one)
  const rules = findRules()
  const scans = new Scans({ database, tasks, rules, log: silentLog, dataFolder, purgeAfterSeconds: 86_400 })
  const { library } = await addLibrary({ database, rules, scans, settings: { dataFolder } }, { folder })
  const { taskId } = await scans.start(library.id)
  // As one that another node runs, on a disk that does not answer.
  await database('tasks').where('id', taskId).update({ status: 'processing' })
  await database('scans').where('id', taskId).update({ status: 'processing' })

  const remove = (stopMsMax: number) => removeLibrary({ database, scans, dataFolder, stopMsMax }, library.id)
  await t.rejects(remove(0), {
    code: 'unavailable',
    message: /its scan has not stopped yet\. Its scan and the analyses of its books were cancelled\. Delete it again shortly/,
    retryAfterSeconds: 5,
  })
  t.equal((await database('libraries')).length, 1)

  const removed = remove(30_000)
  await database('tasks').where('id', taskId).update({ status: 'cancelled' })
  await removed
  t.same(await database('libraries'), [], 'it waits for the end of the scan')
})
