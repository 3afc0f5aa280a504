import t from 'tap'
import { searchRoutes } from '#api/rest/catalog/search.ts'
import { addBook, addLibrary, addPeople, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

interface Found {
  series: { id: string; title: string }[]
  books: { title: string }[]
  people: { name: string; roles: string[] }[]
  collections: { name: string; seriesCount: number }[]
  readLists: { name: string; bookCount: number }[]
}

const NOTHING = { series: [], books: [], people: [], collections: [], readLists: [] }

t.test('one search finds series, books, people, collections and read lists, of what the caller sees', async (t) => {
  const server = await openTestServer(t, { routes: searchRoutes })
  const { database, adminToken } = server
  const library_id = await addLibrary(database)
  const add = async (title: string) => {
    const series_id = await addSeries(database, { library_id, title })
    return { series_id, book_id: await addBook(database, { library_id, series_id, title: `${title} 1`, number: 1 }) }
  }
  const open = await add('Moonlight')
  const hidden = await add('Moonshadow')
  await addPeople(database, { kind: 'series', id: open.series_id }, [{ name: 'Anna Moon', role: 'writer' }])
  await addPeople(database, { kind: 'book', id: open.book_id }, [
    { name: 'Anna Moon', role: 'inker' },
    { name: 'anna moon', role: 'writer' },
  ])
  await addPeople(database, { kind: 'book', id: hidden.book_id }, [{ name: 'Moonwriter', role: 'writer' }])
  const shelf = async (kind: 'collection' | 'read_list', name: string, of: { series_id: string; book_id: string }) => {
    const [{ id }] = await database(`${kind}s`).insert({ name }, 'id')
    if (kind === 'collection') await database('collection_series').insert({ collection_id: id, series_id: of.series_id, position: 0 })
    else await database('read_list_books').insert({ read_list_id: id, book_id: of.book_id, position: 0 })
  }
  for (const kind of ['collection', 'read_list'] as const) {
    await shelf(kind, 'Over the MÓON', open)
    await shelf(kind, 'Moon of the hidden', hidden)
  }
  const rita = await server.signUp({ username: 'rita' })
  const { id: userId } = await database('users').where('username', 'rita').first('id')
  await shareSeries(database, { seriesId: hidden.series_id, caller: { userId }, mode: 'deny' })
  const search = async (q: string, token = adminToken) =>
    await server.request<Found>('GET', `/api/v1/search?q=${encodeURIComponent(q)}`, { token })
  const namesOf = (found: Found) => ({
    series: found.series.map(({ title }) => title),
    books: found.books.map(({ title }) => title),
    people: found.people.map(({ name, roles }) => [name, ...roles].join(' ')),
    collections: found.collections.map(({ name, seriesCount }) => `${name} ${seriesCount}`),
    readLists: found.readLists.map(({ name, bookCount }) => `${name} ${bookCount}`),
  })
  t.same(namesOf((await search('moon', rita.token)).json), {
    series: ['Moonlight'],
    books: ['Moonlight 1'],
    people: ['Anna Moon inker writer'],
    collections: ['Over the MÓON 1'],
    readLists: ['Over the MÓON 1'],
  })
  const all = namesOf((await search(' Moon ')).json)
  t.same(all.series.toSorted(), ['Moonlight', 'Moonshadow'])
  t.same(all.people, ['Anna Moon inker writer', 'Moonwriter writer'])
  t.same(all.collections, ['Moon of the hidden 1', 'Over the MÓON 1'])
  for (const q of ['', '   ', 'zzz', '%', "'; --", '\\']) t.same((await search(q)).json, NOTHING, q)
  t.equal((await search('x'.repeat(501))).status, 400)
  t.equal((await server.request('GET', '/api/v1/search', { token: adminToken })).status, 400)
  t.equal((await server.request('GET', '/api/v1/search?q=moon')).status, 401)
})

t.test('a search shows at most eight of each kind', async (t) => {
  const server = await openTestServer(t, { routes: searchRoutes })
  const { database, adminToken: token } = server
  const library_id = await addLibrary(database)
  for (let at = 1; at <= 9; at++) {
    const series_id = await addSeries(database, { library_id, title: `Star ${at}` })
    const book_id = await addBook(database, { library_id, series_id, title: `Star ${at} begins` })
    await addPeople(database, { kind: 'book', id: book_id }, [{ name: `Starr ${at}`, role: 'writer' }])
    await database('collections').insert({ name: `Stars ${at}` })
    await database('read_lists').insert({ name: `Stars ${at}` })
  }
  const { json } = await server.request<Found>('GET', '/api/v1/search?q=star', { token })
  t.same(
    Object.values(json).map((found: unknown[]) => found.length),
    [8, 8, 8, 8, 8],
  )
  t.equal(json.people[0]?.name, 'Starr 1')
})
