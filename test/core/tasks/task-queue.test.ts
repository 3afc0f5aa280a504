import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FinalFailure, type TaskRun } from '#core/tasks/task.ts'
import { countTasks, getTask, listTasks } from '#core/tasks/task-query.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import { beginTasks } from '#core/tasks/task-store.ts'
import { requeueLost } from '#core/tasks/task-worker-store.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { hastenTries, openQueues, task, until } from '#test/support/task-queues.ts'

// Retries, a killed process and a connection that stays away: each waits some seconds.
t.setTimeout(240_000)

t.test('a backlog runs immediately, by priority, with bounded concurrency', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const seen: string[] = []
  let now = 0
  let most = 0
  queue.handle('analyze_book', { concurrency: 3 }, async (run) => {
    seen.push(run.params.name as string)
    now += 1
    most = Math.max(most, now)
    // Some end before the loop that began them has turned round: no wake-up may be lost then.
    if (Number(run.params.name) % 4 === 0) await sleep(1)
    now -= 1
  })
  const tasks = Array.from({ length: 500 }, (_, index) => task(`book-${index}`, { params: { name: `${index}` } }))
  t.equal(await queue.addMany(tasks), 500)
  t.equal(await queue.addMany(tasks), 0, 'a second time they are all known')
  await queue.add(task('urgent', { params: { name: 'urgent' }, priority: 5000 }))
  await queue.start()
  // With three at each poll, which comes once a second, it would take three minutes.
  await until(() => seen.length === 501)
  t.ok(seen.indexOf('urgent') < 3, 'higher priority first')
  t.ok(most >= 2 && most <= 3, `${most} at a time`)
  await until(async () => (await countTasks(database)).completed === 501)
  const stats = await countTasks(database)
  t.match(stats, { pending: 0, processing: 0, failed: 0, stale: 0, total: 501, byType: { analyze_book: { completed: 501 } } })
  await until(async () => (await database('graphile_worker.jobs')).length === 0)
  t.pass('no job is left of what is done')
})

t.test('two waiting tasks with one key are one task; a running task is another one', async (t) => {
  const { queue } = await openQueues(t, 1)
  const gates = new Map<number, () => void>()
  let begun = 0
  queue.handle('analyze_book', { concurrency: 4 }, async () => {
    begun += 1
    await new Promise<void>((resolve) => gates.set(begun, resolve))
  })
  const first = await queue.add(task('same'))
  const second = await queue.add(task('same'))
  t.same(second, { taskId: first.taskId, created: false })
  t.equal((await queue.add(task('other'))).created, true)
  await queue.start()
  await until(() => begun === 2)
  const third = await queue.add(task('same'))
  t.equal(third.created, true, 'while it runs the key can wait again')
  t.not(third.taskId, first.taskId)
  await until(() => begun === 3)
  for (const open of gates.values()) open()
})

t.test('the id of a task can be chosen', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const id = randomUUID()
  t.same(await queue.add({ type: 'scan_library', id, dedupeKey: 'x', libraryId: randomUUID() }), { taskId: id, created: true })
  t.match(await getTask(database, id), { id, taskType: 'scan_library', status: 'pending', attempts: 0, maxAttempts: 4, priority: 1000 })
  await t.rejects(getTask(database, randomUUID()), { code: 'not_found' })
})

t.test('failed tasks are retried with back-off, then stay failed until a user retries them', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const tries: { at: number; attempt: number }[] = []
  let works = false
  queue.handle('analyze_library', { concurrency: 1 }, async (run) => {
    tries.push({ at: Date.now(), attempt: run.attempt })
    if (!works) throw new Error('no such luck')
    return { fine: true }
  })
  await queue.start()
  const { taskId } = await queue.add({ type: 'analyze_library', dedupeKey: 'p' })
  await until(() => tries.length === 1)
  await until(async () => (await getTask(database, taskId)).status === 'pending')
  t.match(await getTask(database, taskId), { lastError: 'no such luck', attempts: 1 })
  t.equal(
    (await queue.add({ type: 'analyze_library', dedupeKey: 'p' })).taskId,
    taskId,
    'waiting for its next try it is still the one of its key',
  )
  t.equal(await queue.addMany([{ type: 'analyze_library', dedupeKey: 'p' }]), 0)
  // Four tries would take 30 s; two show the back-off, the rest is made to come due.
  await until(() => tries.length === 2)
  const gap = (tries[1]?.at ?? 0) - (tries[0]?.at ?? 0)
  t.ok(gap >= 2_500, `the second try waited ${gap} ms`)
  hastenTries(t, database)
  await until(async () => (await getTask(database, taskId)).status === 'failed')
  t.same(
    tries.map((one) => one.attempt),
    [1, 2, 3, 4],
  )
  works = true
  t.equal(await queue.retry(taskId), true)
  await until(async () => (await getTask(database, taskId)).status === 'completed')
  t.match(await getTask(database, taskId), { result: { fine: true }, lastError: null, attempts: 5 })
  t.equal(await queue.retry(taskId), false, 'what has been done is not retried')
  t.equal(await queue.retry(randomUUID()), false)
})

