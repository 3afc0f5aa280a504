import t from 'tap'
import { deleteStorage, findStorageStats, listStorageStats, STORAGE_OWNERS_MAX } from '#plugins/host/plugin-storage-query.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.test('of a plugin with very many users, those with the most data are listed', async (t) => {
  const { database } = await openTestDatabase(t)
  const [plugin] = await database('plugins').insert({ key: 'org.example.many' }, 'id')
  const count = STORAGE_OWNERS_MAX + 20
  const users = Array.from({ length: count }, (_, at) => ({
    ...{ username: `reader${at}`, email: `reader${at}@example.org`, password_hash: 'x', role: 'reader' },
  }))
  const ids: { id: string }[] = await database('users').insert(users, 'id')
  await database('plugin_storage').insert(
    ids.map(({ id }, at) => ({ plugin_id: plugin.id, user_id: id, key: 'key', value: `"${'x'.repeat(at)}"`, data_version: 1 })),
  )
  const found = await findStorageStats(database, 'org.example.many')
  t.equal(found?.owners.length, STORAGE_OWNERS_MAX)
  t.match(found?.owners[0], { username: `reader${count - 1}`, rows: 1, bytes: count + 4 })
  const bytes = ids.reduce((sum, _, at) => sum + at + 5, 0)
  t.match(await listStorageStats(database), [{ pluginKey: 'org.example.many', rows: count, bytes }])
  t.equal(await findStorageStats(database, "org.example' OR true --"), null)
  t.equal(await deleteStorage(database, { pluginKey: 'org.example.none', userId: null }), null)
  t.same(await deleteStorage(database, { pluginKey: 'org.example.many', userId: null }), { rows: count, bytes })
})
