import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { SignedIn } from '#core/account/sign-in.ts'
import { cookiesOf, OWN_PAGE, openBrowser } from '#test/support/browsers.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

const LOGIN = { username: ADMIN.username, password: ADMIN.password }
const AS_COOKIE = { ...LOGIN, session: 'cookie' }
const OTHER = 'https://evil.example'

t.test('a browser gets a cookie instead of tokens, and all of the API accepts it', async (t) => {
  const server = await openTestServer(t)
  const answer = await server.request<SignedIn>('POST', '/api/v1/auth/login', { headers: OWN_PAGE, body: AS_COOKIE })
  t.equal(answer.status, 200)
  t.same(Object.keys(answer.json), ['user'], 'no token where scripts read it')
  const line = answer.headers.getSetCookie().find((one) => one.startsWith('carrel_session='))
  t.match(line, /^carrel_session=st_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000$/)
  t.equal(cookiesOf(answer).get('auth_token'), '', 'the cookie of somebody else is gone')
  const token = cookiesOf(answer).get('carrel_session') as string
  const rows = await server.database('browser_sessions').select('token_hash')
  t.same(rows, [{ token_hash: createHash('sha256').update(token).digest() }], 'only a hash is stored')
  const cookie = `theme=dark; carrel_session=${token}`
  for (const path of ['/api/v1/auth/me', '/api/v1/user', '/api/v1/users', '/api/v1/api-keys'])
    t.equal((await server.request('GET', path, { headers: { cookie } })).status, 200, path)
  const made = await server.request('POST', '/api/v1/api-keys', { headers: { cookie, ...OWN_PAGE }, body: { name: 'An app' } })
  t.equal(made.status, 201)
})

t.test('the cookie of a browser makes changes only for pages of this server', async (t) => {
  const server = await openTestServer(t, { settings: { corsOrigins: ['https://friend.example'] } })
  const { cookie } = await openBrowser(server, LOGIN)
  const own = new URL(server.url)
  const table: [headers: Record<string, string>, isOwn: boolean][] = [
    [{}, false],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ origin: server.url }, true],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER }, false],
    [{ 'sec-fetch-site': 'same-site', origin: server.url }, false],
    [{ origin: OTHER }, false],
    [{ origin: 'null' }, false],
    [{ origin: `http://evil.${own.host}` }, false],
    [{ origin: `http://${own.hostname}:1` }, false],
    [{ origin: `http://${own.host}.evil.example` }, false],
    // Its address was allowed to send tokens, not to use what a browser adds.
    [{ origin: 'https://friend.example', 'sec-fetch-site': 'cross-site' }, false],
    [{ origin: 'https://friend.example' }, false],
  ]
  for (const [headers, isOwn] of table) {
    const name = JSON.stringify(headers)
    const ask = { headers: { cookie, ...headers } }
    const made = await server.request<{ error: string }>('POST', '/api/v1/api-keys', { ...ask, body: { name } })
    t.equal(made.status, isOwn ? 201 : 403, name)
    t.equal((await server.request('PUT', '/api/v1/user/preferences/x', { ...ask, body: { value: 1 } })).status, isOwn ? 200 : 403, name)
    t.equal((await server.request('GET', '/api/v1/user', ask)).status, 200, `${name} reads`)
    const login = await server.request('POST', '/api/v1/auth/login', { headers, body: AS_COOKIE })
    t.equal(login.status, isOwn ? 200 : 403, `${name} signs in`)
    if (!isOwn) t.equal(login.headers.getSetCookie().length, 0)
  }
  const wrong = { ...AS_COOKIE, password: 'not the password' }
  t.equal(
    (await server.request('POST', '/api/v1/auth/login', { body: wrong })).status,
    403,
    'it does not learn whether a password was right',
  )
})

t.test('a header counts and not the cookie beside it', async (t) => {
  const server = await openTestServer(t)
  const { cookie } = await openBrowser(server, LOGIN)
  const mia = await server.signUp({ username: 'mia' })
  const me = async (headers: Record<string, string>) => {
    const { status, json } = await server.request<{ username: string }>('GET', '/api/v1/auth/me', { headers: { cookie, ...headers } })
    return status === 200 ? json.username : status
  }
  t.equal(await me({}), 'ada')
  t.equal(await me({ authorization: `Bearer ${mia.token}` }), 'mia')
  t.equal(await me({ authorization: 'Bearer nonsense' }), 401, 'an invalid one as well')
  t.equal(await me({ 'x-api-key': 'nonsense' }), 401)
  t.equal(await me({ authorization: `Basic ${btoa(`mia:mia has a password`)}` }), 401)
  const made = { headers: { cookie, authorization: `Bearer ${mia.token}` }, body: { value: 1 } }
  t.equal((await server.request('PUT', '/api/v1/user/preferences/x', made)).status, 200, 'it needs no Origin')
  const other = { cookie: `auth_token=${mia.token}; ${cookie}` }
  t.equal((await server.request<{ username: string }>('GET', '/api/v1/auth/me', { headers: other })).json.username, 'ada')
})

