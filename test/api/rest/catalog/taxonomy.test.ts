import t from 'tap'
import { taxonomyRoutes } from '#api/rest/catalog/taxonomy.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

interface Names {
  genres?: { id: string; name: string }[]
  tags?: { id: string; name: string }[]
}

t.test('genres and tags of a book', async (t) => {
  const server = await openTestServer(t, { routes: taxonomyRoutes })
  const { database, adminToken: token } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const bookId = await addBook(database, { library_id, series_id, title: 'Saga 1' })
  const ask = async <T = Names>(method: string, path: string, body?: unknown) =>
    await server.request<T>(method, `/api/v1/books/${bookId}/${path}`, { token, ...(body !== undefined && { body }) })
  const locks = async () => (await database('book_metadata').where('book_id', bookId).first('locks', 'set_edits')) ?? null

  for (const [plural, word] of [
    ['genres', 'genre'],
    ['tags', 'tag'],
  ] as const) {
    t.same((await ask('GET', plural)).json, { [plural]: [] })
    const added = await ask<{ id: string; name: string }>('POST', plural, { name: '  Space   Opera ' })
    t.match(added, { status: 201, json: { name: 'Space Opera' } })
    t.match(await ask('POST', plural, { name: 'SPACE opera' }), { status: 200, json: { id: added.json.id } }, 'it has it already')
    const set = await ask('PUT', plural, { [plural]: ['Ägypten', 'space opera', 'ägypten'] })
    t.same(
      set.json[plural]?.map(({ name }) => name),
      ['Ägypten', 'Space Opera'],
    )
    const [egypt] = set.json[plural] ?? []
    t.equal((await ask('DELETE', `${plural}/${egypt?.id}`)).status, 204)
    t.match(await ask('DELETE', `${plural}/${egypt?.id}`), { status: 404, json: { message: new RegExp(`no ${word}`) } })
    t.match((await ask('GET', plural)).json[plural], [{ name: 'Space Opera', seriesCount: 0 }])
    t.match(await ask('PUT', plural, { [plural]: [''] }), { status: 422 })
    t.match(await ask('POST', plural, { name: 'x'.repeat(101) }), { status: 422 })
    t.match(await ask('PUT', plural, { [plural]: Array.from({ length: 201 }, (_, index) => `${index}`) }), { status: 422 })
    t.same((await ask('PUT', plural, { [plural]: [] })).json, { [plural]: [] })
  }
  const removed = ['space opera', 'ägypten']
  t.match(await locks(), { locks: ['genre'], set_edits: { genres: { removed }, tags: { removed } } })

  const rita = await server.signUp({ username: 'rita' })
  const [user] = await database('users').where('username', 'rita').select('id')
  await shareSeries(database, { seriesId: series_id, caller: { userId: user.id }, mode: 'deny' })
  t.match(await server.request('GET', `/api/v1/books/${bookId}/genres`, { token: rita.token }), { status: 404 })
  t.match(await server.request('PUT', `/api/v1/books/${bookId}/genres`, { token: rita.token, body: { genres: [] } }), { status: 403 })
})
