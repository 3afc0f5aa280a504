import t from 'tap'
import type { EditedUser } from '#core/account/user.ts'
import { openTestServer } from '#test/support/server.ts'
import { stopClock } from '#test/support/stopped-clock.ts'

const NEXT = 'another password 2'

t.test('a user changes their own password, and whoever else was let in by the old one is out', async (t) => {
  const server = await openTestServer(t)
  const { id, token } = await server.signUp({ username: 'mia' })
  const current = 'mia has a password'
  const login = async (password: string) =>
    await server.request<{ accessToken: string }>('POST', '/api/v1/auth/login', { body: { username: 'mia', password } })
  const put = (body: object, by = token) =>
    server.request<EditedUser & { error: string }>('PUT', '/api/v1/user/password', { token: by, body })
  const key = (await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token, body: { name: 'app' } })).json.key
  const other = (await login(current)).json.accessToken

  t.match(await put({ currentPassword: 'wrong', newPassword: NEXT }), {
    status: 401,
    json: { error: 'unauthorized', message: /current password/ },
  })
  t.equal((await put({ currentPassword: current, newPassword: 'short' })).status, 422)
  t.equal((await put({ newPassword: NEXT })).status, 400)
  t.equal((await put({ currentPassword: current, newPassword: NEXT, role: 'admin' })).status, 400)
  t.equal((await server.request('PUT', '/api/v1/user/password', { body: { currentPassword: current, newPassword: NEXT } })).status, 401)
  t.equal((await server.request('GET', '/api/v1/user', { token })).status, 200, 'what was refused ends nothing')

  const changed = await put({ currentPassword: current, newPassword: NEXT })
  t.match(changed, { status: 200, json: { id, username: 'mia', role: 'reader', apiKeysValid: 1 } })
  t.notMatch(changed.text, /argon2/)
  for (const old of [token, other])
    t.equal((await server.request('GET', '/api/v1/user', { token: old })).status, 401, 'every session has ended')
  t.equal((await server.request('GET', '/api/v1/books', { token: key })).status, 200, 'API keys stay')
  t.equal((await login(current)).status, 401)
  const fresh = (await login(NEXT)).json.accessToken
  t.match(await put({ currentPassword: NEXT, newPassword: current, revokeApiKeys: true }, fresh), {
    status: 200,
    json: { apiKeysValid: 0 },
  })
  t.equal((await server.request('GET', '/api/v1/books', { token: key })).status, 401)
})

t.test('existing clients change it at the address that they know, with legacy names on', async (t) => {
  const body = { currentPassword: 'mia has a password', newPassword: NEXT }
  const plain = await openTestServer(t)
  const there = await plain.signUp({ username: 'mia' })
  t.equal((await plain.request('POST', '/api/v1/auth/change-password', { token: there.token, body })).status, 404, 'nobody else has it')
  const server = await openTestServer(t, { settings: { compatibility: { legacyNames: true } } })
  const { id, token } = await server.signUp({ username: 'mia' })
  const post = (given: object) => server.request<EditedUser>('POST', '/api/v1/auth/change-password', { token, body: given })
  t.equal((await post({ ...body, currentPassword: 'wrong' })).status, 401)
  t.equal((await post({ ...body, newPassword: 'short' })).status, 422)
  t.equal((await server.request('POST', '/api/v1/auth/change-password', { body })).status, 401)
  t.match(await post(body), { status: 200, json: { id, username: 'mia' } })
  t.equal((await server.request('GET', '/api/v1/user', { token })).status, 401, 'every session has ended')
  t.equal((await server.request('POST', '/api/v1/auth/login', { body: { username: 'mia', password: NEXT } })).status, 200)
})

t.test('guesses at the current password are slowed down together with those at the sign-in', async (t) => {
  const server = await openTestServer(t)
  const { token } = await server.signUp({ username: 'mia' })
  stopClock(t)
  const guess = () =>
    server.request<{ error: string }>('PUT', '/api/v1/user/password', { token, body: { currentPassword: 'wrong', newPassword: NEXT } })
  const statuses: number[] = []
  for (let index = 0; index < 8; index++) statuses.push((await guess()).status)
  t.equal(statuses[0], 401)
  t.equal(statuses.at(-1), 429)
  const refused = await guess()
  t.match([refused.status, Number(refused.headers.get('retry-after')) >= 1, refused.json.error], [429, true, 'rate_limit_exceeded'])
  const right = { currentPassword: 'mia has a password', newPassword: NEXT }
  t.equal((await server.request('PUT', '/api/v1/user/password', { token, body: right })).status, 429, 'the right one waits too')
  const body = { username: 'mia', password: 'mia has a password' }
  t.equal((await server.request('POST', '/api/v1/auth/login', { body })).status, 429, 'at the sign-in from there as well')
})

t.test('of two changes at once one comes first, and the other was about a password that is gone', async (t) => {
  const server = await openTestServer(t)
  const { id } = await server.signUp({ username: 'mia' })
  const caller = (await server.accounts.callers.ofToken(
    (
      await server.accounts.login({ username: 'mia', password: 'mia has a password', address: '127.0.0.1' })
    ).accessToken,
    'token',
  ))!
  const change = (newPassword: string) =>
    server.accounts
      .changePassword(caller, { currentPassword: 'mia has a password', newPassword }, { address: '127.0.0.1', device: null })
      .then(
        () => 'changed',
        (error: { code: string }) => error.code,
      )
  const outcomes = await Promise.all([change('first of two'), change('second of two')])
  t.same(outcomes.filter((outcome) => outcome === 'changed').length, 1)
  t.ok(
    outcomes.some((outcome) => ['conflict', 'unauthorized'].includes(outcome)),
    outcomes.join(),
  )
  t.equal((await server.accounts.getUser(id)).username, 'mia')
})
