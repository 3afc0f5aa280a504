import { test } from 'tap'
import { openShelves } from '#test/support/shelves.ts'

test('collections and read lists', async (t) => {
  const { ask, batman, saga, one, two, other, database, signUp, request } = await openShelves(t)
  type Shelf = { id: string; seriesCount: number; bookCount: number }
  const { json: made } = await ask<Shelf>('POST', '/api/v1/collections', { name: 'Best', ordered: true, seriesIds: [saga, batman] })
  t.match(made, { name: 'Best', seriesCount: 2, ordered: true, summary: null })
  const path = `/api/v1/collections/${made.id}`
  const order = async () => (await ask<{ data: { id: string }[] }>('GET', `${path}/series`)).json.data.map(({ id }) => id)
  t.same(await order(), [saga, batman])
  t.equal((await ask('PUT', `${path}/series`, { seriesIds: [batman, saga] })).status, 200)
  t.same(await order(), [batman, saga])
  t.equal((await ask('POST', '/api/v1/collections', { name: 'bEST' })).status, 409)
  t.equal((await ask('PUT', `${path}/series`, { seriesIds: [made.id] })).status, 404)
  t.equal((await ask('PUT', `${path}/series`, { seriesIds: [saga, saga] })).status, 422)
  t.same(await order(), [batman, saga], 'nothing of it')
  t.match(await ask('PATCH', path, { ordered: false, summary: 'of all' }), { json: { ordered: false, summary: 'of all', name: 'Best' } })
  t.equal((await ask('GET', `${path}/thumbnail`)).status, 200)

  const reader = await signUp({ username: 'rita', role: 'maintainer' })
  const asRita = (method: string, to: string, body?: unknown) =>
    request<Shelf & { data: { id: string }[]; total: number }>(method, to, { token: reader.token, ...(body !== undefined && { body }) })
  const { json: tag } = await ask<{ id: string }>('POST', '/api/v1/admin/sharing-tags', { name: 'Grown-ups' })
  t.equal((await ask('POST', '/api/v1/admin/sharing-tags', { name: 'grown-UPS' })).status, 409)
  t.match(await ask('PUT', `/api/v1/series/${batman}/sharing-tags`, { sharingTagIds: [tag.id] }), {
    status: 200,
    json: [{ name: 'Grown-ups' }],
  })
  const grant = { sharingTagId: tag.id, accessMode: 'deny' }
  t.match(await ask('PUT', `/api/v1/users/${reader.id}/sharing-tags`, grant), { status: 200, json: { accessMode: 'deny' } })
  t.match(await ask('GET', `/api/v1/admin/sharing-tags/${tag.id}`), { json: { seriesCount: 1, userCount: 1 } })
  t.match(await asRita('GET', '/api/v1/user/sharing-tags'), { json: { userId: reader.id, grants: [{ sharingTagName: 'Grown-ups' }] } })
  t.match(await asRita('GET', `${path}/series`), { json: { total: 1, data: [{ id: saga }] } })
  t.match(await asRita('GET', path), { json: { seriesCount: 1 } })
  t.match(await asRita('PUT', `${path}/series`, { seriesIds: [] }), { status: 200, json: { seriesCount: 0 } })
  t.same(await order(), [batman], 'what she may not see stays')
  t.equal((await asRita('GET', path)).status, 404, 'with nothing left to see it is gone for her')
  t.equal((await ask('POST', `${path}/series`, { seriesIds: [saga] })).status, 200)
  t.equal((await asRita('POST', `${path}/series`, { seriesIds: [batman] })).status, 404)
  t.equal((await asRita('DELETE', `${path}/series/${batman}`)).status, 404)
  t.equal((await ask('DELETE', `/api/v1/users/${reader.id}/sharing-tags/${tag.id}`)).status, 204)
  t.match(await asRita('GET', path), { json: { seriesCount: 2 } }, 'without the grant she sees all')
  t.match(await ask('GET', `/api/v1/series/${saga}/collections`), { json: { data: [{ id: made.id }] } })
  t.equal((await ask('DELETE', `${path}/series/${saga}`)).status, 204)
  t.same(await order(), [batman])

  const { json: list } = await ask<Shelf>('POST', '/api/v1/read-lists', { name: 'Order', bookIds: [two, other] })
  const books = async () =>
    (await ask<{ data: { id: string }[] }>('GET', `/api/v1/read-lists/${list.id}/books`)).json.data.map(({ id }) => id)
  t.equal((await ask('POST', `/api/v1/read-lists/${list.id}/books`, { bookIds: [one, two] })).status, 200)
  t.same(await books(), [two, other, one], 'added at the end, once')
  t.match(await ask('GET', `/api/v1/books/${one}/read-lists`), { json: { data: [{ id: list.id, bookCount: 3 }] } })
  t.equal((await ask('DELETE', `/api/v1/read-lists/${list.id}`)).status, 204)
  t.same(await database('read_list_books'), [])
})
