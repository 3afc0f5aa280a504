import { randomUUID } from 'node:crypto'
import t from 'tap'
import { pluginStorageRoutes } from '#api/rest/plugins/plugin-storage.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('what plugins keep is told and deleted', async (t) => {
  const { request, adminToken, adminId, signUp, database } = await openTestServer(t, { routes: pluginStorageRoutes })
  const ask = (method: string, path: string, token = adminToken) => request<never>(method, `/api/v1/admin/plugin-storage${path}`, { token })
  t.match(await ask('GET', ''), { status: 200, json: { plugins: [], totalBytes: 0, totalFileCount: 0 } })
  const reader = await signUp({ username: 'rita' })
  const [one, two] = await database('plugins').insert([{ key: 'org.example.one' }, { key: 'org.example.two' }], 'id')
  const row = (plugin_id: string, user_id: string | null, key: string, value: string, data_version = 1) => ({
    ...{ plugin_id, user_id, key, value, data_version },
  })
  await database('plugin_storage').insert([
    row(one.id, null, 'a', '"é"'),
    row(one.id, null, 'a', '"é"', 2),
    row(one.id, adminId, 'key', '123456'),
    row(one.id, reader.id, 'k', '1'),
    row(two.id, reader.id, 'k', '1'),
  ])
  t.match((await ask('GET', '')).json, {
    plugins: [
      { pluginName: 'org.example.one', fileCount: 4, totalBytes: 21 },
      { pluginName: 'org.example.two', fileCount: 1, totalBytes: 2 },
    ],
    ...{ totalBytes: 23, totalFileCount: 5 },
  })
  t.same((await ask('GET', '/org.example.one')).json, {
    ...{ pluginName: 'org.example.one', fileCount: 4, totalBytes: 21 },
    owners: [
      { userId: null, username: null, fileCount: 2, totalBytes: 10 },
      { userId: adminId, username: 'ada', fileCount: 1, totalBytes: 9 },
      { userId: reader.id, username: 'rita', fileCount: 1, totalBytes: 2 },
    ],
  })
  t.match(await ask('DELETE', `/org.example.one?userId=${randomUUID()}`), { status: 200, json: { filesDeleted: 0, bytesFreed: 0 } })
  t.match(await ask('DELETE', `/org.example.one?userId=${reader.id}`), {
    json: { filesDeleted: 1, bytesFreed: 2, failures: 0, errors: [] },
  })
  t.match(await ask('DELETE', '/org.example.one'), { json: { filesDeleted: 3, bytesFreed: 19 } })
  t.match(await ask('GET', '/org.example.one'), { json: { fileCount: 0, totalBytes: 0, owners: [] } })
  t.match(await ask('GET', '/org.example.two'), { json: { fileCount: 1 } }, 'of others nothing')
  for (const method of ['GET', 'DELETE']) {
    t.match(await ask(method, '/org.example.three'), { status: 404, json: { message: /org\.example\.three/ } })
    t.equal((await ask(method, '/org.example.two', reader.token)).status, 403)
  }
  t.equal((await ask('GET', '', reader.token)).status, 403)
  t.equal((await ask('DELETE', '/org.example.two?userId=x')).status, 400)
})
