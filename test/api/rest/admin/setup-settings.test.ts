import t from 'tap'
import { openTestServer } from '#test/support/server.ts'

t.test('settings are chosen together after the first administrator was made, or not', async (t) => {
  const server = await openTestServer(t, { services: () => ({ templates: { read: async () => ({}) } as never }) })
  const token = server.adminToken
  const patch = (body: object, by = token) => server.request('PATCH', '/api/v1/setup/settings', { token: by, body })
  const read = async () =>
    (await server.request<{ settings: Record<string, string> }>('GET', '/api/v1/setup/settings', { token })).json.settings
  t.match(await read(), { 'application.name': 'Carrel', 'auth.registration_enabled': 'false' })
  const chosen = { 'application.name': 'Reading room', 'auth.registration_enabled': 'true' }
  t.match(await patch({ settings: chosen, skipConfiguration: true }), { status: 200, json: { settingsConfigured: 0 } })
  t.match(await read(), { 'application.name': 'Carrel' })
  t.match(await patch({ settings: chosen, skipConfiguration: false }), { status: 200, json: { settingsConfigured: 2, message: String } })
  t.match(await read(), chosen)
  t.match(await patch({ settings: { 'application.name': 'Other', 'auth.registration_enabled': 'maybe' }, skipConfiguration: false }), {
    status: 422,
    json: { details: [{ path: '/settings/auth.registration_enabled' }] },
  })
  t.equal((await patch({ settings: { 'no.such': 'x' }, skipConfiguration: false })).status, 404)
  t.match(await read(), chosen, 'all or none')
  t.equal((await patch({ settings: {} })).status, 400)
  const { token: reader } = await server.signUp({ username: 'mia', role: 'maintainer' })
  t.equal((await patch({ settings: {}, skipConfiguration: true }, reader)).status, 403)
})
