import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import type { UpdateLibraryRequest } from '#core/catalog/library.ts'
import { silentLog } from '#core/foundation/log.ts'
import { addLibrary } from '#core/scan/add-library.ts'
import { createLibrary, editLibrary, previewLayout, removeLibrary } from '#core/scan/edit-library.ts'
import { previewScan } from '#core/scan/preview-scan.ts'
import { Scans } from '#core/scan/scans.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'
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

t.test('whoever sees some libraries changes only these, creates none, and learns no name of others', async (t) => {
  const { database } = await openTestDatabase(t)
  const room = await realpath(await mkdtemp(path.join(os.tmpdir(), 'carrel-edit-library-test-')))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  t.teardown(() => tasks.stop())
  const at = (name: string) => path.join(room, name)
  for (const name of ['data', 'kids', 'adults', 'new']) await mkdir(at(name))
  const [rules, settings] = [findRules(), { dataFolder: at('data') }]
  const scans = new Scans({ database, tasks, rules, log: silentLog, dataFolder: at('data'), purgeAfterSeconds: 86_400 })
  const dependencies = { database, scans, tasks, rules, settings, dataFolder: at('data') }
  const [kids, adults] = [
    await createLibrary(dependencies, { name: 'Kids', path: at('kids') }),
    await createLibrary(dependencies, { name: 'Adults', path: at('adults') }),
  ]
  const caller = await addCaller(database, { role: 'maintainer' })
  await setTestRule(database, { user_id: caller.userId }, { libraries: [kids] })

  // The same words, whatever is there.
  const refusals = async (ask: (path: string) => Promise<unknown>) => {
    const answers: string[] = []
    for (const folder of [at('new'), at('kids'), at('adults'), path.join(at('adults'), 'nowhere'), path.join(at('kids'), 'nowhere')])
      answers.push(await ask(folder).then(String, ({ code, message }) => `${code}: ${message}`))
    return answers
  }
  const preview = (folder: string) => previewScan(dependencies, { caller, folder }, new AbortController().signal)
  for (const [what, ask] of Object.entries({
    'create a library': (folder: string) => createLibrary(dependencies, { name: 'New', path: folder }, caller),
    'look for what a folder contains': preview,
  }))
    t.same(
      new Set(await refusals(ask)),
      new Set([`forbidden: You do not see every library or series, so you cannot ${what}: ask an administrator.`]),
      what,
    )
  const [another, present, ...others] = await refusals((folder) => editLibrary(dependencies, kids, { path: folder }, caller))
  t.equal(present, 'undefined', 'apps send the present folder along')
  t.same(new Set([...others, another]).size, 1)
  t.match(another, /^forbidden: .* cannot choose another folder for a library/)
  t.equal((await database('libraries')).length, 2, 'nothing was created')

  // No answer tells which files a pattern would match, or what another layout would move.
  const [hidden] = await database('series').insert({ library_id: kids, path: 'Secret', title: 'Secret' }, ['id'])
  const facts = { file_name: 'Secret 01.cbz', file_format: 'cbz', file_size: 1, file_mtime_ns: 1, title: 'Secret 01', state: 'analyzed' }
  await database('books').insert({
    library_id: kids,
    series_id: hidden.id,
    path: path.join(at('kids'), 'Secret', 'Secret 01.cbz'),
    ...facts,
  })
  const layouts = ['^Secret/(?<series>.*)', '^zzz(?<series>x)'].map(
    (pattern): UpdateLibraryRequest => ({ seriesStrategy: 'custom', seriesConfig: { pattern } }),
  )
  const { signal } = new AbortController()
  for (const request of [...layouts, { seriesStrategy: 'flat' } as UpdateLibraryRequest]) {
    const refused = { code: 'forbidden', message: /cannot change the layout/ }
    await t.rejects(editLibrary(dependencies, kids, request, caller), refused)
    await t.rejects(previewLayout(dependencies, kids, { request, by: caller, signal }), refused)
  }

  const unknown = '00000000-0000-4000-8000-000000000000'
  const asks: Record<string, (id: string) => Promise<unknown>> = {
    edit: (id) => editLibrary(dependencies, id, { name: 'Mine' }, caller),
    remove: (id) => removeLibrary(dependencies, id, caller),
    scan: (id) => scans.start(id, 'normal', caller),
    status: (id) => scans.getStatus(id, caller),
    cancel: (id) => scans.cancel(id, caller),
  }
  for (const [what, ask] of Object.entries(asks)) {
    const refused = async (id: string) => await ask(id).then(String, ({ code, message }) => `${code}: ${message.replace(id, '<id>')}`)
    t.equal(await refused(adults), await refused(unknown), what)
    t.match(await refused(adults), /^not_found/, what)
  }
  t.equal((await database('libraries').where({ name: 'Adults' })).length, 1)
  await scans.start(adults)
  await scans.start(kids)
  t.same(
    (await scans.listActive(caller)).map(({ libraryId }) => libraryId),
    [kids],
  )
  t.equal((await scans.listActive()).length, 2)
  await scans.cancel(kids, caller)
  await editLibrary(dependencies, kids, { name: 'Children' }, caller)
  await removeLibrary(dependencies, kids, caller)
  t.same(await database('libraries').pluck('name'), ['Adults'])
})