t.test('a sign-in begins a new session and ends the one that it replaces', async (t) => {
  const server = await openTestServer(t)
  const first = await openBrowser(server, LOGIN)
  const planted = `carrel_session=st_${'x'.repeat(43)}`
  const headers = { ...OWN_PAGE, cookie: planted }
  const second = cookiesOf(await server.request('POST', '/api/v1/auth/login', { headers, body: AS_COOKIE })).get('carrel_session')
  t.not(`carrel_session=${second}`, planted, 'nobody can choose the token')
  t.equal((await server.request('GET', '/api/v1/user', { headers: { cookie: planted } })).status, 401)
  const wrong = { ...AS_COOKIE, password: 'not the password' }
  t.equal((await first.request('POST', '/api/v1/auth/login', { body: wrong })).status, 401)
  t.equal((await first.request('GET', '/api/v1/user')).status, 200, 'a wrong password ends nothing')
  const third = await first.request('POST', '/api/v1/auth/login', { body: AS_COOKIE })
  t.equal(third.status, 200)
  t.equal((await first.request('GET', '/api/v1/user')).status, 401)
  t.equal((await server.request('GET', '/api/v1/user', { headers: { cookie: `carrel_session=${second}` } })).status, 200, 'others stay')
})

t.test('signing out ends the session in all tabs and clears the cookies', async (t) => {
  const server = await openTestServer(t)
  const [here, elsewhere] = [await openBrowser(server, LOGIN), await openBrowser(server, LOGIN)]
  const tabs = await Promise.all([here, here].map((tab) => tab.request('GET', '/api/v1/user')))
  t.same(
    tabs.map(({ status }) => status),
    [200, 200],
  )
  const out = await here.request('POST', '/api/v1/auth/logout')
  t.equal(out.status, 200)
  t.same(Object.fromEntries(cookiesOf(out)), { auth_token: '', carrel_session: '' })
  t.match(out.headers.getSetCookie(), [/Max-Age=0/, /Max-Age=0/])
  t.equal((await here.request('GET', '/api/v1/user')).status, 401)
  t.equal((await here.request('POST', '/api/v1/api-keys', { body: { name: 'late' } })).status, 401)
  t.equal((await elsewhere.request('GET', '/api/v1/user')).status, 200)
})

t.test('the session ends with the account, its activity and its password', async (t) => {
  const server = await openTestServer(t)
  for (const end of [
    (id: string) => server.accounts.editUser(id, { isActive: false }, null),
    (id: string) => server.accounts.editUser(id, { password: 'another long password' }, null),
    (id: string) => server.accounts.removeUser(id, null),
  ]) {
    const { id } = await server.signUp({ username: 'mia' })
    const browser = await openBrowser(server, { username: 'mia', password: 'mia has a password' })
    t.equal((await browser.request('GET', '/api/v1/user')).status, 200)
    await end(id)
    t.equal((await browser.request('GET', '/api/v1/user')).status, 401)
    t.equal((await browser.request('GET', '/api/v1/events')).status, 401)
    await server.database('users').where({ id }).delete()
  }
})

t.test('behind TLS the name of the cookie keeps other hosts of the domain from setting it', async (t) => {
  const server = await openTestServer(t, { settings: { cookieSecure: true } })
  const answer = await server.request('POST', '/api/v1/auth/login', { headers: OWN_PAGE, body: AS_COOKIE })
  const line = answer.headers.getSetCookie().find((one) => one.includes('carrel_session'))
  t.match(line, /^__Host-carrel_session=st_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000; Secure$/)
  const token = cookiesOf(answer).get('__Host-carrel_session')
  const me = (cookie: string) => server.request('GET', '/api/v1/auth/me', { headers: { cookie } })
  t.equal((await me(`__Host-carrel_session=${token}`)).status, 200)
  t.equal((await me(`carrel_session=${token}`)).status, 401, 'other hosts can set this one')
  const own = { cookie: `__Host-carrel_session=${token}`, origin: server.url.replace('http:', 'https:') }
  t.match((await server.request('POST', '/api/v1/auth/logout', { headers: own })).headers.getSetCookie(), [/Secure/, /^__Host-.*Secure$/])
})

t.test('the first administrator, and who registers, get a session in the browser as well', async (t) => {
  const server = await openTestServer(t, { admin: false })
  await server.database('chosen_settings').insert({ key: 'auth.registration_enabled', value: 'true' })
  for (const [path, user] of [
    ['/api/v1/setup/initialize', ADMIN],
    ['/api/v1/auth/register', { username: 'rita', email: 'rita@example.org', password: 'rita has a password' }],
  ] as const) {
    const body = { ...user, session: 'cookie' }
    for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: OTHER }] as Record<string, string>[])
      t.equal((await server.request('POST', path, { headers, body })).status, 403, `${path} ${JSON.stringify(headers)}`)
    const made = await server.request<{ message: string }>('POST', path, { headers: OWN_PAGE, body })
    t.match(made.json, { message: RegExp(user.username), user: { username: user.username } }, path)
    t.same(Object.keys(made.json).sort(), ['message', 'user'])
    const cookie = `carrel_session=${cookiesOf(made).get('carrel_session')}`
    t.match((await server.request('GET', '/api/v1/user', { headers: { cookie } })).json, { username: user.username })
  }
})

