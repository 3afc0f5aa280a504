import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CallerSemaphore, HostRateLimiter, type HostRates } from '#plugins/network/host-rate-limiter.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

t.test('all spellings of a host share one rate limit, and plugins share it evenly', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t)
  const ask = (url: string, caller: string, timeoutMs = 15_000) => fetch({ url, timeoutMs }, { caller })
  // Five tokens a second are refilled while a busy machine responds.
  const began = performance.now()
  const back = () => Math.min(10, Math.floor((performance.now() - began) / 200))
  const ten = ['api.example.org', 'API.example.org', 'api.example.org:443'].flatMap((host) =>
    [1, 2, 3].map(() => ask(`https://${host}/`, host)),
  )
  ten.push(ask('https://api.example.org/', 'ten'))
  // If this process stood still until now, it is even answered.
  const late = refusal(fetch({ url: 'https://API.EXAMPLE.org/', timeoutMs: 50 })).catch(() => ({ own: 'answered' }))
  await Promise.all(ten)
  const { own } = await late
  const spare = back()
  t.ok(own === 'rate_limited' || spare > 0, 'it could not be sent in time')
  t.ok(way.asked.length >= 10 && way.asked.length <= 10 + spare, 'the burst')

  const first = way.asked.length
  const at = performance.now()
  const refilled = back()
  const greedy = Array.from({ length: 12 }, () => ask('https://api.example.org/', 'greedy'))
  await sleep(20)
  // Until now there is only the one with many requests.
  const alone = Math.floor((performance.now() - at) / 200)
  await Promise.all([ask('https://api.example.org/modest', 'modest'), ask('https://api.example.org/modest', 'modest')])
  const order = way.asked.slice(first).map(({ url }) => url)
  const before = order.slice(0, order.lastIndexOf('/modest')).filter((url) => url !== '/modest').length
  t.ok(before <= 4 + refilled + alone, `a plugin with many requests has no priority: ${order}`)
  await Promise.all(greedy)
  t.ok(performance.now() - at > ((14 - refilled) / 5) * 1_000 - 400, 'five a second')

  const wide = new HttpsEgress(way)
  const since = performance.now()
  const names = Array.from({ length: 13 }, (_, n) =>
    wide.fetch({ url: `https://n${n}.wide.example.org/` }, { ...POLICY, caller: `c${n}` }, forever()),
  )
  await Promise.all(names)
  t.ok(performance.now() - since >= 500, 'subdomains of one domain are one host: ten at once, and then five a second')
  t.ok(await closed())
})

t.test('queues are bounded and in order, and an aborted request leaves its queue', async (t) => {
  // The clock is fixed where nothing may be refilled.
  let held: number | null = performance.now()
  const now = () => held ?? performance.now()
  const limiter = new HostRateLimiter(now)
  const take = (caller: string, deadlineMs: number, signal = forever(), host = 'h') =>
    limiter.take({ host, caller, deadline: now() + deadlineMs, signal })
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
  t.match(await refusal(take('a', 500)), { own: 'rate_limited' }, 'three are queued before it')
  held = null
  await Promise.all(lines)
  t.same(order, ['a1', 'b1', 'a2', 'b2', 'a3'], 'plugins alternate, and no request waits for an aborted one')
  await t.rejects(take('a', 5_000, AbortSignal.abort()))
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `many${n}`)
  // The rate limit is full again.
  await sleep(2_100)
  held = performance.now()
  for (let n = 0; n < 10; n++) await take('a', 0)
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `others${n}`)
  let more = 0
  const isLetIn = () =>
    take('a', 0).then(
      () => true,
      () => false,
    )
  while (more < 10 && (await isLetIn())) more++
  t.equal(more, 0, 'many other hosts do not reset a host')

  const semaphore = new CallerSemaphore()
  const inside = await Promise.all(Array.from({ length: 6 }, () => semaphore.enter('a', forever())))
  const gone = new AbortController()
  const first = refusal(semaphore.enter('a', gone.signal))
  const entered: number[] = []
  const waiting = Array.from({ length: 63 }, async (_, n) => {
    const leave = await semaphore.enter('a', forever())
    entered.push(n)
    leave()
  })
  t.match(await refusal(semaphore.enter('a', forever())), { own: 'rate_limited' }, 'the queue is full')
  ;(await semaphore.enter('b', forever()))()
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
  const again = await Promise.all(Array.from({ length: 6 }, () => semaphore.enter('a', forever())))
  t.equal(again.length, 6, 'none was lost')
})

