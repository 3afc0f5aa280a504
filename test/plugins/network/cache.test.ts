import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { EgressResponse } from '#plugins/network/answer.ts'
import { cacheableSeconds, cacheKeyOf, isCacheable, ResponseCache } from '#plugins/network/cache.ts'
import type { EgressPolicy } from '#plugins/network/egress.ts'
import type { Hop } from '#plugins/network/request.ts'
import { openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

const hopOf = (change: Partial<Hop> = {}): Hop => ({
  url: new URL('https://api.example.org/books?q=1'),
  method: 'GET',
  headers: {},
  body: undefined,
  strayed: false,
  ...change,
})
/** At least a hundred years count as without limit. */
const UNSAID = 100 * 365 * 86_400

const answerOf = (change: Partial<EgressResponse> = {}): EgressResponse => ({
  ...{ status: 200, url: 'https://api.example.org/', headers: [['content-type', 'text/plain']], body: 'an answer' },
  ...change,
})

t.test('the cache headers of a service say how long its response is kept', (t) => {
  const now = Date.now()
  const later = (seconds: number) => new Date(now + seconds * 1000).toUTCString()
  for (const [headers, seconds] of [
    [{}, UNSAID],
    [{ 'cache-control': 'public' }, UNSAID],
    [{ 'cache-control': 'max-age=60' }, 60],
    [{ 'cache-control': 'Public, MAX-AGE="60"' }, 60],
    [{ 'cache-control': 'max-age=10, s-maxage=60' }, 60],
    [{ 'cache-control': 'max-age=60', age: '50' }, 10],
    [{ 'cache-control': 'max-age=60', age: '70' }, 0],
    [{ 'cache-control': 'max-age=60', expires: '0' }, 60],
    [{ 'cache-control': 'max-age=0' }, 0],
    [{ 'cache-control': 'max-age=-1' }, 0],
    [{ 'cache-control': 'max-age=soon' }, 0],
    [{ 'cache-control': 'max-age' }, 0],
    [{ 'cache-control': 'no-store' }, 0],
    [{ 'cache-control': 'no-cache' }, 0],
    [{ 'cache-control': 'max-age=60, private' }, 0],
    [{ 'cache-control': 'Private="x-key"' }, 0],
    [{ 'cache-control': 'must-revalidate , No-Store' }, 0],
    [{ pragma: 'no-cache' }, 0],
    [{ expires: '0' }, 0],
    [{ expires: later(-5) }, 0],
    [{ expires: later(3_600), date: later(0) }, 3_600],
    [{ vary: 'accept' }, UNSAID],
    [{ 'cache-control': 'max-age=60, stale-while-revalidate=600, stale-if-error=600' }, 60],
    [{ vary: 'accept, *' }, 0],
    [{ 'set-cookie': ['a=b'], 'cache-control': 'public, immutable, max-age=60' }, 0],
    [{ vary: '*' }, 0],
    [{ 'set-cookie': ['a=b'], 'cache-control': 'max-age=60' }, 0],
  ] as const)
    t.equal(Math.min(cacheableSeconds(headers as Parameters<typeof cacheableSeconds>[0]), UNSAID), seconds, JSON.stringify(headers))
  t.end()
})

t.test('two requests have the same key only if all their parts are equal', (t) => {
  const whole = { scope: 'plugin', hop: hopOf(), credential: undefined, rules: POLICY.rules, userAgent: 'Carrel' }
  const key = cacheKeyOf(whole)
  t.equal(cacheKeyOf({ ...whole, hop: hopOf() }), key)
  t.equal(
    cacheKeyOf({ ...whole, hop: hopOf({ headers: { a: '1', b: '2' } }) }),
    cacheKeyOf({ ...whole, hop: hopOf({ headers: { b: '2', a: '1' } }) }),
    'headers in any order',
  )
  const credential = { host: 'api.example.org', place: 'header', name: 'Authorization', value: 'Bearer secret-of-a-reader' } as const
  const others = [
    { scope: 'plugin/reader' },
    { scope: '' },
    { hop: hopOf({ url: new URL('https://api.example.org/books?q=2') }) },
    { hop: hopOf({ url: new URL('http://api.example.org/books?q=1') }) },
    { hop: hopOf({ headers: { accept: 'text/html' } }) },
    { hop: hopOf({ headers: { 'x-token': 'secret' } }) },
    { hop: hopOf({ headers: { 'x-token': 'other' } }) },
    { hop: hopOf({ headers: { a: 'b","c":"d' } }) },
    { hop: hopOf({ headers: { a: 'b', c: 'd' } }) },
    { credential },
    { credential: { ...credential, value: 'Bearer secret-of-another' } },
    { rules: POLICY.rules.slice(1) },
    { userAgent: 'Carrel of the next version' },
  ].map((change) => cacheKeyOf({ ...whole, ...change }))
  t.equal(new Set([key, ...others]).size, others.length + 1)
  t.notMatch(others.join(' '), /secret|example|Bearer/, 'a key reveals none of its parts')

  t.ok(isCacheable(hopOf()))
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE']) t.notOk(isCacheable(hopOf({ method })), method)
  for (const header of ['cache-control', 'pragma', 'range', 'if-none-match', 'if-modified-since'])
    t.notOk(isCacheable(hopOf({ headers: { [header]: 'x' } })), header)
  t.end()
})

t.test('valid responses are stored for the shorter time, up to the size limit', (t) => {
  let time = 0
  const cache = new ResponseCache(() => time)
  const fits = (key: string, response: EgressResponse, seconds = 60, secondsMax = 60) => {
    cache.store(key, response, { scope: 'a', seconds })
    return cache.find(key, secondsMax)
  }
  t.match(fits('a', answerOf()), { body: 'an answer', cached: true })
  t.equal(cache.find('b', 60), undefined)
  for (const status of [201, 204, 206, 301, 304, 400, 401, 403, 410, 429, 500, 503])
    t.equal(fits(`status ${status}`, answerOf({ status })), undefined, String(status))
  t.match(fits('absent', answerOf({ status: 404 })), { status: 404 })
  for (const seconds of [0, -1]) t.equal(fits(`for ${seconds}`, answerOf(), seconds), undefined)
  t.equal(fits('old', answerOf(), 60, 0), undefined)

  const given = cache.find('a', 60) as EgressResponse
  given.headers[0] = ['x', 'changed']
  given.body = 'changed'
  t.match(cache.find('a', 60), { body: 'an answer', headers: [['content-type', 'text/plain']] }, 'each caller gets a copy')

  for (const status of [200, 404]) cache.store(`kept ${status}`, answerOf({ status }), { scope: 'a', seconds: 86_400 })
  cache.store('brief', answerOf(), { scope: 'a', seconds: 5 })
  time = 5_000
  t.equal(cache.find('brief', 60), undefined, 'for the time that the service allows')
  t.equal(cache.find('kept 200', 5), undefined, 'and for the maximum age of the caller')
  t.ok(cache.find('kept 200', 6))
  time = 3_600_000
  t.equal(cache.find('kept 404', 86_400), undefined, 'a missing entry is stored for a shorter time')
  t.ok(cache.find('kept 200', 86_400))

  const half = 'x'.repeat(500 * 1024)
  t.ok(fits('large', answerOf({ body: half })))
  t.equal(fits('too large', answerOf({ body: half + half })), undefined)
  t.equal(fits('too many headers', answerOf({ headers: Array.from({ length: 100 }, () => ['x', 'y'.repeat(8_000)]) })), undefined)
  for (let n = 0; n < 40; n++) cache.store(`large ${n}`, answerOf({ body: half }), { scope: 'a', seconds: 60 })
  t.equal(cache.find('large', 60), undefined, 'the oldest is evicted')
  t.equal(Array.from({ length: 40 }, (_, n) => cache.find(`large ${n}`, 60)).filter(Boolean).length, 32)
  for (let n = 0; n < 6_000; n++) cache.store(`small ${n}`, answerOf({ body: '' }), { scope: 'a', seconds: 60 })
  t.equal(Array.from({ length: 6_000 }, (_, n) => cache.find(`small ${n}`, 60)).filter(Boolean).length, 5_000)
  t.end()
})

t.test('a response takes as much as all its texts, with those by which it is found and dropped', (t) => {
  const cache = new ResponseCache()
  const long = 'x'.repeat(500 * 1024)
  const count = (name: string) => Array.from({ length: 40 }, (_, n) => cache.find(`${name} ${n}`, 60)).filter(Boolean).length
  for (const [name, change, scope] of [
    ['url', { url: long }, 'a'],
    ['header', { headers: [['x', long]] }, 'a'],
    ['scope', {}, long],
  ] as [string, Partial<EgressResponse>, string][]) {
    for (let n = 0; n < 40; n++) cache.store(`${name} ${n}`, answerOf(change), { scope, seconds: 60 })
    t.equal(count(name), 32, name)
  }
  t.end()
})

t.test('responses are dropped by their scope', async (t) => {
  const cache = new ResponseCache()
  for (const scope of ['a', 'b']) cache.store(scope, answerOf(), { scope, seconds: 60 })
  cache.forget((scope) => scope === 'a')
  t.equal(cache.find('a', 60), undefined)
  t.ok(cache.find('b', 60))
})

t.test('a cached response is returned only for an equal request', async (t) => {
  let count = 0
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?')
    count += 1
    if (path === '/cookie') response.setHeader('set-cookie', 'session=1')
    if (path === '/store') response.setHeader('cache-control', decodeURIComponent(query))
    if (path === '/moved') response.writeHead(302, { location: '/there' })
    if (path === '/moved-for-you') response.writeHead(302, { location: '/there', 'set-cookie': 'session=1' })
    if (path === '/absent') response.statusCode = 404
    if (path === '/error') response.statusCode = 500
    // As from a service whose response depends on a header of an earlier request.
    response.end(`${count} ${request.headers['x-poison'] ?? ''}`)
  })
  const base = { cacheSeconds: 60, cacheScope: 'plugin-one' }
  const get = (path: string, policy: Partial<EgressPolicy> = {}, more: Record<string, unknown> = {}) =>
    fetch({ url: `https://api.example.org${path}`, ...more }, { ...base, ...policy })
  /** Whether the second response is the first one from the cache. */
  const again = async (path: string, policy?: Partial<EgressPolicy>, more?: Record<string, unknown>) => {
    const [first, second] = [await get(path), await get(path, policy, more)]
    const isSame = first.body === second.body
    t.equal(second.cached, isSame ? true : undefined)
    return isSame
  }
  t.ok(await again('/a'))
  t.match(way.asked, [{ url: '/a' }])
  t.equal(way.asked.length, 1)
  t.ok(await again('/absent'))
  t.ok(await again('/moved'))
  t.equal((await get('/moved')).url, 'https://api.example.org/there')
  t.notOk(await again('/a', { cacheScope: 'plugin-two' }), 'another plugin')
  t.notOk(await again('/a', { cacheScope: 'plugin-one/reader' }), 'a reader of it')
  // The rate limit has let its requests through again.
  await sleep(1_500)
  for (const [path, policy, more] of [
    ['/a', { cacheScope: undefined }],
    ['/a', { cacheSeconds: 0 }],
    ['/a', { cacheSeconds: undefined }],
    ['/a', { credential: { host: 'api.example.org', place: 'header' as const, name: 'X-Key', value: 'secret-of-a-reader' } }],
    ['/a', {}, { headers: { 'x-poison': 'poisoned' } }],
    ['/a', {}, { headers: { 'cache-control': 'no-cache' } }],
    ['/a?', {}],
  ] as const)
    t.not((await get(path, policy, more)).body, (await get('/a')).body, JSON.stringify([policy, more]))
  t.match(await get('/a'), { cached: true, body: /^1 $/ }, 'and the cached response is unchanged')
  // As above.
  await sleep(1_500)
  t.notOk(await again('/cookie'))
  t.notOk(await again('/moved-for-you'), 'nor the target of a personal redirect')
  t.notOk(await again('/error'))
  // As above.
  await sleep(1_500)
  t.notOk(await again('/store?private'))
  t.notOk(await again('/store?no-store'))
  t.ok(await again('/store?max-age%3D60'))

  const post = { method: 'POST', body: 'x' }
  t.not((await get('/post', {}, post)).body, (await get('/post', {}, post)).body)
  const asked = way.asked.length
  t.equal((await refusal(get('/a', { rules: [] }))).own, 'permission', 'a request that is no longer allowed gets no cached response')
  const ended = AbortSignal.abort()
  t.equal((await refusal(fetch('https://api.example.org/a', base, ended))).own, 'closed')
  t.equal(way.asked.length, asked)
  t.ok(await closed())
})