t.test('asking who is signed in renews the cookie, and no other request does', async (t) => {
  const server = await openTestServer(t)
  const { cookie, request } = await openBrowser(server, LOGIN)
  const renewed = await request('GET', '/api/v1/auth/me')
  t.equal(renewed.headers.getSetCookie().join(), `${cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000`)
  t.equal((await request('GET', '/api/v1/user')).headers.getSetCookie().length, 0)
  t.equal((await server.request('GET', '/api/v1/auth/me', { token: server.adminToken })).headers.getSetCookie().length, 0)
  const beside = { cookie, authorization: `Bearer ${server.adminToken}` }
  t.equal((await server.request('GET', '/api/v1/auth/me', { headers: beside })).headers.getSetCookie().length, 0, 'the header counts')
})

t.test('the session lasts from its last use, and not from the sign-in', async (t) => {
  const server = await openTestServer(t, { settings: { refreshTokenDays: 3 } })
  const browser = await openBrowser(server, LOGIN)
  const age = async (days: number) => {
    await server.accounts.callers.recordUses()
    await server.database.raw('UPDATE sessions SET expires_at = expires_at - make_interval(days => ?)', [days])
    server.accounts.callers.forget()
    return (await browser.request('GET', '/api/v1/user')).status
  }
  for (const day of [2, 4, 6]) t.equal(await age(2), 200, `day ${day}`)
  t.equal(await age(4), 401)
})

t.test('event streams take the session and end with it', async (t) => {
  const { url, services } = await openComposedServer(t)
  const login = { username: 'ada', password: 'a long enough password' }
  await services.accounts.createUser({ ...login, username: 'mia', email: 'mia@example.org' }, null)
  const { cookieToken } = await services.accounts.login(
    { ...login, username: 'mia', address: '127.0.0.1' },
    { kind: 'cookie', userAgent: null },
  )
  const headers = { cookie: `carrel_session=${cookieToken}` }
  const stream = await fetch(`${url}/api/v1/events`, { headers })
  t.match([stream.status, stream.headers.get('content-type')], [200, /event-stream/])
  // Like every answer whose credential has ended, it is cut off.
  const ended = stream.text().catch(() => 'cut off')
  t.equal((await fetch(`${url}/api/v1/auth/logout`, { method: 'POST', headers: { ...headers, ...OWN_PAGE } })).status, 200)
  t.type(await ended, 'string', 'the stream has ended')
  t.equal((await fetch(`${url}/api/v1/events`, { headers })).status, 401)
})

t.test('a session that ends while a body arrives changes nothing', async (t) => {
  const server = await openTestServer(t)
  const browser = await openBrowser(server, LOGIN)
  const body = JSON.stringify({ name: 'late' })
  const head = `POST /api/v1/api-keys HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nCookie: ${browser.cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  const socket = net.connect({ port: server.port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(head)
  // Until the server has looked for the session.
  while (!server.accounts.callers.knowsBrowserSession(browser.cookie.slice('carrel_session='.length))) await sleep(10)
  t.equal((await browser.request('POST', '/api/v1/auth/logout')).status, 200)
  socket.write(body)
  await once(socket, 'close')
  t.match(answer, /^HTTP\/1.1 401 /)
  t.same(await server.database('api_keys').select(), [])
})

t.test('tokens are refused as cookies, and cookies as tokens', async (t) => {
  const server = await openTestServer(t)
  const { json } = await server.request<SignedIn>('POST', '/api/v1/auth/login', { body: LOGIN })
  const { cookie } = await openBrowser(server, LOGIN)
  const token = cookie.slice('carrel_session='.length)
  for (const stolen of [json.refreshToken, json.accessToken, '', 'st_', `${token}x`, token.slice(0, -1)])
    t.equal((await server.request('GET', '/api/v1/user', { headers: { cookie: `carrel_session=${stolen}` } })).status, 401, stolen)
  t.equal((await server.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: token } })).status, 401)
  t.equal((await server.request('GET', '/api/v1/user', { token })).status, 401)
  t.equal((await server.request('GET', '/api/v1/auth/me', { headers: { cookie: `auth_token=${token}` } })).status, 401)
  for (const path of ['/opds/v2', '/opds/v2/libraries'])
    t.equal((await server.request('GET', path, { headers: { cookie } })).status, 401, `${path} takes no session of a browser`)
})

t.test('an unknown session is refused', async (t) => {
  const server = await openTestServer(t)
  const asked = await server.request('POST', '/api/v1/auth/login', { headers: OWN_PAGE, body: { ...LOGIN, session: 'forever' } })
  t.equal(asked.status, 422)
  t.equal((await server.request('POST', '/api/v1/auth/login', { body: { ...LOGIN, session: 'tokens' } })).status, 200)
})
