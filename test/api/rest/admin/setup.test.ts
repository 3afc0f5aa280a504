import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { SignedIn } from '#core/account/sign-in.ts'
import type { DiskState } from '#core/database/disk-space.ts'
import { databaseProbe } from '#core/database/liveness-query.ts'
import { openTestServer } from '#test/support/server.ts'

const FIRST = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }

t.test('the first administrator is made once, however many try at once', async (t) => {
  const server = await openTestServer(t, { admin: false })
  const status = async () => (await server.request('GET', '/api/v1/setup/status')).json
  t.same(await status(), { setupRequired: true, hasUsers: false, registrationEnabled: false })
  t.equal((await server.request('POST', '/api/v1/setup/initialize', { body: { ...FIRST, password: 'short' } })).status, 422)
  t.equal((await server.request('POST', '/api/v1/setup/initialize', { body: { username: 'ada' } })).status, 400)
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      server.request<SignedIn & { message: string }>('POST', '/api/v1/setup/initialize', {
        body: { ...FIRST, username: `ada${index}`, email: `ada${index}@example.org` },
      }),
    ),
  )
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409])
  const winner = answers.find(({ status }) => status === 200)
  t.match(winner?.json, { tokenType: 'Bearer', expiresIn: 3600, refreshToken: /^rt_/, message: String, user: { role: 'admin' } })
  t.match(winner?.headers.get('set-cookie'), /^auth_token=/)
  t.equal((await server.request('GET', '/api/v1/users', { token: winner?.json.accessToken ?? '' })).status, 200)
  t.same(await status(), { setupRequired: false, hasUsers: true, registrationEnabled: false })
})

t.test('the operator may have made the administrator by settings', async (t) => {
  const server = await openTestServer(t, { admin: false })
  await t.rejects(server.accounts.ensureFirstAdmin({ username: 'op', password: 'short' }), { code: 'invalid_value', message: /password/ })
  await t.rejects(server.accounts.ensureFirstAdmin({ username: 'o@p', password: 'long enough' }), {
    code: 'invalid_value',
    message: /username/,
  })
  t.equal(await server.accounts.ensureFirstAdmin({ username: 'Op Erator', password: 'long enough' }), true)
  t.equal(await server.accounts.ensureFirstAdmin({ username: 'op2', password: 'long enough' }), false)
  t.match(await server.accounts.findUser('op erator'), { role: 'admin', email: 'Op-Erator@carrel.localhost' })
  t.equal(await server.accounts.findUser('op2'), null)
})

t.test('health tells what is wrong, info what this is', async (t) => {
  let pool = true
  let disk: DiskState = 'ok'
  const server = await openTestServer(t, {
    services: ({ database }) => ({
      databaseState: databaseProbe(database, { deadlineMs: 10_000 }),
      diskState: async () => disk,
      poolHealthy: () => pool,
    }),
  })
  t.match(await server.request('GET', '/health'), { status: 200, json: { status: 'ok', database: 'ok', disk: 'ok', pool: 'ok' } })
  pool = false
  const ill = await server.request('GET', '/health')
  t.equal(ill.status, 503)
  t.match(ill.json, {
    error: 'unavailable',
    message: /pool/,
    requestId: ill.headers.get('x-request-id'),
    details: { database: 'ok', pool: 'unavailable' },
  })
  pool = true
  disk = 'full'
  t.match(await server.request('GET', '/health'), { status: 503, json: { message: /disk .* full/, details: { disk: 'full', pool: 'ok' } } })
  disk = 'ok'
  t.match(await server.request('GET', '/api/v1/info'), { status: 200, json: { name: 'Carrel', version: /^\d+\.\d+\.\d+/ } })
  await server.database.destroy()
  // The last answer of the database is believed for a second.
  await sleep(1_100)
  const key = `carrel_${'0'.repeat(16)}_${'0'.repeat(64)}`
  for (const headers of [{}, { 'x-api-key': key }, { authorization: `Bearer ${server.adminToken}` }] as Record<string, string>[])
    t.match(await server.request('GET', '/health', { headers }), {
      status: 503,
      json: { error: 'unavailable', message: /database/, requestId: String, details: { database: 'unavailable', pool: 'ok' } },
    })
})
