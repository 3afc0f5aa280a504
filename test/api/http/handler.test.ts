import http from 'node:http'
import t from 'tap'
import { routes } from '#api/routes.ts'
import type { Permission } from '#core/account/permission.ts'
import { currentScope } from '#core/database/statement-scope.ts'
import { openProtocols } from '#test/support/composed-server.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { someOf } from '#test/support/lane-size.ts'
import { openTestServer, type TestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

const ID = '00000000-0000-4000-8000-000000000000'
const addressOf = (path: string) => path.replace(':prefix', 'komga').replace(/:\w+/g, ID)

interface Sent {
  status: number
  text: string
}

/** Sends a request without the last byte of its body; `finish` sends it. */
function sendMost(url: string, request: { method: string; headers: Record<string, string>; body: string }) {
  const { method, headers, body } = request
  let sent = (_: Sent) => {}
  const answered = new Promise<Sent>((resolve) => {
    sent = resolve
  })
  const length = String(Buffer.byteLength(body))
  const open = http.request(url, { method, headers: { ...headers, 'content-length': length } }, async (response) => {
    let text = ''
    for await (const chunk of response) text += chunk
    sent({ status: response.statusCode ?? 0, text })
  })
  open.on('error', (error) => sent({ status: 0, text: String(error) }))
  open.write(body.slice(0, -1))
  return {
    finish: () => {
      open.end(body.slice(-1))
      return answered
    },
  }
}

/** Says when the next caller has been found: from then on the request waits for its body. */
function watchCallers({ accounts: { callers } }: TestServer) {
  let next = () => {}
  for (const name of ['ofToken', 'ofApiKey', 'ofBasic', 'ofAppSession'] as const) {
    const find = callers[name].bind(callers) as (...given: unknown[]) => Promise<unknown>
    callers[name] = async (...given: unknown[]) => {
      const caller = await find(...given)
      if (caller !== null) next()
      return caller as never
    }
  }
  return () =>
    new Promise<void>((resolve) => {
      next = resolve
    })
}

interface Person {
  id: string
  name: string
  token: string
}
interface Credential {
  headers: Record<string, string>
  keyId: string | null
}

async function credentialOf(
  server: TestServer,
  person: Person,
  kind: 'token' | 'key' | 'basic' | 'session' | 'user-header',
): Promise<Credential> {
  const { accounts } = server
  const basic = `Basic ${Buffer.from(`${person.name}:${person.name} has a password`).toString('base64')}`
  if (kind === 'token') return { headers: { authorization: `Bearer ${person.token}` }, keyId: null }
  if (kind === 'basic') return { headers: { authorization: basic }, keyId: null }
  const caller = (await accounts.callers.ofToken(person.token, 'token'))!
  const { key, id: keyId } = await accounts.createApiKey({ name: 'a key' }, caller)
  if (kind === 'key') return { headers: { 'x-api-key': key }, keyId }
  if (kind === 'user-header') return { headers: { 'x-auth-user': key }, keyId }
  const session = await accounts.callers.beginAppSession((await accounts.callers.ofApiKey(key))!, { remembered: false })
  return { headers: { 'x-auth-token': session!.token }, keyId }
}

/** What may happen while a body arrives, and what the sender gets as the answer. */
const CHANGES: Record<string, { run: (server: TestServer, person: Person) => Promise<unknown>; told: 401 | 403 }> = {
  deleted: { run: ({ accounts }, { id }) => accounts.removeUser(id, null), told: 401 },
  disabled: { run: ({ accounts }, { id }) => accounts.editUser(id, { isActive: false }, null), told: 401 },
  demoted: { run: ({ accounts }, { id }) => accounts.editUser(id, { role: 'reader' }, null), told: 403 },
  'with a new password': {
    run: ({ accounts }, { id }) => accounts.editUser(id, { password: 'another long password', revokeApiKeys: true }, null),
    told: 401,
  },
}
const READER = new Set<Permission>(['progress-write', 'progress-read', 'api-keys-write', 'books-read', 'series-read'])

t.test('a caller who loses a right while the body is on its way may not use it, in any protocol', async (t) => {
  const server = await openTestServer(t)
  await enableKomga(server.database)
  await openProtocols(server.database)
  const nextCaller = watchCallers(server)
  const taking = routes.filter((route) => route.kind === 'endpoint' && (route.body || route.upload) && route.allow.who !== 'public')
  t.ok(taking.length > 80)
  for (const [index, route] of someOf('routes that take a body', taking, 30).entries()) {
    const { allow, method, path } = route
    const name = `walker${index}`
    const { id, token } = await server.signUp({ username: name, role: 'admin' })
    const kinds = [
      'token',
      'key',
      ...(allow.basic ? ['basic'] : []),
      ...(allow.session ? ['session'] : []),
      ...(allow.userHeader ? ['user-header'] : []),
    ]
    const kind = kinds[index % kinds.length] as 'token'
    const { headers } = await credentialOf(server, { id, name, token }, kind)
    const needed = [allow.who, ...(allow.also ?? [])] as Permission[]
    const staysAllowed = allow.who === 'user' || needed.every((permission) => READER.has(permission))
    const changes = Object.keys(CHANGES).filter((change) => change !== 'demoted' || !staysAllowed)
    const change = changes[Math.floor(index / kinds.length) % changes.length] as string
    const isForm = route.kind === 'endpoint' && route.upload !== undefined
    const type = isForm ? 'multipart/form-data; boundary=b' : 'application/json'
    const found = nextCaller()
    const sending = sendMost(server.url + addressOf(path), {
      method,
      headers: { ...headers, 'content-type': type },
      body: isForm ? '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nx\r\n--b--' : '{ }',
    })
    await found
    await CHANGES[change]!.run(server, { id, name, token })
    const { status, text } = await sending.finish()
    t.equal(status, CHANGES[change]!.told, `${method} ${path}, sent with a ${kind} by somebody ${change}: ${text}`)
  }
})

t.test('a session that is signed out, and a key that is deleted or ends, change nothing any more', async (t) => {
  const server = await openTestServer(t)
  const { accounts, url } = server
  const nextCaller = watchCallers(server)
  const { id, token } = await server.signUp({ username: 'mia', role: 'maintainer' })
  const caller = (await accounts.callers.ofToken(token, 'token'))!
  const send = async (authorization: string, end: () => Promise<unknown>) => {
    const found = nextCaller()
    const sending = sendMost(`${url}/api/v1/api-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${authorization}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'another' }),
    })
    await found
    await end()
    return (await sending.finish()).status
  }
  const key = async () => await accounts.createApiKey({ name: 'short' }, caller)
  const [deleted, narrowed, kept] = [await key(), await key(), await key()]
  t.equal(await send(deleted.key, () => accounts.removeApiKey(deleted.id, caller)), 401)
  t.equal(await send(narrowed.key, () => accounts.editApiKey(narrowed.id, { permissions: ['books-read'] }, caller)), 403)
  t.equal(await send(kept.key, async () => {}), 201, 'while others go on')
  const ending = new Date(Date.now() + 60_000)
  await accounts.editApiKey(kept.id, { expiresAt: ending.toISOString() }, caller)
  const end = () =>
    server
      .database('api_keys')
      .where({ id: kept.id })
      .update({ expires_at: new Date(0) })
  t.equal(await send(kept.key, () => end().then(() => accounts.callers.forget(id))), 401)
  t.equal(await send(token, () => accounts.logout(caller)), 401)
})

t.test('the statements of lists and searches count as such, and no others do', async (t) => {
  const { database, request, adminToken: token, adminId } = await openTestServer(t)
  let statements: boolean[] = []
  database.on('query', () => {
    const scope = currentScope()
    if (scope !== null) statements.push(scope.isList)
  })
  const ask = async (method: string, path: string) => {
    statements = []
    const { status } = await request(method, `/api/v1/${path}`, { token, ...(method === 'POST' && { body: { fullTextSearch: 'saga' } }) })
    return { status, isList: statements.some((one) => one) }
  }
  for (const path of ['books', 'series?page=2', 'users']) t.same(await ask('GET', path), { status: 200, isList: true }, path)
  t.same(await ask('POST', 'books/list'), { status: 200, isList: true }, 'a search')
  t.same(await ask('GET', `users/${adminId}`), { status: 200, isList: false })
  t.same(await ask('GET', `books/${ID}`), { status: 404, isList: false })
})
