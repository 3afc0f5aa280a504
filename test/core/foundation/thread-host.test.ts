import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { ThreadHost, type ThreadLoss, ThreadLost } from '#core/foundation/thread-host.ts'
import type { TestJob } from '#test/support/jobs-thread.ts'

t.setTimeout(120_000)

const program = new URL('../../support/jobs-thread.ts', import.meta.url)

function open(t: Test, options: Partial<ConstructorParameters<typeof ThreadHost>[0]> = {}) {
  const host = new ThreadHost<TestJob, unknown, number>({
    program,
    memoryMbMax: 32,
    youngMbMax: 4,
    idleMs: 60_000,
    jobMsMax: 30_000,
    queueMax: 10,
    ...options,
  })
  t.teardown(() => host.close())
  return host
}

const lost = (reason: ThreadLoss) => new ThreadLost(reason, program)

t.test('jobs are answered one after the other by one thread, in parts if it sends parts', async (t) => {
  const host = open(t)
  const parts: number[] = []
  const answers = await Promise.all([host.run('id'), host.run('parts', { onPart: (part) => parts.push(part) }), host.run('id')])
  t.equal(answers[0], answers[2])
  t.same([answers[1], parts], [3, [1, 2, 3]])
})

t.test('a refusal is the same as in this thread, and the thread goes on', async (t) => {
  const host = open(t)
  const id = await host.run('id')
  await t.rejects(host.run('refuse'), {
    constructor: AppError,
    code: 'invalid_value',
    message: 'This value is wrong.',
    details: [{ path: '/x' }],
  })
  t.equal(await host.run('id'), id)
})

t.test('a job that ends its thread is lost, and the next one has another thread', async (t) => {
  for (const [job, reason, cause] of [
    ['throw', 'crash', { name: 'RangeError', message: 'out of range' }],
    ['end', 'crash', { message: /code 3/ }],
    ['fill', 'memory', { code: 'ERR_WORKER_OUT_OF_MEMORY' }],
  ] as const) {
    const host = open(t)
    const id = await host.run('id')
    const [first, next] = [host.run(job), host.run('id')]
    const error = await first.catch((failure: unknown) => failure)
    t.match(error, { constructor: ThreadLost, reason, cause }, job)
    t.not(await next, id)
  }
})

t.test('a job has a deadline, which begins when its thread has started', async (t) => {
  const host = open(t, { jobMsMax: 2_000 })
  t.type(await host.run('id'), 'number')
  const [late, next] = [host.run('spin'), host.run('id')]
  await t.rejects(late, lost('deadline'))
  t.type(await next, 'number')
})

t.test('a canceled job ends, whether it waits or runs, and the others go on', async (t) => {
  const host = open(t)
  const [running, waiting] = [new AbortController(), new AbortController()]
  const [spinning, canceled, other] = [
    host.run('spin', { signal: running.signal }),
    host.run('id', { signal: waiting.signal }),
    host.run('id', { signal: new AbortController().signal }),
  ]
  waiting.abort(new Error('not wanted'))
  await t.rejects(canceled, { message: 'not wanted' })
  running.abort(new Error('enough'))
  await t.rejects(spinning, { message: 'enough' })
  t.type(await other, 'number')
  await t.rejects(host.run('id', { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
})

t.test('a full queue and a closed host refuse jobs', async (t) => {
  const host = open(t, { queueMax: 2 })
  const jobs = ['spin', 'id', 'id'].map((job) => host.run(job as TestJob))
  const ends = Promise.allSettled(jobs)
  await t.rejects(host.run('id'), lost('full'))
  await host.close()
  for (const end of await ends) t.match(end, { status: 'rejected', reason: lost('closed') })
  await t.rejects(host.run('id'), lost('closed'))
})

t.test('a thread without jobs ends, and the next job has another one', async (t) => {
  const host = open(t, { idleMs: 50 })
  const id = await host.run('id')
  t.equal(await host.run('id'), id)
  // The thread ends by itself.
  await sleep(500)
  t.not(await host.run('id'), id)
})
