import t from 'tap'
import { CHOSEN_SETTINGS } from '#core/settings/chosen-setting.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('settings are read, changed, told of, and given back', async (t) => {
  const supervisor = findSupervisor()
  const templates = openTemplates(supervisor)
  const server = await openTestServer(t, { services: () => ({ templates }) })
  const admin = <T = Record<string, never>>(method: string, path: string, body?: unknown) =>
    server.request<T>(method, `/api/v1${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  const key = 'display.custom_metadata_template'

  const { json: all } = await admin<{ key: string; value: string; version: number }[]>('GET', '/admin/settings')
  t.same(
    all.map((setting) => [setting.key, setting.value]),
    CHOSEN_SETTINGS.map((setting) => [setting.key, setting.fallback]),
  )
  t.match(await admin('GET', '/admin/settings?category=display'), { json: { length: 1 } })
  for (const { kind, fallback, lengthMax } of CHOSEN_SETTINGS) {
    t.ok(fallback.length <= lengthMax)
    if (kind === 'template') t.notMatch(await templates.read(fallback), { error: {} }, 'the default is a template')
  }
  const [shown] = await templates.renderMany(CHOSEN_SETTINGS.find((setting) => setting.key === key)?.fallback ?? '', [
    { customMetadata: { Shelf: 'B 12', Own_Field: [1, 2] } },
  ])
  t.same(shown, { output: '- **Shelf**: B 12\n- **Own_Field**: 1, 2\n' })

  const value = '{{#each customMetadata}}{{@key}}{{/each}}'
  t.match(await admin('PUT', `/admin/settings/${key}`, { value, changeReason: 'shorter' }), {
    status: 200,
    json: { value, version: 2, updatedBy: server.adminId },
  })
  t.match(await admin('PUT', `/admin/settings/${key}`, { value }), { json: { version: 2 } }, 'the same again changes nothing')
  t.match(await admin('GET', `/admin/settings/${key}/history`), {
    json: [{ key, newValue: value, changeReason: 'shorter', changedBy: server.adminId, ipAddress: '127.0.0.1' }],
  })
  t.match(await admin('POST', `/admin/settings/${key}/reset`, {}), { json: { version: 3, value: CHOSEN_SETTINGS[1]?.fallback } })
  t.match(await admin('GET', `/admin/settings/${key}/history?limit=1`), { json: { length: 1 } })

  t.match(await admin('PUT', `/admin/settings/${key}`, { value: 'x\n{{#if}}' }), {
    status: 422,
    json: { message: /line 2, column 1/, details: [{ path: '/value' }] },
  })
  t.equal((await admin('PUT', '/admin/settings/application.name', { value: '  ' })).status, 422)
  t.equal((await admin('PUT', '/admin/settings/application.name', { value: 'x'.repeat(101) })).status, 422)
  t.equal((await admin('PUT', '/admin/settings/application.name', { value: ['x'] })).status, 400)
  t.match(await admin('PUT', '/admin/settings/application.name', { value: 7 }), { status: 200, json: { value: '7' } })
  t.match(await admin('PUT', '/admin/settings/application.name', { value: 'Carrel' }), { status: 200 })
  const on = { value: 'true', valueType: 'boolean', maxValue: null }
  t.match(await admin('PUT', '/admin/settings/apiDocs.enabled', { value: true }), { status: 200, json: on }, 'JSON of the type')
  t.match(
    await admin('PUT', '/admin/settings/apiDocs.enabled', { value: ' false ' }),
    { status: 200, json: { value: 'false' } },
    'or a text',
  )
  t.equal((await admin('PUT', '/admin/settings/apiDocs.enabled', { value: 1 })).status, 422)
  t.equal((await admin('PUT', '/admin/settings/no.such', { value: 'x' })).status, 404)
  t.match(
    await admin('POST', '/admin/settings/bulk', {
      updates: [
        { key: 'application.name', value: 'Mine' },
        { key, value: '{{' },
      ],
    }),
    { status: 422, json: { details: [{ path: '/updates/1/value' }] } },
  )
  t.match((await admin('GET', '/admin/settings/application.name')).json, { value: 'Carrel' }, 'all or none')
  t.match(await admin('POST', '/admin/settings/bulk', { updates: [{ key: 'application.name', value: 'Mine' }] }), { status: 200 })
  t.match((await server.request('GET', '/api/v1/settings/branding')).json, { applicationName: 'Mine' })

  const reader = await server.signUp({ username: 'rita' })
  t.match((await server.request('GET', '/api/v1/settings/public', { token: reader.token })).json, {
    'application.name': { value: 'Mine' },
    [key]: { key },
  })
  t.equal((await server.request('GET', '/api/v1/admin/settings', { token: reader.token })).status, 403)
})