t.test('a final failure is not retried', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  let tries = 0
  queue.handle('analyze_library', { concurrency: 1 }, async () => {
    tries += 1
    throw new FinalFailure('the folder is not there')
  })
  await queue.start()
  const { taskId } = await queue.add({ type: 'analyze_library', dedupeKey: 'p' })
  await until(async () => (await getTask(database, taskId)).status === 'failed')
  t.match(await getTask(database, taskId), { lastError: 'the folder is not there', attempts: 1, maxAttempts: 1 })
  t.equal(tries, 1)
})

t.test('canceling stops waiting and running tasks, on any node', async (t) => {
  // No sweep comes meanwhile: the other node is told, or never knows.
  const { database, queues } = await openQueues(t, 2, { sweepMs: 600_000 })
  const [here, there] = queues as [TaskQueue, TaskQueue]
  const aborted: string[] = []
  const running: TaskRun[] = []
  there.handle('analyze_book', { concurrency: 2 }, async (run) => {
    running.push(run)
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason))).catch((error) => {
      aborted.push(run.id)
      throw error
    })
  })
  await here.start()
  await there.start()
  const libraryId = randomUUID()
  const one = await here.add(task('1', { libraryId }))
  await here.add(task('2', { libraryId }))
  await until(() => running.length === 2)
  const waiting = await here.add(task('3', { libraryId }))
  const foreign = await here.add(task('4', { libraryId: randomUUID() }))
  t.equal(await here.cancel(one.taskId), true)
  await until(() => aborted.includes(one.taskId))
  // Not before the run has ended.
  await until(async () => (await getTask(database, one.taskId)).status === 'cancelled')
  t.equal(await here.cancel(one.taskId), false, 'it is canceled already')
  t.equal(await here.cancel(randomUUID()), false)

  await until(() => running.length === 3)
  t.ok((await here.cancelAll({ type: 'analyze_book', libraryId })) >= 1)
  // It may have begun in the place of the first, and then has to end.
  await until(async () => (await getTask(database, waiting.taskId)).status === 'cancelled')
  t.ok(aborted.length >= 2)
  t.not((await getTask(database, foreign.taskId)).status, 'cancelled')
  t.equal((await listTasks(database, { status: 'failed', limit: 10 })).length, 0, 'a canceled run is no failure')

  t.equal(await here.retry(one.taskId), true)
  await until(() => running.filter((run) => run.id === one.taskId).length === 2)
})

t.test('the progress of a running task is visible', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  let finish = () => {}
  const { taskId } = await queue.add({ type: 'analyze_library', dedupeKey: 'p' })
  queue.handle('analyze_library', { concurrency: 1 }, async (run) => {
    for (let index = 0; index <= 10_000; index++) run.progress(index, 20_000, 'halfway soon')
    await new Promise<void>((resolve) => {
      finish = resolve
    })
  })
  await queue.start()
  await until(async () => (await getTask(database, taskId)).progress !== undefined)
  t.match(await getTask(database, taskId), {
    status: 'processing',
    lockedBy: 'node-0',
    progress: { current: 10_000, total: 20_000, message: 'halfway soon' },
  })
  t.match(await listTasks(database, { status: 'processing', taskType: 'analyze_library', limit: 5 }), [{ id: taskId }])
  finish()
})

