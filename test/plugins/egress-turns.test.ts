import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openEgress } from '#plugins/egress.ts'
import { openCallerSlots, openHostTurns } from '#plugins/egress-turns.ts'
import { forever, openWayOut, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(120_000)

t.test('the rate of a host is one for all, however its name is spelled, and shared evenly', async (t) => {
  const { way, fetch, closed } = await openWayOut(t)
  const done: string[] = []
  const ask = async (url: string, caller: string, timeoutMs = 15_000) => {
    await fetch({ url, timeoutMs }, { caller })
    done.push(caller)
  }
  await Promise.all(
    ['api.example.org', 'API.example.org', 'api.example.org:443'].flatMap((host) => [1, 2, 3].map(() => ask(`https://${host}/`, host))),
  )
  await ask('https://api.example.org/', 'ten')
  t.equal(way.asked.length, 10, 'so many at once')
  t.match(await refusal(fetch({ url: 'https://API.EXAMPLE.org/', timeoutMs: 50 })), { own: 'rate_limited' }, 'it could not come in time')
  t.equal(way.asked.length, 10)

  done.length = 0
  const at = performance.now()
  const greedy = Array.from({ length: 12 }, () => ask('https://api.example.org/', 'greedy'))
  await sleep(20)
  const modest = Promise.all([ask('https://api.example.org/', 'modest'), ask('https://api.example.org/', 'modest')])
  await modest
  t.ok(done.filter((caller) => caller === 'greedy').length <= 4, `who asks much does not go first: ${done}`)
  await Promise.all(greedy)
  t.ok(performance.now() - at > (14 / 5) * 1_000 - 400, 'five a second')

  const wide = openEgress(way)
  const names = Array.from({ length: 12 }, (_, n) =>
    wide.fetch({ url: `https://n${n}.wide.example.org/`, timeoutMs: 300 }, { ...POLICY, caller: `c${n}` }, forever()),
  )
  const results = await Promise.allSettled(names)
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 11, 'many names below one are one')
  t.ok(await closed())
})

t.test('lines for turns and slots: bounded, in order, left when the request ends', async (t) => {
  const turns = openHostTurns()
  const take = (caller: string, deadlineMs: number, signal = forever(), host = 'h') =>
    turns.take({ host, caller, deadline: performance.now() + deadlineMs, signal })
  for (let n = 0; n < 10; n++) await take('a', 0)
  const order: string[] = []
  const leaving = new AbortController()
  const left = refusal(take('a', 5_000, leaving.signal))
  const lines = ['a1', 'a2', 'b1', 'a3', 'b2'].map(async (name) => {
    await take(name.slice(0, 1), 5_000)
    order.push(name)
  })
  leaving.abort()
  t.match(await left, { own: 'rate_limited' })
  t.match(await refusal(take('a', 500)), { own: 'rate_limited' }, 'three wait before it')
  await Promise.all(lines)
  t.same(order, ['a1', 'b1', 'a2', 'b2', 'a3'], 'turn and turn about, and nobody waits behind one who left')
  await t.rejects(take('a', 5_000, AbortSignal.abort()))
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `many${n}`)
  await sleep(2_100)
  for (let n = 0; n < 10; n++) await take('a', 0)
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `others${n}`)
  t.match(await refusal(take('a', 0)), { own: 'rate_limited' }, 'others in numbers do not make a host forget')

  const slots = openCallerSlots()
  const inside = await Promise.all(Array.from({ length: 6 }, () => slots.enter('a', forever())))
  const gone = new AbortController()
  const first = refusal(slots.enter('a', gone.signal))
  const entered: number[] = []
  const waiting = Array.from({ length: 63 }, async (_, n) => {
    const leave = await slots.enter('a', forever())
    entered.push(n)
    leave()
  })
  t.match(await refusal(slots.enter('a', forever())), { own: 'rate_limited' }, 'so many wait and no more')
  ;(await slots.enter('b', forever()))()
  gone.abort()
  t.match(await first, { own: 'rate_limited' })
  t.same(entered, [])
  inside[0]?.()
  await Promise.all(waiting)
  t.same(
    entered,
    Array.from({ length: 63 }, (_, n) => n),
  )
  for (const leave of inside.slice(1)) leave()
  const again = await Promise.all(Array.from({ length: 6 }, () => slots.enter('a', forever())))
  t.equal(again.length, 6, 'none was lost')
})
