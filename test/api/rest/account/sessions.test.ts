import t from 'tap'
import type { NewApiKeyAnswer } from '#core/account/api-key.ts'
import type { Session } from '#core/account/session.ts'
import type { SignedIn } from '#core/account/sign-in.ts'
import { openBrowser } from '#test/support/browsers.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

interface SessionList {
  data: Session[]
  total: number
}

const LOGIN = { username: ADMIN.username, password: ADMIN.password }

t.test('people list their sessions and end each of them', async (t) => {
  const server = await openTestServer(t)
  await server.database('sessions').delete()
  const phone = await openBrowser(server, LOGIN, { userAgent: 'A phone' })
  const desk = await openBrowser(server, LOGIN, { userAgent: `A desk ${'x'.repeat(1000)}` })
  const app = await server.request<SignedIn>('POST', '/api/v1/auth/login', { headers: { 'user-agent': 'An app' }, body: LOGIN })
  const mia = await server.signUp({ username: 'mia' })
  const listed = await phone.request<SessionList>('GET', '/api/v1/auth/sessions')
  t.equal(listed.status, 200)
  t.equal(listed.json.total, 3, 'nobody else')
  const of = (start: string) => listed.json.data.find(({ userAgent }) => userAgent?.startsWith(start)) as Session
  t.match(of('A phone'), { kind: 'browser', isCurrent: true, createdAt: String, lastUsedAt: String })
  t.match(of('A desk'), { kind: 'browser', isCurrent: false })
  t.equal(of('A desk').userAgent?.length, 300)
  t.match(of('An app'), { kind: 'tokens', isCurrent: false })
  const page = await phone.request<SessionList>('GET', '/api/v1/auth/sessions?page=2&pageSize=2')
  t.match(page.json, { total: 3, data: [{ id: String }] })

  const end = (id: string) => phone.request('DELETE', `/api/v1/auth/sessions/${id}`)
  t.equal((await end(of('A desk').id)).status, 204)
  t.equal((await desk.request('GET', '/api/v1/user')).status, 401)
  t.equal((await end(of('A desk').id)).status, 404, 'it has ended')
  t.equal((await end(of('An app').id)).status, 204)
  t.equal((await server.request('GET', '/api/v1/user', { token: app.json.accessToken })).status, 401)
  t.equal((await server.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: app.json.refreshToken } })).status, 401)
  const others = await server.request<SessionList>('GET', '/api/v1/auth/sessions', { token: mia.token })
  t.equal((await end(others.json.data[0]?.id as string)).status, 404, 'that of another user, even for an administrator')
  t.equal((await server.request('GET', '/api/v1/user', { token: mia.token })).status, 200)
  t.equal((await phone.request<SessionList>('GET', '/api/v1/auth/sessions')).json.total, 1)
  t.equal((await end(of('A phone').id)).status, 204)
  t.equal((await phone.request('GET', '/api/v1/user')).status, 401, 'also the one that asked')
})

t.test('an API key neither lists nor ends sessions', async (t) => {
  const server = await openTestServer(t)
  const { json } = await server.request<NewApiKeyAnswer>('POST', '/api/v1/api-keys', { token: server.adminToken, body: { name: 'An app' } })
  const [own] = (await server.request<SessionList>('GET', '/api/v1/auth/sessions', { token: server.adminToken })).json.data
  for (const [method, path] of [
    ['GET', '/api/v1/auth/sessions'],
    ['DELETE', `/api/v1/auth/sessions/${own?.id}`],
  ] as const)
    t.match(await server.request(method, path, { token: json.key }), { status: 403, json: { message: /API key/ } }, method)
  t.equal((await server.request('GET', '/api/v1/user', { token: server.adminToken })).status, 200)
})
