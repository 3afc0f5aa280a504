import t from 'tap'
import { Passwords } from '#core/account/password.ts'
import type { SignedIn } from '#core/account/sign-in.ts'
import type { UserDetail, UserInfo } from '#core/account/user.ts'
import { leastCpuMs, processCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { ADMIN, openTestServer, type TestServer } from '#test/support/server.ts'
import { stopClock } from '#test/support/stopped-clock.ts'

interface Failure {
  error: string
  message: string
  requestId: string
}

t.test('login, by name or address, answers tokens and sets the cookie', async (t) => {
  const server = await openTestServer(t)
  for (const username of ['ada', 'ADA', 'ada@example.org']) {
    const answer = await server.request<SignedIn>('POST', '/api/v1/auth/login', { body: { username, password: ADMIN.password } })
    t.equal(answer.status, 200)
    t.match(answer.json, { tokenType: 'Bearer', expiresIn: 3600, user: { username: 'ada', role: 'admin', emailVerified: true } })
    t.match(
      answer.headers.getSetCookie().at(-1),
      new RegExp(`^auth_token=${answer.json.accessToken}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600$`),
    )
    t.equal(answer.headers.get('cache-control'), 'no-store')
    const claims = JSON.parse(Buffer.from(answer.json.accessToken.split('.')[1] ?? '', 'base64url').toString())
    t.match(claims, { sub: server.adminId, role: 'admin', jti: String, iat: Number, exp: claims.iat + 3600 })
    const me = await server.request<UserInfo>('GET', '/api/v1/auth/me', { token: answer.json.accessToken })
    t.same(me.json, answer.json.user)
  }
  const detail = await server.request<UserDetail>('GET', '/api/v1/user', { token: server.adminToken })
  t.match(detail.json, { id: server.adminId, sharingTags: [], isActive: true, lastLoginAt: String })
})

t.test('an unknown name, a wrong password and a disabled account get one answer', async (t) => {
  const server = await openTestServer(t)
  const { answers, gone } = await signInWrongly(server)
  t.same(new Set(answers.map(({ status, message }) => `${status} ${message}`)).size, 1)
  t.equal(answers[0]?.status, 401)
  t.equal((await server.request('GET', '/api/v1/auth/me', { token: gone.token })).status, 401, 'tokens of a disabled user are dead')
})

t.test('an unknown name, a wrong password and a disabled account cost a hash each', onlyCost, async (t) => {
  // What a request costs otherwise is far less, on any machine.
  const passwordCost = { memory: 65_536, passes: 3, parallelism: 1 }
  const server = await openTestServer(t, { passwordCost })
  const hashMs = await leastCpuMs(() => new Passwords(passwordCost).hash('whatever it is'))
  const { answers } = await signInWrongly(server, processCpuMs)
  t.ok(
    answers.every(({ ms }) => ms > hashMs / 2),
    'each costs a hash',
    { hashMs, answers },
  )
})

/** @param cpuMs is asked before and after each request */
async function signInWrongly(server: TestServer, cpuMs: () => number = () => 0) {
  const gone = await server.signUp({ username: 'gone' })
  await server.accounts.editUser(gone.id, { isActive: false }, null)
  const answers: { status: number; message: string; ms: number }[] = []
  for (const body of [
    { username: 'nobody', password: 'whatever it is' },
    { username: 'ada', password: 'not the password' },
    { username: 'gone', password: 'gone has a password' },
  ]) {
    const begun = cpuMs()
    const { status, json } = await server.request<Failure>('POST', '/api/v1/auth/login', { body })
    answers.push({ status, message: json.message, ms: cpuMs() - begun })
  }
  return { answers, gone }
}

t.test('credentials are taken where they belong', async (t) => {
  const server = await openTestServer(t)
  // Not the last letter: some of its bits say nothing.
  const altered = server.adminToken.replace(/.(?=.$)/, (letter) => (letter === 'x' ? 'y' : 'x'))
  const cookie = { cookie: `theme=dark; auth_token=${server.adminToken}` }
  const table: [name: string, path: string, headers: Record<string, string>, status: number][] = [
    ['nothing', '/api/v1/auth/me', {}, 401],
    ['bearer', '/api/v1/auth/me', { authorization: `bearer ${server.adminToken}` }, 200],
    ['cookie where allowed', '/api/v1/auth/me', cookie, 200],
    ['cookie elsewhere', '/api/v1/user', cookie, 401],
    ['bad bearer beside a good cookie', '/api/v1/auth/me', { ...cookie, authorization: 'Bearer nonsense' }, 401],
    ['basic', '/api/v1/auth/me', { authorization: `Basic ${btoa(`ada:${ADMIN.password}`)}` }, 401],
    ['altered token', '/api/v1/auth/me', { authorization: `Bearer ${altered}` }, 401],
    [
      'token without signature',
      '/api/v1/auth/me',
      { authorization: `Bearer ${btoa('{"alg":"none"}')}.${server.adminToken.split('.')[1]}.` },
      401,
    ],
    ['bad token on a public route', '/api/v1/info', { authorization: 'Bearer nonsense' }, 200],
  ]
  for (const [name, path, headers, status] of table) {
    const answer = await server.request<Failure>('GET', path, { headers })
    t.equal(answer.status, status, name)
    if (status === 401) t.match([answer.json.error, answer.headers.get('www-authenticate')], ['unauthorized', /^Bearer/], name)
  }
})

t.test('logout ends the session, its refresh token included, and no other', async (t) => {
  const server = await openTestServer(t)
  const login = () => server.request<SignedIn>('POST', '/api/v1/auth/login', { body: ADMIN_LOGIN })
  const [first, second] = [await login(), await login()]
  const out = await server.request('POST', '/api/v1/auth/logout', { token: first.json.accessToken })
  t.equal(out.status, 200)
  t.match(out.headers.get('set-cookie'), /^auth_token=; .*Max-Age=0/)
  const me = (token: string) => server.request('GET', '/api/v1/auth/me', { token })
  t.equal((await me(first.json.accessToken)).status, 401)
  t.equal((await me(second.json.accessToken)).status, 200)
  const refreshed = await server.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: first.json.refreshToken } })
  t.equal(refreshed.status, 401)
})

