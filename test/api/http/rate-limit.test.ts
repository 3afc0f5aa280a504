import fc from 'fast-check'
import t from 'tap'
import Type from 'typebox'
import { ClientAddress } from '#api/http/client-address.ts'
import { isExempt, RateLimiter } from '#api/http/rate-limit.ts'
import { routes as allRoutes } from '#api/routes.ts'
import { addressGroup, readAddress } from '#core/account/address.ts'
import type { NewApiKeyAnswer } from '#core/account/api-key.ts'
import { onRequestStatement } from '#test/support/request-statements.ts'
import { endpoint, stream } from '#test/support/route.ts'
import { ADMIN, openTestServer, testSettings } from '#test/support/server.ts'
import { stopClock } from '#test/support/stopped-clock.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const RATES = {
  enabled: true,
  anonymous: { perSecond: 10, burst: 50 },
  authenticated: { perSecond: 50, burst: 200 },
  pictures: { perSecond: 400, burst: 1500 },
}
/** So slow that nothing is refilled during a test. */
const SLOW = {
  enabled: true,
  anonymous: { perSecond: 0.01, burst: 3 },
  authenticated: { perSecond: 0.01, burst: 6 },
  pictures: { perSecond: 0.01, burst: 9 },
}

t.test('a bucket never gives more than burst plus rate times time, and never less to who waits', async (t) => {
  // In steps of a microsecond, finer than any clock that asks: much smaller ones are lost when they are added to the time.
  const wait = fc.integer({ min: 0, max: 5_000_000 }).map((microseconds) => microseconds / 1e6)
  const steps = fc.array(fc.record({ wait, asks: fc.integer({ min: 1, max: 80 }) }), {
    minLength: 1,
    maxLength: 40,
  })
  assertInTime(
    fc.property(steps, fc.double({ min: 0.1, max: 100, noNaN: true }), fc.integer({ min: 1, max: 60 }), (steps, perSecond, burst) => {
      let now = 100
      const limiter = new RateLimiter(
        { enabled: true, anonymous: { perSecond, burst }, authenticated: { perSecond: 1, burst: 1 }, pictures: { perSecond: 1, burst: 1 } },
        () => now,
      )
      const client = { kind: 'anonymous', id: 'a' } as const
      let given = 0
      for (const { wait, asks } of steps) {
        now += wait
        for (let ask = 0; ask < asks; ask++) {
          const peeked = limiter.peek(client)
          const taken = limiter.take(client)
          if (peeked.allowed !== taken.allowed) return false
          if (taken.allowed) given++
          if (taken.remaining < 0 || taken.remaining > burst || taken.limit !== burst) return false
          if ((taken.remaining === 0) !== taken.resetSeconds > 0) return false
          if (given > burst + (now - 100) * perSecond + 1e-6) return false
        }
        const { allowed, resetSeconds } = limiter.peek(client)
        if (!allowed) {
          // Whoever waits as long as told is let through.
          now += resetSeconds
          if (!limiter.peek(client).allowed) return false
        }
      }
      return true
    }),
    {
      numRuns: 300,
      // After the seconds that were told the tokens add up to a little less than one.
      examples: [
        [
          [
            { wait: 2.029238, asks: 1 },
            { wait: 3.127502, asks: 1 },
            { wait: 1.329547, asks: 1 },
          ],
          0.1,
          1,
        ],
      ],
    },
  )
  t.pass('held')
})

