import t from 'tap'
import { announceListed, getAccess, setAccess } from '#core/account/access-store.ts'
import { createApiKey } from '#core/account/edit-api-key.ts'
import { setGrant } from '#core/account/sharing-store.ts'
import { deleteLibraryRows } from '#core/catalog/library-content-store.ts'
import { ALL, openFamily } from '#test/support/family.ts'
import { addCaller } from '#test/support/library-rows.ts'

t.setTimeout(60_000)

t.test('a rule belongs to the transaction that sets it', async (t) => {
  const { database, rita, kids } = await openFamily(t)
  const rule = { allLibraries: false, libraryIds: [kids], age: null }
  const failing = database.transaction(async (trx) => {
    t.match(await setAccess(trx, null, rita.id, rule), rule)
    throw new Error('taken back')
  })
  await t.rejects(failing, /taken back/)
  t.match(await getAccess(database, rita.id), ALL)
  const refused = database.transaction(async (trx) => {
    await setAccess(trx, null, rita.id, rule)
    await setAccess(trx, null, rita.id, { ...rule, libraryIds: [kids, kids] })
  })
  await t.rejects(refused, { code: 'invalid_value' })
  t.match(await getAccess(database, rita.id), ALL)
})

t.test('of a rule and the role of an administrator, given at the same time, one is refused', async (t) => {
  const { server, database, kids } = await openFamily(t)
  for (let turn = 0; turn < 6; turn++) {
    const { id } = await server.signUp({ username: `user-${turn}` })
    const outcomes = await Promise.allSettled([
      setAccess(database, null, id, { allLibraries: false, libraryIds: [kids], age: null }),
      server.accounts.editUser(id, { role: 'admin' }, null),
    ])
    t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    t.match(
      outcomes.find(({ status }) => status === 'rejected'),
      { reason: { code: 'conflict' } },
    )
    const isAdmin = (await server.accounts.getUser(id)).role === 'admin'
    t.equal((await getAccess(database, id)).allLibraries, isAdmin)
  }
})

t.test('whoever sees a library by a list learns that it is deleted, and nobody else', async (t) => {
  const { server, database, rita, kids, adults } = await openFamily(t)
  const [owner, other] = [await server.signUp({ username: 'owner' }), await server.signUp({ username: 'other' })]
  await setAccess(database, null, rita.id, { allLibraries: false, libraryIds: [kids], age: null })
  await setAccess(database, null, other.id, { allLibraries: false, libraryIds: [adults], age: null })
  const key = await server.accounts.createApiKey(
    { name: 'tablet', access: { allLibraries: false, libraryIds: [kids, adults], age: null } },
    { userId: owner.id, username: 'owner', permissions: new Set(['books-read']), via: 'token', narrowedBy: null },
  )
  const users = async () => new Map((await database('users').select('id', 'updated_at')).map((row) => [row.id, row.updated_at.getTime()]))
  const before = await users()
  t.equal(await deleteLibraryRows(database, kids), true)
  const after = await users()
  const changed = [...after].filter(([id, at]) => at !== before.get(id)).map(([id]) => id)
  t.same(changed.sort(), [rita.id, owner.id].sort())
  t.match(await getAccess(database, rita.id), { allLibraries: false, libraryIds: [] })
  t.same(
    (await database('access_libraries').where('viewer_id', key.id)).map(({ library_id }) => library_id),
    [adults],
  )
  await t.resolves(
    database.transaction((trx) => announceListed(trx, kids)),
    'nobody is left to tell',
  )
})

t.test('rules, tags, keys and libraries change at the same time without waiting for one another in a ring', async (t) => {
  const { database, kids, adults } = await openFamily(t)
  const [admin, rita] = [await addCaller(database, { role: 'admin' }), await addCaller(database)]
  const [tag] = await database('sharing_tags').insert({ name: 'dark' }, 'id')
  const grant = { sharingTagId: tag.id, accessMode: 'deny' } as const
  const access = (...libraryIds: string[]) => ({ allLibraries: false, libraryIds, age: null })
  const changes = Array.from({ length: 8 }, (_, turn) => [
    setAccess(database, null, rita.userId, { ...access(adults, kids), sharingTags: [grant] }),
    setGrant(database, admin, rita.userId, grant),
    createApiKey(database, { name: `key ${turn}`, access: access(kids, adults) }, rita),
  ])
  // Once the library is gone, or hidden by the rule, it is unknown.
  const unknown = (error: { code: string }) => (error.code === 'invalid_value' ? null : Promise.reject(error))
  const all = [...changes.flat(), deleteLibraryRows(database, kids)].map((change: Promise<unknown>) => change.catch(unknown))
  await t.resolves(Promise.all(all))
  t.equal((await database('access_libraries').where('library_id', kids)).length, 0)
})
