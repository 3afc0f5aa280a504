import t from 'tap'
import { PREFERENCE_BYTES_MAX, PREFERENCES_MAX, type Preference } from '#core/account/preference.ts'
import { openTestServer } from '#test/support/server.ts'

interface Kept {
  preferences: Preference[]
  updated: number
}

t.test('what clients keep for a user comes back as it was, for that user alone', async (t) => {
  const server = await openTestServer(t)
  const ask = <T = Preference>(method: string, path = '', body?: unknown, token = server.adminToken) =>
    server.request<T>(method, `/api/v1/user/preferences${path}`, { token, ...(body !== undefined && { body }) })
  t.same((await ask<Kept>('GET')).json, { preferences: [] })
  t.equal((await ask('GET', '/ui.theme')).status, 404)
  const values: [key: string, value: unknown, type: string][] = [
    ['ui.theme', 'dark', 'string'],
    ['reader.fit', 3, 'integer'],
    ['reader.zoom', 1.25, 'float'],
    ['reader.double', false, 'boolean'],
    ['library:1/columns', ['title', null, { width: 20 }], 'json'],
    ['nothing', null, 'json'],
  ]
  for (const [key, value, valueType] of values) {
    const path = `/${encodeURIComponent(key)}`
    t.match(await ask('PUT', path, { value }), { status: 200, json: { key, value, valueType } }, key)
    t.strictSame((await ask('GET', path)).json.value, value, key)
  }
  const all = await ask<Kept>('PUT', '', { preferences: { 'ui.theme': 'light', b: { deep: [1, [2]] } } })
  t.match(all, { status: 200, json: { updated: 2, preferences: [{ key: 'b' }, { key: 'ui.theme', value: 'light' }] } })
  t.equal((await ask<Kept>('GET')).json.preferences.length, values.length + 1)
  t.same((await ask<Kept>('PUT', '', { preferences: {} })).json, { preferences: [], updated: 0 })

  const { token } = await server.signUp({ username: 'mia' })
  t.same((await ask<Kept>('GET', '', undefined, token)).json, { preferences: [] })
  t.equal((await ask('GET', '/ui.theme', undefined, token)).status, 404)
  t.match(await ask('DELETE', '/ui.theme', undefined, token), { status: 200, json: { deleted: false } })
  t.match(await ask('DELETE', '/ui.theme'), { status: 200, json: { deleted: true } })
  t.equal((await ask('GET', '/ui.theme')).status, 404)
})

t.test('values, keys and their number have limits', async (t) => {
  const server = await openTestServer(t)
  const token = server.adminToken
  const put = (key: string, value: unknown) =>
    server.request<{ error: string; details: unknown }>('PUT', `/api/v1/user/preferences/${encodeURIComponent(key)}`, {
      token,
      body: { value },
    })
  const putAll = (preferences: object) =>
    server.request<{ error: string; details: unknown; message: string }>('PUT', '/api/v1/user/preferences', {
      token,
      body: { preferences },
    })
  // Two quotes stand around the text.
  t.equal((await put('large', 'x'.repeat(PREFERENCE_BYTES_MAX - 2))).status, 200)
  t.match(await put('large', 'x'.repeat(PREFERENCE_BYTES_MAX - 1)), { status: 422, json: { details: [{ path: '/value' }] } })
  t.equal((await put('large', 'ü'.repeat(PREFERENCE_BYTES_MAX / 2))).status, 422, 'bytes count, not letters')
  t.equal((await put('large', 'x'.repeat(3 * PREFERENCE_BYTES_MAX))).status, 413)
  for (const key of [' ', '.hidden', 'a b', 'ä', 'a\n', `${'k'.repeat(201)}`])
    t.ok([400, 422].includes((await put(key, 1)).status), JSON.stringify(key))
  t.match(await put('no good', 1), { status: 422, json: { details: [{ path: '/key' }] } })
  t.match(await putAll({ fine: 1, 'no good': 2 }), { status: 422, json: { details: [{ path: '/preferences/no good' }] } })
  t.equal((await server.request('GET', '/api/v1/user/preferences/fine', { token })).status, 404, 'all or none')
  t.equal((await putAll({ __proto__: 1 })).status, 200, 'no member at all')
  const many = (count: number, from = 0) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${from + index}`, index]))
  t.equal((await putAll(many(PREFERENCES_MAX + 1))).status, 422)
  t.equal((await putAll(many(PREFERENCES_MAX - 1))).status, 200, 'one was there')
  t.match(await putAll(many(1, 1_000)), { status: 422, json: { message: /200/ } })
  t.equal((await putAll(many(5))).status, 200, 'those that are there may be changed')
  const racing = await Promise.all(Array.from({ length: 5 }, async (_, index) => (await put('large', index)).status))
  t.same(new Set(racing), new Set([200]))
  for (const body of [{}, { preferences: [] }, { preferences: { a: 1 }, more: 1 }])
    t.equal((await server.request('PUT', '/api/v1/user/preferences', { token, body })).status, 400, JSON.stringify(body))
  t.equal((await server.request('PUT', '/api/v1/user/preferences/a', { token, body: {} })).status, 400, 'null is a value, nothing is none')
})

t.test('all of a user together have a limit, which is what clients read when they start', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita' })
  const put = (key: string, value: unknown, token = rita.token) =>
    server.request<{ message: string }>('PUT', `/api/v1/user/preferences/${key}`, { token, body: { value } })
  const large = 'x'.repeat(PREFERENCE_BYTES_MAX - 2)
  for (let index = 0; index < 16; index++) t.equal((await put(`key${index}`, large)).status, 200)
  t.match(await put('more', 1), { status: 422, json: { message: /1048576 bytes.*delete some/s } })
  t.equal((await put('key0', 1)).status, 200, 'less in place of more')
  t.equal((await put('more', 1)).status, 200)
  t.equal((await put('theirs', large, server.adminToken)).status, 200, 'of each user')
})