t.test('clients do not share buckets, except within one /64', async (t) => {
  const limiter = new RateLimiter(RATES, () => 0)
  for (let count = 0; count < 50; count++) t.ok(limiter.take({ kind: 'anonymous', id: '1.2.3.4' }).allowed)
  t.match(limiter.take({ kind: 'anonymous', id: '1.2.3.4' }), { allowed: false, limit: 50, remaining: 0, resetSeconds: 1 })
  t.match(limiter.take({ kind: 'anonymous', id: '1.2.3.5' }), { allowed: true, remaining: 49, resetSeconds: 0 })
  t.match(limiter.take({ kind: 'authenticated', id: '1.2.3.4' }), { limit: 200, remaining: 199 })
  t.equal(addressGroup('2001:db8:1:2:aaaa::1'), addressGroup('2001:db8:1:2:ffff:0:0:9'))
  t.not(addressGroup('2001:db8:1:2::1'), addressGroup('2001:db8:1:3::1'))
  t.equal(addressGroup('::ffff:10.0.0.1'), '10.0.0.1')
  t.equal(readAddress('::ffff:0a00:0001'), '10.0.0.1')
  t.equal(readAddress('::10.0.0.1'), '0:0:0:0:0:0:a00:1')
  t.equal(readAddress('64:ff9b::10.0.0.1'), '64:ff9b:0:0:0:0:a00:1')
  t.equal(readAddress('fe80::1%eth0'), 'fe80:0:0:0:0:0:0:1')
  t.equal(readAddress('nonsense'), null)
  t.same(['/health', '/api/v1/events', '/api/v1/events/stream', '/healthy', '/api/v1/eventsx', '/api/v1/books'].map(isExempt), [
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})

t.test('X-Forwarded-For counts only from our proxies, from the right', async (t) => {
  const addresses = new ClientAddress(['10.0.0.0/8', '192.168.1.7', 'fd00::/8'])
  const table: [socket: string, header: string | undefined, expected: string][] = [
    ['10.1.1.1', undefined, '10.1.1.1'],
    ['10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['203.0.113.1', '198.51.100.1', '203.0.113.1'],
    ['10.1.1.1', '1.1.1.1, 203.0.113.9, 192.168.1.7', '203.0.113.9'],
    ['10.1.1.1', '1.1.1.1, unknown, 10.2.2.2', '10.2.2.2'],
    ['10.1.1.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
    ['10.1.1.1', '203.0.113.9:5555', '203.0.113.9'],
    ['fd00::1', '[2001:db8::1]:443', '2001:db8:0:0:0:0:0:1'],
    ['10.1.1.1', '', '10.1.1.1'],
  ]
  for (const [socket, header, expected] of table) t.equal(addresses.find(socket, header), expected, `${socket} ${header}`)
  for (const entry of ['10.0.0.0/33', 'proxy', '10.0.0.0/', '::1/129', '1.2.3.4/x'])
    t.throws(() => new ClientAddress([entry]), /is not an address or a CIDR range/)
})

const routes = [
  endpoint({
    method: 'GET',
    path: '/free',
    summary: 'anybody',
    tag: 'test',
    allow: { who: 'public' },
    reply: Type.Null(),
    run: async () => null,
  }),
  endpoint({
    method: 'GET',
    path: '/cookie',
    summary: 'by cookie',
    tag: 'test',
    allow: { who: 'user', cookie: true },
    reply: Type.Null(),
    run: async () => null,
  }),
  endpoint({
    method: 'GET',
    path: '/basic',
    summary: 'by password',
    tag: 'test',
    allow: { who: 'user', basic: true },
    reply: Type.String(),
    run: async ({ caller }) => caller?.username ?? '',
  }),
  endpoint({
    method: 'GET',
    path: '/broken',
    summary: 'fails',
    tag: 'test',
    allow: { who: 'public' },
    run: () => Promise.reject(new TypeError('oops')),
  }),
  stream({
    path: '/health',
    summary: 'exempt',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['text/plain'],
    run: async () => ({ kind: 'bytes', bytes: Buffer.from('ok'), mediaType: 'text/plain', cacheControl: 'no-store' }),
  }),
]

t.test('headers on all responses, 429 with three members, exemptions', async (t) => {
  const server = await openTestServer(t, { routes, admin: false, settings: { rateLimit: SLOW } })
  const statuses: number[] = []
  for (const path of ['/free', '/nowhere', '/broken', '/free', '/nowhere', '/broken']) {
    const answer = await server.request<Record<string, unknown>>('GET', path)
    statuses.push(answer.status)
    t.equal(answer.headers.get('x-ratelimit-limit'), '3')
    t.match(answer.headers.get('x-ratelimit-remaining'), /^[0-2]$/)
    t.match(answer.headers.get('x-ratelimit-reset'), /^\d+$/)
    if (answer.status !== 429) continue
    const seconds = Number(answer.headers.get('retry-after'))
    t.ok(seconds > 0 && seconds <= 100)
    t.same(answer.json, {
      error: 'rate_limit_exceeded',
      message: `Too many requests. Please retry after ${seconds} seconds.`,
      retry_after: seconds,
    })
    t.equal(answer.headers.get('x-ratelimit-reset'), String(seconds))
  }
  t.same(statuses, [200, 404, 500, 429, 429, 429])
  for (let count = 0; count < 10; count++) {
    const exempt = await server.request('GET', '/health')
    t.match([exempt.status, exempt.headers.get('x-ratelimit-limit')], [200, '3'])
  }
  const raw = await server.raw('garbage\r\n\r\n')
  t.match(raw, /X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: \d+\r\n/)
  t.match(await server.raw('DELETE /free HTTP/1.1\r\nHost: ]\r\nConnection: close\r\n\r\n'), /X-RateLimit-Limit: 3/)
})

t.test('only verified users have a bucket of their own; bad credentials count for the address', async (t) => {
  const server = await openTestServer(t, { routes, settings: { rateLimit: SLOW } })
  const key: NewApiKeyAnswer = await server.accounts.createApiKey(
    { name: 'k' },
    (await server.accounts.callers.ofToken(server.adminToken, 'token'))!,
  )
  const left = async (path: string, headers: Record<string, string>) => {
    const answer = await server.request('GET', path, { headers })
    return `${answer.headers.get('x-ratelimit-remaining')}/${answer.headers.get('x-ratelimit-limit')} ${answer.status}`
  }
  t.equal(await left('/free', { authorization: `Bearer ${server.adminToken}` }), '5/6 200')
  t.equal(await left('/free', { 'x-api-key': key.key }), '4/6 200', 'the key is the same user')
  t.equal(await left('/cookie', { cookie: `auth_token=${server.adminToken}` }), '3/6 200', 'and so is the cookie')
  const forged = `${btoa('{"alg":"HS256"}')}.${btoa(JSON.stringify({ sub: server.adminId }))}.x`
  t.equal(await left('/free', { authorization: `Bearer ${forged}` }), '2/3 200', 'a forged token is the address')
  t.equal(await left('/cookie', { authorization: 'Bearer nonsense' }), '1/3 401')
  t.equal(await left('/cookie', { 'x-api-key': `${key.key.slice(0, -2)}00` }), '0/3 401')
  t.equal(await left('/free', {}), '0/3 429')
  t.equal(await left('/free', { 'x-api-key': key.key }), '2/6 200', 'a known key does not mind')
  const { key: fresh } = await server.accounts.createApiKey(
    { name: 'new' },
    (await server.accounts.callers.ofToken(server.adminToken, 'token'))!,
  )
  t.equal(await left('/free', { authorization: `Bearer ${fresh}` }), '1/6 200', 'and neither does one never seen before')
})

t.test('guessing keys has a bucket of its own, wherever the key stands', async (t) => {
  const server = await openTestServer(t, { routes, settings: { rateLimit: SLOW } })
  const caller = (await server.accounts.callers.ofToken(server.adminToken, 'token'))!
  const { key } = await server.accounts.createApiKey({ name: 'k' }, caller)
  const guess = (digit: number) => `carrel_${String(digit).repeat(16)}_${'0'.repeat(64)}`
  const ask = async (path: string, headers: Record<string, string>) => {
    const answer = await server.request('GET', path, { headers })
    return `${answer.headers.get('x-ratelimit-remaining')}/${answer.headers.get('x-ratelimit-limit')} ${answer.status}`
  }
  t.equal(await ask('/free', { 'x-api-key': key }), '5/6 200')
  await server.accounts.logout(caller)
  let lookups = 0
  onRequestStatement(server.database, (sql) => {
    if (sql.includes('api_keys')) lookups++
  })
  t.equal(await ask('/cookie', { 'x-api-key': guess(1) }), '2/3 401')
  t.equal(await ask('/cookie', { authorization: `Bearer ${guess(2)}` }), '1/3 401')
  t.equal(await ask('/cookie', { authorization: `Bearer ${key.slice(0, -2)}zz`, 'x-api-key': guess(3) }), '0/3 401')
  lookups = 0
  t.equal(await ask('/cookie', { authorization: `Bearer ${guess(4)}` }), '0/3 429')
  t.equal(
    await ask('/cookie', { authorization: `Bearer ${key.slice(0, -64)}${'0'.repeat(64)}`, 'x-api-key': guess(5) }),
    '0/3 429',
    'a known prefix before it hides no guess',
  )
  t.equal(await ask('/basic', { authorization: `XBasic ${btoa('ada:wrong')}` }), '0/3 429', 'passwords are guesses as well')
  t.equal(lookups, 0, 'no guess is looked up any more')
  t.equal(await ask('/basic', { authorization: `Basic ${btoa(`ada:${key}`)}` }), '4/6 200', 'but not a known key as password')
  t.equal(await ask('/free', {}), '2/3 200', 'whoever shows nothing is not touched by it')
  t.equal(await ask('/basic', { authorization: `Bearer ${key}` }), '3/6 200', 'nor is a known key, though another user signed out since')
})

t.test('exempt paths that anybody may ask look at no credential', async (t) => {
  const server = await openTestServer(t, { settings: { rateLimit: SLOW } })
  let lookups = 0
  onRequestStatement(server.database, (sql) => {
    if (/api_keys|users|sessions/.test(sql)) lookups++
  })
  const guess = (digit: number) => `carrel_${String(digit).repeat(16)}_${'0'.repeat(64)}`
  for (const path of ['/health', '/api/v1/events/nowhere'])
    for (let digit = 0; digit < 6; digit++) {
      const answer = await server.request('GET', path, { headers: { 'x-api-key': guess(digit) } })
      t.match([answer.status, answer.headers.get('x-ratelimit-remaining')], [path === '/health' ? 200 : 404, '3'])
    }
  await server.request('GET', '/health', { token: server.adminToken })
  t.equal(lookups, 0)
})

t.test('an exempt path that asks who is there limits guessing only', async (t) => {
  const events = endpoint({
    method: 'GET',
    path: '/api/v1/events',
    summary: 'exempt',
    tag: 'test',
    allow: { who: 'user' },
    reply: Type.Null(),
    run: async () => null,
  })
  const server = await openTestServer(t, { routes: [events], settings: { rateLimit: SLOW } })
  const statuses: number[] = []
  for (let digit = 0; digit < 5; digit++) {
    const headers = { 'x-api-key': `carrel_${String(digit).repeat(16)}_${'0'.repeat(64)}` }
    statuses.push((await server.request('GET', '/api/v1/events', { headers })).status)
  }
  t.same(statuses, [401, 401, 401, 429, 429])
  for (let count = 0; count < 10; count++)
    t.equal((await server.request('GET', '/api/v1/events', { token: server.adminToken })).status, 200)
})

t.test('switched off there are neither limits nor headers; a proxy may name the client', async (t) => {
  const off = await openTestServer(t, { routes, admin: false })
  for (let count = 0; count < 60; count++) {
    const answer = await off.request('GET', '/free')
    if (answer.status !== 200 || answer.headers.has('x-ratelimit-limit')) t.fail(`request ${count}`)
  }
  const behind = await openTestServer(t, { routes, admin: false, settings: { rateLimit: SLOW, trustedProxies: ['127.0.0.0/8'] } })
  const from = (address: string) =>
    behind.request('GET', '/free', { headers: { 'x-forwarded-for': address, 'x-request-id': 'trace-me-1' } })
  for (let count = 0; count < 3; count++) t.equal((await from('203.0.113.1')).status, 200)
  t.equal((await from('203.0.113.1')).status, 429)
  const other = await from('203.0.113.2')
  t.match([other.status, other.headers.get('x-request-id')], [200, 'trace-me-1'])
  t.not((await off.request('GET', '/free', { headers: { 'x-request-id': 'trace-me-1' } })).headers.get('x-request-id'), 'trace-me-1')
})

t.test('Basic, where a route takes it', async (t) => {
  const server = await openTestServer(t, { routes })
  const caller = (await server.accounts.callers.ofToken(server.adminToken, 'token'))!
  const { key } = await server.accounts.createApiKey({ name: 'reader' }, caller)
  const { id } = await server.accounts.createUser({ username: 'colin', email: 'colin@example.org', password: 'a:b:c:d:e' }, null)
  const basic = (username: string, password: string, path = '/basic') =>
    server.request<string>('GET', path, {
      headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    })
  t.equal((await basic('ada', ADMIN.password)).json, 'ada')
  t.equal((await basic('ada@example.org', ADMIN.password)).json, 'ada')
  t.equal((await basic('colin', 'a:b:c:d:e')).json, 'colin', 'passwords may hold colons')
  t.equal((await basic('whoever', key)).json, 'ada', 'an API key as password')
  let lookups = 0
  onRequestStatement(server.database, (sql) => {
    if (sql.includes('users')) lookups++
  })
  for (let count = 0; count < 20; count++) t.equal((await basic('colin', 'a:b:c:d:e')).status, 200)
  t.ok(lookups < 20, 'a verified password is remembered')
  const refused = await basic('colin', 'a')
  t.match([refused.status, refused.headers.get('www-authenticate')], [401, 'Basic realm="Carrel", charset="UTF-8"'])
  t.equal((await basic('colin', 'a:b:c:d:e', '/cookie')).status, 401, 'not elsewhere')
  await server.accounts.editUser(id, { password: 'another password' }, null)
  t.equal((await basic('colin', 'a:b:c:d:e')).status, 401, 'forgotten at once when it changes')
  t.equal((await basic('colin', 'another password')).status, 200)
  stopClock(t)
  for (let count = 0; count < 6; count++) await basic('ada', `wrong ${count}`)
  t.equal((await basic('ada', 'wrong again')).status, 429, 'guessing is throttled here as well')
  t.equal(testSettings().rateLimit.enabled, false)
})

t.test('a password is the same by JSON and by Basic, however many marks it has', async (t) => {
  const server = await openTestServer(t, { routes: [...routes.filter(({ path }) => path === '/basic'), ...allRoutes] })
  const password = `a${'\u0315\u0300'.repeat(20)} and ten letters`
  const body = { username: 'dora', email: 'dora@example.org', password }
  t.equal((await server.request('POST', '/api/v1/users', { token: server.adminToken, body })).status, 201)
  const login = (password: string) => server.request('POST', '/api/v1/auth/login', { body: { username: 'dora', password } })
  const basic = (password: string) =>
    server.request('GET', '/basic', { headers: { authorization: `Basic ${Buffer.from(`dora:${password}`).toString('base64')}` } })
  for (const by of [login, basic]) {
    t.equal((await by(password)).status, 200)
    t.equal((await by(password.replace('\u0315', ''))).status, 401, 'each mark counts')
  }
  const other = `b${'\u0300\u0315'.repeat(20)} and ten letters`
  const { id } = (await server.database('users').where({ username: 'dora' }).first('id')) as { id: string }
  const changed = await server.request('PATCH', `/api/v1/users/${id}`, { token: server.adminToken, body: { password: other } })
  t.equal(changed.status, 200)
  for (const by of [login, basic]) t.equal((await by(other)).status, 200, 'a changed one too')
})
