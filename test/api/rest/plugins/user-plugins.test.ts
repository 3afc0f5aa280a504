import t from 'tap'
import { pluginOf } from '#test/support/plugins.ts'
import { openUserPluginServer, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

interface Own {
  pluginId: string
  enabled: boolean
  connected: boolean
  healthStatus: string
  requiresOauth: boolean
  oauthConfigured: boolean
  config: object
  userConfigSchema: { fields: { key: string }[] }
}

t.test('each reader has plugins of their own', async (t) => {
  const { install, as, signUp, adminToken, host, database, request } = await openUserPluginServer(t, (_request, response) =>
    sendJson(response, {}),
  )
  const member = { type: 'string', maxLength: 10 }
  const id = await install({
    userConfig: { type: 'object', properties: { maxRecommendations: { type: 'integer', minimum: 1, maximum: 100 }, word: member } },
  })
  const system = (await host.pluginLifecycle.install(packageOfMetadata(), { userId: null })).plugin.id
  const rita = as((await signUp({ username: 'rita' })).token)
  const otto = as((await signUp({ username: 'otto' })).token)
  type List = { enabled: Own[]; available: { pluginId: string; displayName: string }[] }

  const { json: before } = await rita<List>('GET', 'plugins')
  t.match(before, { enabled: [], available: [{ pluginId: id, displayName: 'Taste' }] }, 'only what is for readers is offered')
  t.equal(before.available.length, 1)
  t.equal((await rita('GET', `plugins/${id}`)).status, 404)
  t.equal((await rita('POST', `plugins/${system}/enable`)).status, 400, 'metadata is for administrators')
  t.equal((await rita('POST', `plugins/${'0'.repeat(8)}-0000-4000-8000-000000000000/enable`)).status, 404)
  t.match((await rita<Own>('POST', `plugins/${id}/enable`)).json, { pluginId: id, enabled: true, connected: true, config: {} })
  t.equal((await rita('POST', `plugins/${id}/enable`)).status, 409, 'once is enough')
  const { json: after } = await rita<List>('GET', 'plugins')
  t.same([after.enabled.length, after.available.length], [1, 0])
  t.same((await otto<List>('GET', 'plugins')).json.enabled, [], 'and nobody else has it')

  t.test('with settings that are checked', async (t) => {
    const path = `plugins/${id}/config`
    t.match((await rita<Own>('PATCH', path, { config: { maxRecommendations: 3 } })).json, {
      config: { maxRecommendations: 3 },
      userConfigSchema: { fields: [{ key: 'word' }, { key: 'maxRecommendations', type: 'integer', required: false }] },
    })
    for (const config of [
      { maxRecommendations: 500 },
      { other: 1 },
      { word: 'a\0b' },
      { word: 'a\ud800' },
      JSON.parse('{"__proto__":{"x":1}}'),
    ])
      t.match(await rita('PATCH', path, { config }), { status: /^4(00|22)$/, json: { error: /^invalid_(value|request)$/ } })
    t.equal((await otto('PATCH', path, { config: {} })).status, 404)
    t.match((await rita<Own>('GET', `plugins/${id}`)).json, { config: { maxRecommendations: 3 } }, 'what was wrong changed nothing')
  })

  t.test('takes no credentials that it has no use for, and says what it cannot do', async (t) => {
    t.match(await rita('POST', `plugins/${id}/credentials`, { accessToken: 'x' }), { status: 400, json: { error: 'invalid_request' } })
    t.match(await rita('POST', `plugins/${id}/oauth/start`), { status: 400, json: { error: 'invalid_request' } })
    t.match(await rita('POST', `plugins/${id}/sync`), { status: 409, json: { error: 'conflict' } })
    t.match(await rita('GET', `plugins/${id}/sync/status`), { status: 404, json: { error: 'not_found' } })
    t.equal((await otto('POST', `plugins/${id}/sync`)).status, 404)
    t.equal((await rita('GET', `plugins/${id}/tasks`)).status, 404, 'nothing was done yet')
    t.equal((await request('GET', '/api/v1/user/plugins')).status, 401)
  })

  t.test('is switched off and on, and taken away with all it has', async (t) => {
    t.match((await rita<Own>('POST', `plugins/${id}/disable`)).json, { enabled: false, config: { maxRecommendations: 3 } })
    t.match(
      (await rita<Own>('POST', `plugins/${id}/enable`)).json,
      { enabled: true, config: { maxRecommendations: 3 } },
      'what was set stayed',
    )
    const { id: userId } = (await request<{ id: string }>('GET', '/api/v1/auth/me', { token: adminToken })).json
    t.type(userId, 'string')
    await database('plugin_storage').insert({ plugin_id: id, user_id: userId, key: 'of another', value: '1' })
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 204)
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 404)
    t.same(await database('user_plugins').where('plugin_id', id), [])
    t.equal((await database('plugin_storage')).length, 1, 'what it keeps for others stays')
  })

  t.test('goes when an administrator stops it', async (t) => {
    await host.pluginLifecycle.setEnabled(id, false)
    t.same((await rita<List>('GET', 'plugins')).json.available, [])
    t.equal((await rita('POST', `plugins/${id}/enable`)).status, 404)
    t.equal((await as(adminToken)('POST', `plugins/${id}/enable`)).status, 404)
  })
})

const packageOfMetadata = () =>
  pluginOf(`export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: '1' }) } } }`)