t.test('stopping returns running tasks, and their runs do not count as tries', async (t) => {
  const { database, queues } = await openQueues(t, 2)
  const [first, second] = queues as [TaskQueue, TaskQueue]
  let begun = false
  first.handle('analyze_book', { concurrency: 1 }, async (run) => {
    begun = true
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
  })
  const { taskId } = await first.add(task('book'))
  await first.start()
  await until(() => begun)
  // The book changed meanwhile: a second task of its key waits when the first comes back.
  const { taskId: newer } = await second.add(task('book'))
  await first.stop()
  t.match(await getTask(database, taskId), { status: 'pending', attempts: 0, lastError: null })
  const attempts: [string, number][] = []
  second.handle('analyze_book', { concurrency: 1 }, async (run) => {
    attempts.push([run.id, run.attempt])
  })
  await second.start()
  await until(() => attempts.length === 2)
  t.same(
    new Map(attempts),
    new Map([
      [taskId, 1],
      [newer, 1],
    ]),
  )
})

t.test('the running tasks of a killed process run again soon, its finished ones do not', { ...onlyFull, timeout: 240_000 }, async (t) => {
  const { database, url, queue } = await openQueues(t, 1)
  await database.raw('CREATE TABLE done (name text, attempt int, pid int)')
  await queue.addMany(Array.from({ length: 30 }, (_, index) => task(`b${index}`, { params: { name: `b${index}` } })))
  const children: ChildProcess[] = []
  t.teardown(() => children.map((child) => child.kill('SIGKILL')))
  const count = async () => (await database('done').count({ n: '*' }).first())?.n as number
  const begin = async () => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('../../support/queue-child.ts', import.meta.url)), url], {
      stdio: 'inherit',
    })
    children.push(child)
    return child
  }
  const first = await begin()
  const before = Number(await count())
  await until(async () => Number(await count()) >= before + 8)
  first.kill('SIGKILL')
  const killedAt = Date.now()
  await begin()
  await until(
    async () =>
      Number(
        await database('done')
          .countDistinct({ n: 'name' })
          .first()
          .then((row) => row?.n),
      ) === 30,
  )
  t.ok(Date.now() - killedAt < 60_000, `all done ${Date.now() - killedAt} ms after the kill`)
  const { rows } = await database.raw(
    'SELECT name, count(*)::int AS times, max(attempt) AS attempt FROM done GROUP BY name HAVING count(*) > 1',
  )
  t.same(rows, [], 'nothing was done twice')
  t.equal((await database('done').where('attempt', '>', 1)).length, 0, 'and the kill is no try')
})

t.test('a task whose server was killed many times has all of its tries left', onlyFull, async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const attempts: number[] = []
  queue.handle('scan_library', { concurrency: 1 }, async (run) => {
    attempts.push(run.attempt)
    if (attempts.length < 4) throw new Error('not yet')
  })
  const { taskId } = await queue.add({ type: 'scan_library', dedupeKey: 'long', libraryId: randomUUID() })
  for (let kill = 0; kill < 9; kill++) {
    // Claimed as graphile-worker does it and begun, by a node that is gone.
    await database('task_workers').insert({ worker: `dead ${kill}`, node_id: 'dead', node_lock: 7 })
    await database('graphile_worker._private_jobs')
      .where('key', taskId)
      .update({ locked_by: `dead ${kill}`, locked_at: new Date(), attempts: database.raw('attempts + 1') })
    t.equal((await beginTasks(database, [{ id: taskId, worker: `dead ${kill}` }])).length, 1)
    t.equal(await requeueLost(database, []), 1, 'it comes back')
    t.match(await database('graphile_worker.jobs').where('key', taskId).first(), { attempts: 0, locked_by: null })
  }
  hastenTries(t, database)
  await queue.start()
  await until(async () => (await getTask(database, taskId)).status === 'completed')
  t.same(attempts, [1, 2, 3, 4], 'tries count from 1, whatever was killed before')
})

