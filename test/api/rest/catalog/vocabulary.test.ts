import t from 'tap'
import { metadataEntryRoutes } from '#api/rest/catalog/metadata-entries.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { vocabularyRoutes } from '#api/rest/catalog/vocabulary.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

const NOWHERE = '00000000-0000-4000-8000-000000000000'

t.test('authors, publishers and languages are lists, of what the caller may see', async (t) => {
  const server = await openTestServer(t, { routes: vocabularyRoutes })
  const { database, adminToken } = server
  const library_id = await addLibrary(database)
  const add = async (title: string, words: { publisher: string; language: string }, person: [name: string, role: string]) => {
    const series_id = await addSeries(database, { library_id, title })
    const book_id = await addBook(database, { library_id, series_id, title })
    await database('series_metadata').insert({ series_id, ...words })
    const [name, role] = person
    const [{ id }] = await database('people').insert({ name, name_key: name.toLowerCase() }).onConflict('name_key').merge().returning('id')
    await database('book_people').insert({ book_id, person_id: id, role, position: 0 })
    return series_id
  }
  await add('Saga', { publisher: 'Image', language: 'en' }, ['Fiona Staples', 'penciller'])
  await add('Paper Girls', { publisher: 'image', language: 'EN' }, ['Fiona Staples', 'cover_artist'])
  const secret = await add('Secret', { publisher: 'Éditions Image', language: 'fr' }, ['Émile', 'writer'])
  const rita = await server.signUp({ username: 'rita' })
  const { id: userId } = await database('users').where('username', 'rita').first('id')
  await shareSeries(database, { seriesId: secret, caller: { userId }, mode: 'deny' })
  const list = async (path: string, token = adminToken) => {
    const { status, json, text } = await server.request<{ data: Record<string, unknown>[]; total: number }>('GET', `/api/v1/${path}`, {
      token,
    })
    t.equal(status, 200, `${path} ${text}`)
    return { total: json.total, names: json.data.map((one) => Object.values(one).join(' ').toLowerCase()) }
  }
  t.same(await list('publishers'), { total: 2, names: ['éditions image 1', 'image 2'] })
  t.same(await list('publishers?search=EDITIONS'), { total: 1, names: ['éditions image 1'] })
  t.same(await list('publishers?search=%25'), { total: 0, names: [] }, 'no pattern')
  t.same(await list('publishers?pageSize=1&page=2'), { total: 2, names: ['image 2'] })
  t.same(await list('languages'), { total: 2, names: ['en 2', 'fr 1'] })
  const fiona = ['fiona staples cover_artist 2', 'fiona staples penciller 2']
  t.same(await list('authors?search=staples'), { total: 2, names: fiona })
  t.same(await list('authors?role=writer'), { total: 1, names: ['émile writer 1'] })
  t.equal((await server.request('GET', '/api/v1/authors?role=cook', { token: adminToken })).status, 400)
  t.same(await list('authors', rita.token), { total: 2, names: fiona })
  t.same(await list('publishers?search=editions', rita.token), { total: 0, names: [] })
  t.same(await list('languages', rita.token), { total: 1, names: ['en 2'] })
  const values = async (query: string, token = adminToken) =>
    await server.request<{ value: string; role: string | null; count: number }[]>('GET', `/api/v1/filter-values?${query}`, { token })
  t.same((await values('field=person&role=writer')).json, [{ value: 'Émile', role: 'writer', count: 1 }])
  t.same((await values('field=person&role=writer', rita.token)).json, [])
  t.same((await values('field=format')).json, [{ value: 'cbz', role: null, count: 3 }])
  t.same((await values(`field=language&of=series&libraryId=${library_id}&search=fr`)).json, [{ value: 'fr', role: null, count: 1 }])
  t.same((await values(`field=language&libraryId=${NOWHERE}`)).json, [])
  for (const query of [
    '',
    'field=color',
    'field=genre&of=people',
    'field=genre&libraryId=7',
    `field=genre&search=${'x'.repeat(501)}`,
    'field=genre&role=cook',
  ])
    t.equal((await values(query)).status, 400, query)
  for (const query of ['field=format&of=series', 'field=genre&role=writer']) t.equal((await values(query)).status, 422, query)
})

t.test('full series have the average of the ratings of all users', async (t) => {
  const { database, adminToken: token, request, signUp } = await openTestServer(t, { routes: [...seriesRoutes, ...metadataEntryRoutes] })
  const library_id = await addLibrary(database)
  const ids: string[] = []
  for (const title of ['Saga', 'Unrated']) {
    const series_id = await addSeries(database, { library_id, title })
    ids.push(series_id)
    await addBook(database, { library_id, series_id, title })
  }
  const rita = await signUp({ username: 'rita' })
  const averages = async () => {
    const { json } = await request<{ data: { communityRating: unknown }[] }>('GET', '/api/v1/series?full=true', { token })
    const one = await request<{ communityRating: unknown }>('GET', `/api/v1/series/${ids[0]}?full=true`, { token })
    const alone = await request('GET', `/api/v1/series/${ids[0]}/ratings/average`, { token })
    t.same(one.json.communityRating, json.data[0]?.communityRating)
    t.same(alone.json, json.data[0]?.communityRating)
    return json.data.map(({ communityRating }) => communityRating)
  }
  const none = { average: null, count: 0 }
  t.same(await averages(), [none, none])
  await request('PUT', `/api/v1/series/${ids[0]}/rating`, { token, body: { rating: 80 } })
  t.same(await averages(), [{ average: 80, count: 1 }, none])
  await request('PUT', `/api/v1/series/${ids[0]}/rating`, { token: rita.token, body: { rating: 41 } })
  t.same(await averages(), [{ average: 60.5, count: 2 }, none], 'not the remembered answer')
})