t.test('refresh tokens rotate; using one twice ends the family', async (t) => {
  const server = await openTestServer(t)
  const first = (await server.request<SignedIn>('POST', '/api/v1/auth/login', { body: ADMIN_LOGIN })).json
  const refresh = (refreshToken: string) => server.request<SignedIn>('POST', '/api/v1/auth/refresh', { body: { refreshToken } })
  const second = await refresh(first.refreshToken)
  t.equal(second.status, 200)
  t.not(second.json.refreshToken, first.refreshToken)
  t.match(second.headers.get('set-cookie'), /^auth_token=/)
  const me = (token: string) => server.request('GET', '/api/v1/auth/me', { token })
  t.equal((await me(second.json.accessToken)).status, 200)
  t.equal((await refresh(first.refreshToken)).status, 401, 'used before')
  t.equal((await refresh(second.json.refreshToken)).status, 401, 'and with it the whole family')
  t.equal((await me(second.json.accessToken)).status, 401, 'access tokens too, at once')
  t.equal((await refresh('rt_unknown')).status, 401)

  const third = (await server.request<SignedIn>('POST', '/api/v1/auth/login', { body: ADMIN_LOGIN })).json
  const race = await Promise.all(Array.from({ length: 5 }, () => refresh(third.refreshToken)))
  t.equal(race.filter(({ status }) => status === 200).length, 1, 'of five at once one wins')
})

t.test('guessing is slowed down per account', async (t) => {
  const server = await openTestServer(t)
  stopClock(t)
  const guess = (username: string) =>
    server.request<Record<string, unknown>>('POST', '/api/v1/auth/login', { body: { username, password: 'a wrong one' } })
  for (let count = 0; count < 5; count++) t.equal((await guess('ada')).status, 401)
  const answer = await guess('ada')
  t.equal(answer.status, 429)
  t.same(Object.keys(answer.json).sort(), ['error', 'message', 'retry_after'])
  t.equal(answer.json['error'], 'rate_limit_exceeded')
  t.equal(answer.headers.get('retry-after'), String(answer.json['retry_after']))
  const right = await server.request('POST', '/api/v1/auth/login', { body: ADMIN_LOGIN })
  t.equal(right.status, 429, 'the right password has to wait as well')
  t.equal((await guess('another')).status, 401, 'others are not concerned')
})

t.test('a device and an address that were signed in from before are known, within bounds', async (t) => {
  const server = await openTestServer(t)
  stopClock(t)
  const login = (password: string, cookie?: string) =>
    server.request('POST', '/api/v1/auth/login', {
      body: { username: ADMIN.username, password },
      ...(cookie && { headers: { cookie } }),
    })
  const cookieOf = (headers: Headers) => headers.getSetCookie().find((one) => one.startsWith('carrel_device='))
  const first = await login(ADMIN.password)
  const given = cookieOf(first.headers) ?? ''
  t.match(given, /^carrel_device=dev_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000$/)
  const cookie = given.split(';')[0] as string
  t.equal(cookieOf((await login('a wrong one')).headers), undefined, 'only for the right password')
  t.equal(cookieOf((await login(ADMIN.password, cookie)).headers)?.split(';')[0], cookie, 'it stays the same')
  for (let count = 0; count < 6; count++) await login('a wrong one')
  t.equal((await login(ADMIN.password)).status, 429, 'the address has guessed too often')
  t.equal((await login(ADMIN.password, `carrel_device=dev_${'x'.repeat(43)}`)).status, 429, 'not every device is known')
  t.equal((await login(ADMIN.password, cookie)).status, 200, 'this one is')
  const rows = await server.database('known_devices').select('mark')
  t.equal(rows.length, 2, 'the address and the device')
  t.notOk(
    rows.some(({ mark }) => cookie.includes(mark.toString('base64url')) || mark.includes('127.0.0.1')),
    'as hashes',
  )

  await server
    .database('known_devices')
    .insert(
      Array.from({ length: 60 }, (_, index) => ({ user_id: server.adminId, mark: Buffer.from([index]), last_used_at: new Date(index) })),
    )
  await login(ADMIN.password, cookie)
  t.equal((await server.database('known_devices').select('mark')).length, 50)
  await server.accounts.editUser(server.adminId, { password: 'another password' }, null)
  t.equal((await server.database('known_devices').select('mark')).length, 0, 'a new password forgets them')
})

const ADMIN_LOGIN = { username: ADMIN.username, password: ADMIN.password }

t.test('a name with a password in the request (curl -u) is told what is taken instead', async (t) => {
  const server = await openTestServer(t)
  const authorization = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`
  const answer = await server.request<Failure>('GET', '/api/v1/auth/me', { headers: { authorization } })
  t.match([answer.status, answer.json.message], [401, /HTTP Basic.*Authorization: Bearer.*X-API-Key/])
  t.match(answer.headers.get('www-authenticate'), /^Bearer/)
})