t.test('a stated rate binds its own plugin only, and raises none', async (t) => {
  // The clock is fixed, so that only the burst counts.
  let held: number | null = performance.now()
  const now = () => held ?? performance.now()
  const limiter = new HostRateLimiter(now)
  const stated: Record<string, HostRates> = {
    a: { 'slow.example.org': { perMinute: 30, burst: 2 }, '*.wide.example.org': { perMinute: 6 } },
    b: { 'slow.example.org': { perMinute: 60 }, 'fast.example.org': { perMinute: 3_000, burst: 100 } },
    d: { 'slow.example.org': { perMinute: 1 } },
  }
  const take = (caller: string, host: string, deadlineMs = 0, signal = forever()) =>
    limiter.take({ host, caller, rates: stated[caller], deadline: now() + deadlineMs, signal })
  const atOnce = async (caller: string, host: string): Promise<number> => {
    for (let times = 0; ; times++) if ((await take(caller, host).catch(() => null)) === null || times > 50) return times
  }
  t.equal(await atOnce('d', 'slow.example.org'), 1)
  t.match(await refusal(take('d', 'slow.example.org', 10_000)), { own: 'rate_limited', message: /may be sent in 60 s/ })
  t.equal(await atOnce('a', 'slow.example.org'), 2, 'its own burst, although another plugin has used up its one')
  t.match(await refusal(take('a', 'slow.example.org', 1_500)), { own: 'rate_limited', message: /may be sent in 2 s/ })
  t.equal(await atOnce('c', 'slow.example.org'), 7, 'all together, no more than the limit of the host')
  t.match(await refusal(take('b', 'slow.example.org', 100)), { own: 'rate_limited', message: /in 1 s/ }, 'also with a stated rate')
  t.equal(await atOnce('a', 'x.wide.example.org'), 1, 'the requests of ten seconds without a stated burst')
  t.equal(await atOnce('a', '*.wide.example.org'), 1)
  t.equal(await atOnce('a', 'wide.example.org'), 10, 'a wildcard does not cover its own domain')
  t.equal(await atOnce('a', 'xwide.example.org'), 10)
  t.equal(await atOnce('c', 'x.wide.example.org'), 9)
  t.equal(await atOnce('b', 'fast.example.org'), 10, 'no more than for any host')

  held += 1_000_000
  stated['a'] = { 'slow.example.org': { perMinute: 60, burst: 5 } }
  t.equal(await atOnce('a', 'slow.example.org'), 2, 'tokens until now count at the previous rate')
  const at = performance.now()
  held = null
  await limiter.take({ host: 'own', caller: 'a', rates: { own: { perMinute: 60 } }, deadline: now() + 5_000, signal: forever() })
  await Promise.all(
    [1, 2].map(() =>
      limiter.take({ host: 'own', caller: 'a', rates: { own: { perMinute: 60, burst: 1 } }, deadline: now() + 5_000, signal: forever() }),
    ),
  )
  t.ok(performance.now() - at > 1_000, 'one a second')
})

t.test('maxParallel limits requests of its plugin in flight: others wait in turn, and each end starts the next', async (t) => {
  const limiter = new HostRateLimiter()
  const rates = { h: { perMinute: 300, burst: 10, maxParallel: 2 } }
  const take = (deadlineMs = 5_000, signal = forever(), caller = 'a') =>
    limiter.take({ host: 'h', caller, ...(caller === 'a' && { rates }), deadline: performance.now() + deadlineMs, signal })
  const [first, second] = [await take(), await take()]
  const order: number[] = []
  const gone = new AbortController()
  const left = refusal(take(5_000, gone.signal))
  const waiting = [1, 2, 3].map(async (n) => {
    const leave = await take()
    order.push(n)
    return leave
  })
  ;(await take(0, forever(), 'b'))()
  // The rate would allow one by then.
  await sleep(300)
  t.same(order, [], 'although the rate would allow it')
  gone.abort()
  t.match(await left, { own: 'rate_limited' })
  first()
  first()
  first()
  await sleep(20)
  t.same(order, [1], 'releasing twice counts once')
  second()
  await sleep(20)
  t.same(order, [1, 2])
  for (const leave of [await waiting[0], await waiting[1]]) leave?.()
  ;(await waiting[2])?.()
  t.same(order, [1, 2, 3])
  for (const leave of await Promise.all([take(), take()])) leave()
  t.equal((await Promise.all([take(), take()])).length, 2, 'none was lost')
})

t.test('rates of a plugin apply to its requests, and failed, retried and redirected requests release their place', async (t) => {
  const released = Promise.withResolvers<void>()
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    if (request.url === '/broken') response.socket?.destroy()
    else if (request.url === '/away') response.writeHead(302, { location: '/' }).end()
    else if (request.url === '/busy') response.writeHead(429, { 'retry-after': '0' }).end()
    // Two of these take twice as long if one waits for the other.
    else if (request.url === '/slow') setTimeout(() => response.end('slow'), 200)
    else if (request.url === '/held') released.promise.then(() => response.end('held'))
    else if (request.url !== '/silent') response.end('fine')
  })
  const rates = {
    'api.example.org': { perMinute: 300, burst: 10, maxParallel: 1 },
    '*.wide.example.org': { perMinute: 60, maxParallel: 1 },
  }
  const get = (path: string, timeoutMs = 5_000) => fetch({ url: `https://api.example.org${path}`, timeoutMs }, { rates })
  t.equal((await refusal(get('/broken'))).own, 'upstream')
  t.equal((await refusal(get('/silent', 100))).own, 'timeout')
  t.equal((await get('/away')).url, 'https://api.example.org/')
  t.equal((await get('/busy')).status, 429)
  const at = performance.now()
  const both = await Promise.all([get('/slow'), get('/slow')])
  t.same(
    both.map(({ body }) => body),
    ['slow', 'slow'],
  )
  t.ok(performance.now() - at >= 395, 'one after another')
  const alone = get('/held')
  const other = await fetch({ url: 'https://api.example.org/' }, { caller: 'org.example.two' })
  t.equal(other.body, 'fine', 'another plugin does not wait for it')
  released.resolve()
  t.equal((await alone).body, 'held')
  const wide = (name: string) => fetch({ url: `https://${name}.wide.example.org/slow`, timeoutMs: 5_000 }, { rates })
  const since = performance.now()
  await Promise.all([wide('a'), wide('b')])
  t.ok(performance.now() - since >= 395, 'subdomains are one host for the stated rate')
  // A request with so little time may end before it is sent.
  t.equal(way.asked.filter(({ url }) => url !== '/silent').length, 11)
  t.ok(way.asked.length <= 12)
  t.ok(await closed())
})
