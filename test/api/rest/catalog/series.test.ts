import t from 'tap'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { routes } from '#api/routes.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('a repeated parameter is one value, never split; given once it may be several names', async (t) => {
  const { database, request, adminToken: token } = await openTestServer(t, { routes: seriesRoutes })
  const library_id = await addLibrary(database)
  const shelf = {
    Comma: ['Action, Adventure'],
    Both: ['Action', 'Adventure'],
    Action: ['Action'],
    More: ['Action, Adventure', 'Drama'],
    Plain: [],
  }
  for (const [title, names] of Object.entries(shelf)) {
    const series_id = await addSeries(database, { library_id, title })
    await addBook(database, { library_id, series_id, title })
    for (const kind of ['genre', 'tag']) {
      for (const name of names) {
        const row = { name, name_key: name.toLowerCase() }
        const [{ id }] = await database(`${kind}s`).insert(row).onConflict('name_key').merge().returning('id')
        await database(`series_${kind}s`).insert({ series_id, [`${kind}_id`]: id })
      }
    }
  }
  const found = async (query: string) => {
    const { status, json } = await request<{ data: { title: string }[]; total: number }>('GET', query, { token })
    t.equal(status, 200, query)
    t.equal(json.total, json.data.length, query)
    return json.data.map(({ title }) => title).sort()
  }
  for (const list of ['/api/v1/series', `/api/v1/libraries/${library_id}/series`]) {
    for (const name of ['genres', 'tags']) {
      const of = async (...values: string[]) =>
        await found(`${list}?${values.map((value) => `${name}=${encodeURIComponent(value)}`).join('&')}`)
      t.same(await of('action,  ADVENTURE'), ['Both', 'Comma', 'More'], 'one name, or several')
      t.same(await of('Action, Adventure', 'Action, Adventure'), ['Comma', 'More'], 'one name')
      t.same(await of('Action, Adventure', ''), ['Comma', 'More'])
      t.same(await of('Action', 'Adventure'), ['Both'], 'several')
      t.same(await of('Drama', 'Action, Adventure'), ['More'])
      t.same(await of('Action,Drama'), [])
      t.same(await of(',Drama,'), ['More'])
      for (const nothing of ['', ' ', ',', ' , ']) t.equal((await of(nothing)).length, nothing.includes(',') ? 0 : 5, `"${nothing}"`)
    }
  }
  const many = Array.from({ length: 21 }, () => 'genres=Action').join('&')
  t.equal((await request('GET', `/api/v1/series?${many}`, { token })).status, 400)
  const listed = await request('GET', `/api/v1/series?genres=${Array.from({ length: 21 }, (_, at) => `g${at}`).join(',')}`, { token })
  t.match([listed.status, listed.json], [422, { details: [{ path: '/genres', message: /21 names/ }] }])
  t.equal((await request('GET', `/api/v1/series?genres=${'a,,'.repeat(20)}`, { token })).status, 200)
})

t.test('no other parameter of this interface holds several values in one text', async (t) => {
  const described = routes.flatMap(({ path, query }) =>
    Object.entries(
      ((query as { properties?: object } | undefined)?.properties ?? {}) as Record<string, { type?: string; description?: string }>,
    )
      .filter(([, { type, description }]) => path.startsWith('/api/') && type === 'string' && /comma/i.test(description ?? ''))
      .map(([name]) => name),
  )
  t.same([...new Set(described)], [])
})
