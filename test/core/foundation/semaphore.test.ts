import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KeyedSemaphore, Semaphore } from '#core/foundation/semaphore.ts'

t.test('a semaphore lets in as many as it has places, in order', async (t) => {
  const semaphore = new Semaphore(2)
  const log: string[] = []
  let inside = 0
  const enter = (name: string) =>
    semaphore.run(async () => {
      t.ok(++inside <= 2)
      await sleep(5)
      inside--
      log.push(name)
    })
  const giveUp = new AbortController()
  const work = ['a', 'b', 'c', 'd', 'e'].map(enter)
  const late = semaphore.run(async () => log.push('never'), giveUp.signal)
  t.equal(semaphore.waiting, 4)
  t.equal(semaphore.running, 2)
  giveUp.abort(new Error('enough'))
  t.equal(semaphore.waiting, 3, 'who gives up does not wait any more')
  await t.rejects(late, { message: 'enough' })
  await t.rejects(
    semaphore.run(async () => {
      throw new Error('inside')
    }),
    { message: 'inside' },
  )
  await Promise.all(work)
  t.same(log, ['a', 'b', 'c', 'd', 'e'])
  await t.rejects(semaphore.enter(AbortSignal.abort(new Error('before'))), { message: 'before' })
  t.equal(semaphore.waiting, 0)
  t.equal(semaphore.running, 0)
})

t.test('a place is released once, before the end of the work or at its end', async (t) => {
  const semaphore = new Semaphore(1)
  const order: string[] = []
  const first = semaphore.run(async (leave) => {
    leave()
    leave()
    await sleep(20)
    order.push('first')
  })
  const second = semaphore.run(async () => {
    order.push('second')
    await sleep(40)
  })
  await Promise.all([first, second])
  t.same(order, ['second', 'first'])
  const leave = await semaphore.enter()
  const next = semaphore.enter()
  t.equal(semaphore.waiting, 1, 'and there is still one place')
  leave()
  leave()
  await next
  const third = semaphore.enter()
  t.equal(semaphore.waiting, 1, 'which was not given back twice')
  ;(await next)()
  ;(await third)()
})

t.test('each key has places of its own', async (t) => {
  const semaphore = new KeyedSemaphore(1)
  const leave = await semaphore.enter('a')
  ;(await semaphore.enter('b'))()
  const giveUp = new AbortController()
  const gone = semaphore.run('a', async () => {}, giveUp.signal)
  const next = semaphore.run('a', async () => 'next')
  t.equal(semaphore.waiting('a'), 2)
  t.equal(semaphore.waiting('b'), 0)
  giveUp.abort(new Error('enough'))
  await t.rejects(gone, { message: 'enough' })
  t.equal(semaphore.waiting('a'), 1)
  leave()
  leave()
  t.equal(await next, 'next')
  t.equal(await semaphore.run('a', async () => 'again'), 'again', 'nothing is left of a key that nobody uses')
})
