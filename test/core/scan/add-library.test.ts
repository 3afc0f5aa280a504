import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { addLibrary } from '#core/scan/add-library.ts'
import { Scans } from '#core/scan/scans.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findRules } from '#test/support/supervisor.ts'

t.test('a folder becomes a library once', async (t) => {
  const { database } = await openTestDatabase(t)
  const room = await realpath(await mkdtemp(path.join(os.tmpdir(), 'carrel-add-library-test-')))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  t.teardown(() => tasks.stop())
  const dataFolder = path.join(room, 'data')
  await mkdir(dataFolder)
  const parts = {
    database,
    rules: findRules(),
    settings: { dataFolder },
    scans: new Scans({ database, tasks, rules: findRules(), log: silentLog, dataFolder, purgeAfterSeconds: 86_400 }),
  }
  const shelf = path.join(room, 'shelf')
  const folder = path.join(shelf, 'Comics')
  await mkdir(path.join(folder, 'Series'), { recursive: true })

  const first = await addLibrary(parts, { folder })
  t.match(first, { created: true, library: { name: 'Comics', path: folder } })
  t.match(await addLibrary(parts, { folder: `${folder}/` }), { created: false, library: { id: first.library.id } })
  await symlink(folder, path.join(room, 'link'))
  t.match(await addLibrary(parts, { folder: path.join(room, 'link') }), { created: false, library: first.library }, 'by another way too')
  await t.rejects(addLibrary(parts, { folder: path.join(folder, 'Series') }), { code: 'conflict', message: /inside the library "Comics"/ })
  await t.rejects(addLibrary(parts, { folder: path.join(room, 'absent') }), { code: 'invalid_value', message: /does not exist/ })
  t.match(await addLibrary(parts, { folder: shelf, name: 'x' }).catch((error) => error), { code: 'conflict' })

  await rm(folder, { recursive: true })
  t.match(await addLibrary(parts, { folder }), { created: false }, 'a library whose disk is away is one still')
  t.equal((await database('libraries')).length, 1)
})
