import t from 'tap'
import { openTestServer } from '#test/support/server.ts'

t.test('administrators see how often the server stood still', async (t) => {
  const worstAt = new Date('2026-01-01T00:00:00Z')
  const stalls = { count: 2, worstMs: 412, worstWork: 'request GET /api/v1/books 1', worstAt }
  const server = await openTestServer(t, { services: () => ({ stalls: () => stalls }) })
  const { status, json } = await server.request('GET', '/api/v1/metrics/server', { token: server.adminToken })
  t.equal(status, 200)
  t.match(json, { stalls: { ...stalls, worstAt: worstAt.toISOString() } })
  const reader = await server.signUp({ username: 'reader', role: 'reader' })
  t.equal((await server.request('GET', '/api/v1/metrics/server', { token: reader.token })).status, 403)
})
