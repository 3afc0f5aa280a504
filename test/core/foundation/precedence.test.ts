import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Precedence } from '#core/foundation/precedence.ts'

const never = new AbortController().signal

t.test('other work waits until urgent work and what soon follows it have ended', async (t) => {
  const precedence = new Precedence()
  await precedence.after(10_000, never)
  const order: string[] = []
  const urgent = async (name: string) =>
    await precedence.first(async () => {
      await sleep(30)
      order.push(name)
      return name
    })
  const first = urgent('first')
  const waiting = [1, 2].map((number) => precedence.after(10_000, never).then(() => order.push(`waiting ${number}`)))
  t.equal(await first, 'first')
  await urgent('second')
  await Promise.all(waiting)
  t.same(order, ['first', 'second', 'waiting 1', 'waiting 2'])
  await precedence.after(10_000, never)
})

t.test('it does not wait for long, nor when its caller leaves', async (t) => {
  const precedence = new Precedence()
  const gate = Promise.withResolvers<void>()
  const urgent = precedence.first(() => gate.promise)
  const begun = performance.now()
  await precedence.after(20, never)
  t.ok(performance.now() - begun < 5_000)
  const leaving = new AbortController()
  const left = precedence.after(60_000, leaving.signal)
  leaving.abort()
  await left
  await precedence.after(60_000, leaving.signal)
  gate.resolve()
  await urgent
})

t.test('urgent work that fails gives way', async (t) => {
  const precedence = new Precedence()
  await t.rejects(
    precedence.first(async () => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  const begun = performance.now()
  await precedence.after(60_000, never)
  t.ok(performance.now() - begun < 10_000)
})
