import { randomUUID } from 'node:crypto'
import t from 'tap'
import { TAGS_PER_SERIES_MAX } from '#core/account/sharing.ts'
import { addSeriesTag, addSharingTag, removeSharingTag, setGrant, setSeriesTags } from '#core/account/sharing-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

t.test('without confirmation, a tag is not deleted when a user would then see more', async (t) => {
  const { database } = await openTestDatabase(t)
  const admin = await addCaller(database, { role: 'admin' })
  const [rita, otto, mia] = [
    await addCaller(database, { username: 'rita' }),
    await addCaller(database),
    await addCaller(database, { username: 'mia' }),
  ]
  const tag = async (name: string) => (await addSharingTag(database, admin, { name })).id
  const [kids, extra, adult, unused] = [await tag('kids'), await tag('extra'), await tag('adult'), await tag('unused')]
  const grant = (caller: { userId: string }, sharingTagId: string, accessMode: 'allow' | 'deny') =>
    setGrant(database, admin, caller.userId, { sharingTagId, accessMode })
  await grant(rita, kids, 'allow')
  await grant(otto, kids, 'allow')
  await grant(otto, extra, 'allow')
  await grant(mia, adult, 'deny')
  const remove = (id: string, isConfirmed = false) => removeSharingTag(database, id, { isConfirmed })

  await t.rejects(remove(kids), {
    code: 'conflict',
    message: /rita.*\?confirm=true/s,
    details: { users: [{ id: rita.userId, username: 'rita' }] },
  })
  await t.rejects(remove(adult), { code: 'conflict', message: /mia/ }, 'a denied tag hides series from a user')
  await t.resolves(remove(unused))
  await t.rejects(remove(randomUUID()), { code: 'not_found' })
  t.equal((await database('sharing_tags')).length, 3, 'no other tag was deleted')

  // Of the two tags that otto is allowed, one must remain.
  await grant(rita, extra, 'allow')
  const both = await Promise.allSettled([remove(kids), remove(extra)])
  t.same(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const [left] = await database('user_sharing_grants').where('user_id', otto.userId)
  await t.resolves(remove(left.sharing_tag_id, true), 'unless that is confirmed')
  t.equal((await database('user_sharing_grants').where('user_id', otto.userId)).length, 0)
})

t.test('by REST: 409 with the users, then confirmed', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita' })
  const ask = <T = { id: string }>(method: string, path: string, body?: unknown) =>
    server.request<T>(method, `/api/v1/${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  const { id } = (await ask('POST', 'admin/sharing-tags', { name: 'kids' })).json
  await ask('PUT', `users/${rita.id}/sharing-tags`, { sharingTagId: id, accessMode: 'allow' })
  t.match(await ask('DELETE', `admin/sharing-tags/${id}`), { status: 409, json: { details: { users: [{ username: 'rita' }] } } })
  t.match(await ask('DELETE', `admin/sharing-tags/${id}?confirm=true`), { status: 204 })
})

t.test('a series never has more tags than the limit, even with concurrent requests', async (t) => {
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  const admin = await addCaller(database, { role: 'admin' })
  const seriesId = await addSeries(database, { library_id: await addLibrary(database), title: 'Run' })
  const rows = Array.from({ length: TAGS_PER_SERIES_MAX + 8 }, (_, index) => ({ name: `tag ${index}` }))
  const ids: string[] = (await database('sharing_tags').insert(rows, 'id')).map(({ id }) => id)
  await setSeriesTags(database, admin, { seriesId, tagIds: ids.slice(0, TAGS_PER_SERIES_MAX - 4) })
  const added = await Promise.allSettled(ids.slice(-8).map((tagId) => addSeriesTag(database, admin, { seriesId, tagId })))
  t.equal(added.filter(({ status }) => status === 'fulfilled').length, 4, 'each concurrent request counts those before it')
  t.match(
    added.find(({ status }) => status === 'rejected'),
    { reason: { code: 'invalid_value', message: /at most 100/ } },
  )
  const [{ count } = { count: 0 }] = await database('series_sharing_tags').where('series_id', seriesId).count('* AS count')
  t.equal(Number(count), TAGS_PER_SERIES_MAX)
  await t.resolves(addSeriesTag(database, admin, { seriesId, tagId: ids[0] as string }), 'adding a present tag changes nothing')
})
