import t from 'tap'
import { addTestKey, setTestRule } from '#test/support/access-rules.ts'
import { addManySeries, openExportFixture } from '#test/support/export-fixture.ts'
import { addLibrary } from '#test/support/library-rows.ts'

t.setTimeout(60_000)

t.test('a key with a rule sees only exports that it has made, with what it may see', async (t) => {
  const { database, exports, libraryId, make, caller, newExport } = await openExportFixture(t)
  const adults = await addLibrary(database, { name: 'Adults' })
  await addManySeries(database, libraryId, 2)
  await addManySeries(database, adults, 3)
  const both = { libraryIds: [libraryId, adults], fields: ['title'] }
  const byUser = await make(both)
  const key = { ...caller, narrowedBy: await addTestKey(database, caller.userId) }
  t.equal((await exports.get(key, byUser.id)).id, byUser.id, 'a key without a rule sees those of its user')
  const early = await make(both, key)

  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [libraryId] })
  t.same(
    (await exports.list(key)).map(({ id }) => id),
    [early.id],
  )
  await t.rejects(exports.get(key, byUser.id), { code: 'not_found' }, 'that of its user is not there')
  await t.rejects(exports.findFile(key, byUser.id), { code: 'not_found' })
  await t.rejects(exports.remove(key, byUser.id), { code: 'not_found' })
  t.equal(await exports.mayDownload(key, byUser.id), false)
  t.same((await exports.get(key, early.id)).libraryIds, [libraryId], 'what the key may not see any more is not named')
  t.same((await exports.get(caller, early.id)).libraryIds, both.libraryIds)
  await t.rejects(exports.findFile(key, early.id), { code: 'conflict', message: /may not see any more/ })
  t.ok((await exports.findFile(caller, early.id)).path, 'its user may')

  const unknown = '00000000-0000-4000-8000-000000000000'
  const refused = (id: string) =>
    exports.create(key, newExport({ libraryIds: [id] })).then(String, ({ message }) => message.replace(id, '<id>'))
  t.equal(await refused(adults), 'There is no library <id>.')
  t.equal(await refused(adults), await refused(unknown))
  const made = await make({ fields: ['title'] }, key)
  t.equal(made.rowCount, 2)
  t.ok((await exports.findFile(key, made.id)).path)
  await database('series')
    .where('library_id', libraryId)
    .update({ library_id: adults, path: database.raw(`path || '-moved'`) })
  await t.rejects(exports.findFile(key, made.id), { code: 'conflict' }, 'its series were moved to a library that it may not see')
  t.equal(await exports.mayDownload(key, made.id), false, 'a download that is under way ends')

  await setTestRule(database, { user_id: caller.userId }, { age: { mode: 'up_to', years: 12, unrated: 'hide' } })
  await t.rejects(exports.findFile(caller, byUser.id), { code: 'conflict' }, 'a rule of ages hides the file from the user')
})

t.test('a key that was deleted while its request was read sees no export', async (t) => {
  const { database, exports, libraryId, make, caller } = await openExportFixture(t)
  await addManySeries(database, libraryId, 1)
  const byUser = await make({ fields: ['title'] })
  const key = { ...caller, narrowedBy: await addTestKey(database, caller.userId) }
  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [] })
  await database('api_keys').where('id', key.narrowedBy).delete()
  t.same(await exports.list(key), [])
  await t.rejects(exports.get(key, byUser.id), { code: 'not_found' })
  await t.rejects(exports.remove(key, byUser.id), { code: 'not_found' })
})