t.test('tasks survive a lost connection', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  let runs = 0
  queue.handle('analyze_book', { concurrency: 1 }, async () => {
    runs += 1
  })
  await queue.start()
  // Waits for their end: a connection that ends later could be given to the next statement.
  await database.raw(
    `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  )
  // The queue notices the loss and connects again, or the next task is what tells it.
  await sleep(1_500)
  await queue.add(task('after'))
  await until(() => runs === 1)
})

t.test('a node that loses its connection keeps what it runs', { timeout: 240_000 }, async (t) => {
  const { database, queue } = await openQueues(t, 1, { sweepMs: 500 })
  let begun = 0
  let finish = () => {}
  const gate = new Promise<void>((resolve) => {
    finish = resolve
  })
  queue.handle('analyze_book', { concurrency: 2 }, async () => {
    begun += 1
    await gate
    return { fine: true }
  })
  const { taskId } = await queue.add(task('long'))
  await queue.start()
  await until(() => begun === 1)
  const cut = async () =>
    await database.raw(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
  // Longer than the queue waits between two looks at what was lost, so that some of them find our lock held by nobody.
  for (const end = Date.now() + 1_500; Date.now() < end; await sleep(50)) await cut()
  t.equal(begun, 1, 'it was not begun a second time')
  t.match(await getTask(database, taskId), { status: 'processing', attempts: 1 })

  // As another node does, which sees our lock held by nobody. In one transaction: when the connection is back, the workers are, too.
  await database.transaction(async (trx) => {
    await trx('task_workers').update({ node_lock: 7 })
    t.equal(await requeueLost(trx, []), 1)
    t.equal((await trx('task_workers')).length, 0)
  })
  await until(async () => (await database('tasks').where('id', taskId).first('runs')).runs === 2)
  await cut()
  await until(async () => (await database('task_workers')).length === 1)
  t.pass('its workers are known again when the connection is back')
  t.equal(begun, 1, 'a run that lives takes its task back instead of beginning again')
  finish()
  await until(async () => (await getTask(database, taskId)).status === 'completed')
  t.match(await getTask(database, taskId), { result: { fine: true } })
})

t.test('a canceled run that is slow to end does not stand in for its retry', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const begun: number[] = []
  let finish = () => {}
  const gate = new Promise<void>((resolve) => {
    finish = resolve
  })
  let most = 0
  let now = 0
  queue.handle('analyze_book', { concurrency: 3 }, async (run) => {
    begun.push(run.attempt)
    now += 1
    most = Math.max(most, now)
    if (begun.length === 1) await gate
    now -= 1
    run.signal.throwIfAborted()
    return { attempt: run.attempt }
  })
  const { taskId } = await queue.add(task('deaf'))
  await queue.start()
  await until(() => begun.length === 1)
  t.equal(await queue.cancel(taskId), true)
  t.equal(await queue.retry(taskId), true)
  // Longer than the queue takes to begin a task.
  await sleep(1_500)
  finish()
  await until(async () => (await getTask(database, taskId)).status === 'completed')
  t.match(await getTask(database, taskId), { result: { attempt: 1 }, attempts: 2 })
  t.same(begun, [1, 1], 'a person gives it all its tries anew')
  t.equal(most, 1, 'never two runs of one task at a time')
})

t.test('a task that is canceled between its claim and its begin never begins', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const begun: string[] = []
  queue.handle('analyze_book', { concurrency: 2 }, async (run) => {
    begun.push(run.id)
  })
  await queue.start()
  let [taskId, next] = ['', '']
  await database.transaction(async (trx) => {
    taskId = (await queue.add({ ...task('early'), scheduledFor: new Date(Date.now() + 3_600_000) })).taskId
    // The claim stands in the table of jobs, the begin in ours: between them the queue waits for us.
    await trx('tasks').where('id', taskId).forUpdate()
    const job = () => database('graphile_worker.jobs').where('key', taskId).first()
    await database.raw('SELECT count(*) FROM graphile_worker.reschedule_jobs(ARRAY[CAST(? AS bigint)], run_at := now())', [
      (await job()).id,
    ])
    // Has the worker look.
    next = (await queue.add(task('next'))).taskId
    await until(async () => (await job()).locked_by !== null)
    await trx('tasks').where('id', taskId).update({ status: 'cancelled', completed_at: new Date() })
  })
  await until(() => begun.includes(next))
  // Another run would have begun by then.
  await sleep(200)
  t.same(begun, [next])
  t.equal((await getTask(database, taskId)).status, 'cancelled')
  t.equal(await queue.retry(taskId), true)
  await until(() => begun.includes(taskId))
})
