import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { migrate, openDatabase } from '#core/database/database.ts'
import { runInScope } from '#core/database/statement-scope.ts'
import { silentLog } from '#core/foundation/log.ts'
import { countTasks, getTask } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { addMissingJobs } from '#core/tasks/task-store.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { openQueues, task, until } from '#test/support/task-queues.ts'

t.setTimeout(240_000)

t.test('no task is lost while the database is unreachable', onlyFull, async (t) => {
  const postgres = await openOwnPostgres(t)
  const database = openDatabase({ url: postgres.url, poolMax: 6, log: silentLog })
  await migrate(database)
  const warnings: string[] = []
  const queue = await openTaskQueue({ database, log: { ...silentLog, warn: (_, message) => warnings.push(message) }, nodeId: 'one' })
  const runs: string[] = []
  const finish = Promise.withResolvers<void>()
  queue.handle('analyze_book', { concurrency: 3 }, async (run) => {
    runs.push(run.params.name as string)
    if (run.params.name === 'long') await finish.promise
    return { done: run.params.name }
  })
  queue.handle('find_duplicates', { concurrency: 1 }, async () => {
    runs.push('other type')
  })
  await queue.start()
  const { taskId } = await queue.add(task('long', { params: { name: 'long' } }))
  await until(() => runs.length === 1)

  await postgres.stop('immediate')
  const begun = Date.now()
  await t.rejects(queue.add(task('refused')))
  t.ok(Date.now() - begun < 5_000, 'who adds a task is told within seconds')
  finish.resolve()
  // The lane notices that the database is away, and tries again.
  await sleep(2_500)
  await postgres.start()

  await until(async () => (await getTask(database, taskId).catch(() => null))?.status === 'completed')
  t.match(await getTask(database, taskId), { result: { done: 'long' }, attempts: 1 }, 'what ended meanwhile is written')
  const added = async (name: string) => await queue.add(task(name, { params: { name } }))
  await added('after')
  await queue.add({ type: 'find_duplicates', dedupeKey: '' })
  await until(() => runs.includes('after') && runs.includes('other type'))
  await until(async () => (await countTasks(database)).completed === 3)
  t.same(runs.toSorted(), ['after', 'long', 'other type'], 'and nothing was done twice')
  t.ok(warnings.length > 0, 'the log says so')
  t.ok((await database('graphile_worker.jobs')).length <= 1, 'what is done has no job')

  await added('never ends')
  await postgres.stop('fast')
  const stopped = Date.now()
  await queue.stop()
  t.ok(Date.now() - stopped < 30_000, 'a queue without its database stops all the same')
  await database.destroy()
})

t.test('a task runs outside of the context of the request that added it', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const request = new AbortController()
  const ended = Promise.withResolvers<unknown>()
  queue.handle('analyze_book', { concurrency: 1 }, async () => {
    request.abort(new Error('the client is gone'))
    await sleep(50)
    await database.raw('SELECT pg_sleep(0.1)').then(ended.resolve, ended.reject)
  })
  await queue.start()
  await runInScope({ owner: 'somebody', signal: () => request.signal }, () => queue.add(task('of a request')))
  await ended.promise
  t.pass('its statements are not those of the request')
})

t.test('jobs that a stopped worker had claimed but not begun run at once', async (t) => {
  const warnings: string[] = []
  const { database, queues } = await openQueues(t, 2, { log: { ...silentLog, warn: (_, message) => warnings.push(message) } })
  const [first, second] = queues as [(typeof queues)[0], (typeof queues)[0]]
  first.handle('analyze_book', { concurrency: 3 }, async (run) => {
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
  })
  await first.addMany(Array.from({ length: 20 }, (_, index) => task(`${index}`)))
  await first.start()
  await until(async () => (await countTasks(database)).processing === 3)
  await first.stop()
  t.same(warnings, [], 'nothing is wrong when a worker is stopped')
  t.match(await countTasks(database), { pending: 20, processing: 0, stale: 0 })
  const done = new Set<string>()
  second.handle('analyze_book', { concurrency: 3 }, async (run) => {
    t.equal(run.attempt, 1)
    done.add(run.id)
  })
  const begun = Date.now()
  await second.start()
  await until(() => done.size === 20)
  t.ok(Date.now() - begun < 10_000)
})

t.test('workers that end because they could not report done jobs are replaced', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const runs: string[] = []
  queue.handle('analyze_library', { concurrency: 1 }, async (run) => {
    runs.push(run.params.name as string)
  })
  const add = async (name: string) => await queue.add({ type: 'analyze_library', dedupeKey: name, params: { name } })
  await queue.start()
  await database.raw(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON graphile_worker._private_jobs FOR EACH ROW EXECUTE FUNCTION refuse()`)
  await until(async () => (await database('task_workers')).length === 1)
  const [{ worker: ended }] = await database('task_workers')
  const { taskId } = await add('first')
  await until(async () => (await getTask(database, taskId)).status === 'completed')
  await until(async () => (await database('task_workers').where('worker', ended)).length === 0)
  await database.raw('DROP TRIGGER refuse ON graphile_worker._private_jobs')
  await add('second')
  await until(() => runs.length === 2)
  await until(async () => (await database('graphile_worker.jobs')).length === 0)
  t.same(runs, ['first', 'second'], 'what was done is not done again')
})

t.test('a job that graphile-worker reclaims from a run of many hours does not run twice', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  let runs = 0
  const gate = Promise.withResolvers<void>()
  queue.handle('scan_library', { concurrency: 2 }, async (run) => {
    runs += 1
    if (run.params.name === 'other') return
    await gate.promise
    throw new Error('not yet')
  })
  await queue.start()
  const { taskId } = await queue.add({ type: 'scan_library', dedupeKey: 'long' })
  await until(() => runs === 1)
  // As it does with what has been locked for four hours.
  await database('graphile_worker._private_jobs').where('key', taskId).update({ locked_at: null, locked_by: null })
  await queue.add({ type: 'scan_library', dedupeKey: 'other', params: { name: 'other' } })
  await until(() => runs === 2)
  await until(async () => (await database('graphile_worker.jobs').where('key', taskId)).length === 0)
  t.match(await getTask(database, taskId), { status: 'processing', attempts: 1 })
  gate.resolve()
  await until(async () => (await getTask(database, taskId)).status === 'pending')
  t.equal(await addMissingJobs(database), 1, 'its next try has a job again')
  t.equal(await addMissingJobs(database), 0)
})
