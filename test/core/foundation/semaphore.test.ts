import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Semaphore } from '#core/foundation/semaphore.ts'

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
  const semaphore = new Semaphore(Number.POSITIVE_INFINITY, 1)
  const [a, b] = [{ key: 'a' }, { key: 'b' }]
  const leave = await semaphore.enter(undefined, a)
  ;(await semaphore.enter(undefined, b))()
  const giveUp = new AbortController()
  const gone = semaphore.run(async () => {}, giveUp.signal, a)
  const next = semaphore.run(async () => 'next', undefined, a)
  t.equal(semaphore.waitingOf('a'), 2)
  t.equal(semaphore.waitingOf('b'), 0)
  giveUp.abort(new Error('enough'))
  await t.rejects(gone, { message: 'enough' })
  t.equal(semaphore.waitingOf('a'), 1)
  leave()
  leave()
  t.equal(await next, 'next')
  t.equal(await semaphore.run(async () => 'again', undefined, a), 'again', 'nothing is left of a key that nobody uses')
})

t.test('who waits for the total is overtaken by nobody, and who waits for their own key only by others', async (t) => {
  const semaphore = new Semaphore(3, 2)
  const log: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = async (name: string, signal?: AbortSignal) => {
    leaves.set(name, await semaphore.enter(signal, { key: name[0] as string }))
    log.push(name)
  }
  const enters = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => enter(name))
  await sleep(5)
  t.same(log, ['a1', 'a2', 'b1'], 'a has two, and b passes a')
  t.equal(semaphore.tryEnter({ key: 'd' }), null, 'b2 and c1 came before')
  leaves.get('b1')?.()
  await sleep(5)
  t.same(log.slice(3), ['b2'])
  leaves.get('a1')?.()
  await sleep(5)
  t.same(log.slice(4), ['a3'], 'in the order of arrival')
  leaves.get('a2')?.()
  leaves.get('a2')?.()
  await Promise.all(enters)
  t.same(log.slice(5), ['c1'])
  t.equal(semaphore.running, 3)
})

t.test('each takes its weight of the total and of its key', async (t) => {
  const bytes = new Semaphore(100, 60)
  const first = bytes.tryEnter({ key: 'ann', weight: 40 })
  t.ok(first)
  t.equal(bytes.tryEnter({ key: 'ann', weight: 21 }), null, 'above the limit of a key')
  t.ok(bytes.tryEnter({ key: 'ann', weight: 20 }))
  t.ok(bytes.tryEnter({ key: 'ben', weight: 40 }), 'other keys have their own share')
  t.equal(bytes.tryEnter({ key: 'cid', weight: 1 }), null, 'above the total')
  first?.()
  first?.()
  t.equal(bytes.tryEnter({ key: 'cid', weight: 41 }), null, 'a second release does nothing')
  t.ok(bytes.tryEnter({ key: 'cid', weight: 40 }))
})

t.test('work with the weight of the total runs alone, in the order of arrival', async (t) => {
  const alone = { weight: 1_000 }
  const semaphore = new Semaphore(alone.weight)
  const said: string[] = []
  const gates = new Map<string, () => void>()
  const work = (name: string) => async () => {
    said.push(name)
    await new Promise<void>((resolve) => gates.set(name, resolve))
    said.push(`${name} ends`)
  }
  const end = async (name: string, running: Promise<void>) => {
    gates.get(name)?.()
    await running
    await sleep(5)
  }
  const [first, second] = [semaphore.run(work('a')), semaphore.run(work('b'))]
  const only = semaphore.run(work('alone'), undefined, alone)
  const after = semaphore.run(work('c'))
  await sleep(5)
  t.same(said, ['a', 'b'], 'two share it; callers behind an exclusive one wait too')
  await end('a', first)
  t.same(said, ['a', 'b', 'a ends'])
  await end('b', second)
  t.same(said.slice(3), ['b ends', 'alone'])
  await end('alone', only)
  await end('c', after)
  t.same(said.slice(5), ['alone ends', 'c', 'c ends'])
})

t.test('a caller that stops waiting lets the next one in, and failed work releases the semaphore', async (t) => {
  const alone = { weight: 10 }
  const semaphore = new Semaphore(alone.weight)
  const leave = await semaphore.enter()
  const control = new AbortController()
  const waiting = semaphore.run(async () => 'never', control.signal, alone)
  const behind = semaphore.run(async () => 'in')
  control.abort(new Error('given up'))
  await t.rejects(waiting, { message: 'given up' })
  t.equal(await behind, 'in')
  leave()
  await t.rejects(
    semaphore.run(async () => Promise.reject(new Error('broken')), undefined, alone),
    { message: 'broken' },
  )
  t.equal(await semaphore.run(async () => 'free', undefined, alone), 'free')
})
