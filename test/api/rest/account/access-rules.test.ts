import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { deleteLibraryRows } from '#core/catalog/library-content-store.ts'
import { rateSeries } from '#test/support/access-rules.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

/** What goes wrong with rules, and what happens to them meanwhile, told over HTTP. */

async function openHome(t: Test) {
  const server = await openTestServer(t)
  const { database } = server
  const add = async (name: string, age: number | null) => {
    const libraryId = await addLibrary(database, { name })
    const seriesId = await addSeries(database, { library_id: libraryId, title: `${name} Saga` })
    const bookId = await addBook(database, {
      library_id: libraryId,
      series_id: seriesId,
      title: `${name} One`,
      page_count: 1,
      page_source: 'zip',
    })
    if (age !== null) await rateSeries(database, seriesId, age)
    return { libraryId, seriesId, bookId }
  }
  const worlds = { kids: await add('Kids', 6), comics: await add('Comics', null), grown: await add('Grown', 18) }
  const reader = await server.signUp({ username: 'mia' })
  const setAccess = (body: unknown, userId = reader.id) =>
    server.request('PUT', `/api/v1/users/${userId}/access`, { token: server.adminToken, body })
  const titles = async (token: string) => {
    const { json } = await server.request<{ data: { title: string }[]; total: number }>('GET', '/api/v1/series', { token })
    t.equal(json.total, json.data.length, 'the total says what is listed')
    return json.data.map(({ title }) => title)
  }
  return { server, worlds, reader, setAccess, titles }
}

const only = (...libraryIds: string[]) => ({ allLibraries: false, libraryIds, age: null })
const aged = (age: object) => ({ allLibraries: true, libraryIds: [], age })

t.test('a rule that makes no sense is refused with a sentence, and changes nothing', async (t) => {
  const { server, worlds, reader, setAccess, titles } = await openHome(t)
  const { kids, comics } = worlds
  const many = Array.from({ length: 10_000 }, () => randomUUID())
  const cases: [name: string, body: unknown, status: RegExp][] = [
    ['an unknown library', only(kids.libraryId, randomUUID()), /^422 .*There is no library/],
    ['a library twice', only(kids.libraryId, comics.libraryId, kids.libraryId), /^422 .*twice/],
    ['a library twice, in capitals', only(kids.libraryId, kids.libraryId.toUpperCase()), /^422 .*twice/],
    ['no id', only('kids'), /^4\d\d .*libraryIds/],
    ['a list beside all', { ...only(kids.libraryId), allLibraries: true }, /^422 .*allLibraries/],
    ['ten thousand libraries', only(...many), /^4\d\d .*1[,_]?000/],
    ['an age of -1', aged({ mode: 'up_to', years: -1 }), /^4\d\d .*years/],
    ['an age of 200', aged({ mode: 'up_to', years: 200 }), /^4\d\d .*years/],
    ['an age of 12.5', aged({ mode: 'up_to', years: 12.5 }), /^4\d\d .*years/],
    ['an age in words', aged({ mode: 'up_to', years: 'twelve' }), /^4\d\d .*years/],
    ['another mode', aged({ mode: 'between', years: 12 }), /^4\d\d .*mode/],
    ['half a rule', { age: null }, /^4\d\d .*(allLibraries|libraryIds)/],
  ]
  for (const [name, body, wanted] of cases) {
    const { status, text } = await setAccess(body)
    t.match(`${status} ${text}`, wanted, name)
    t.match(text, /"message":"[^"]{20,}/, `${name} is said in a sentence`)
  }
  for (const [name, userId] of [
    ['oneself', server.adminId],
    ['nobody', randomUUID()],
  ] as const) {
    const { status, text } = await setAccess(only(kids.libraryId), userId)
    t.match([status, text], [name === 'nobody' ? 404 : 409, /"message":"[^"]{20,}/], name)
  }
  const other = await server.signUp({ username: 'eve', role: 'admin' })
  t.match(await setAccess(only(kids.libraryId), other.id), { status: 409, text: /administrator/ })
  t.same(await titles(reader.token), ['Comics Saga', 'Grown Saga', 'Kids Saga'], 'nothing has changed')
  t.equal((await setAccess(aged({ mode: 'up_to', years: 0 }))).status, 200, 'an age of 0 is one')
  t.same(await titles(reader.token), [])
})

t.test('a library that is deleted while it is granted leaves nothing visible, instead of everything', async (t) => {
  const { server, worlds, reader, setAccess, titles } = await openHome(t)
  t.equal((await setAccess(only(worlds.kids.libraryId))).status, 200)
  t.same(await titles(reader.token), ['Kids Saga'])
  t.equal(await deleteLibraryRows(server.database, worlds.kids.libraryId), true)
  t.same(await titles(reader.token), [])
  t.match(await server.request('GET', `/api/v1/users/${reader.id}/access`, { token: server.adminToken }), {
    json: { allLibraries: false, libraryIds: [] },
  })
})

t.test('a key that is narrower than its user stays so when the user becomes narrower still, and never widens', async (t) => {
  const { server, worlds, reader, setAccess, titles } = await openHome(t)
  const { kids, comics, grown } = worlds
  const caller = (await server.accounts.callers.ofToken(reader.token, 'token')) as Caller
  const access = { ...only(kids.libraryId, comics.libraryId), age: { mode: 'not_from', years: 18 } } as const
  const { key } = await server.accounts.createApiKey({ name: 'tablet', access: { ...access, libraryIds: [...access.libraryIds] } }, caller)
  t.same(await titles(key), ['Comics Saga', 'Kids Saga'])
  t.same(await titles(reader.token), ['Comics Saga', 'Grown Saga', 'Kids Saga'])
  t.equal((await setAccess(only(comics.libraryId, grown.libraryId))).status, 200)
  t.same([await titles(key), await titles(reader.token)], [['Comics Saga'], ['Comics Saga', 'Grown Saga']])
  t.equal((await setAccess({ ...only(kids.libraryId, grown.libraryId), age: { mode: 'up_to', years: 18, unrated: 'show' } })).status, 200)
  t.same([await titles(key), await titles(reader.token)], [['Kids Saga'], ['Grown Saga', 'Kids Saga']])
  t.equal((await setAccess(only(grown.libraryId))).status, 200)
  t.same([await titles(key), await titles(reader.token)], [[], ['Grown Saga']])
  t.equal((await setAccess(aged({ mode: 'not_from', years: 99 }))).status, 200)
  t.same(await titles(key), ['Comics Saga', 'Kids Saga'], 'a wider user does not widen it')
})

t.test('a series that moves to a hidden library, or gets another rating, is gone with the next request', async (t) => {
  const { server, worlds, reader, setAccess, titles } = await openHome(t)
  const { kids, comics } = worlds
  const { database } = server
  const read = async () => (await server.request('GET', `/api/v1/books/${kids.bookId}`, { token: reader.token })).status
  t.equal((await setAccess({ ...only(kids.libraryId), age: { mode: 'up_to', years: 12, unrated: null } })).status, 200)
  t.same([await read(), await titles(reader.token)], [200, ['Kids Saga']])
  const move = async (library_id: string) => {
    await database('series').where('id', kids.seriesId).update({ library_id })
    await database('books').where('id', kids.bookId).update({ library_id })
  }
  await move(comics.libraryId)
  t.same([await read(), await titles(reader.token)], [404, []])
  await move(kids.libraryId)
  t.same([await read(), await titles(reader.token)], [200, ['Kids Saga']])
  const rate = async (ageRating: number | null) => {
    const edit = { token: server.adminToken, body: { ageRating } }
    t.equal((await server.request('PATCH', `/api/v1/series/${kids.seriesId}/metadata`, edit)).status, 200)
  }
  await rate(13)
  t.same([await read(), await titles(reader.token)], [404, []], 'for older readers')
  await rate(12)
  t.same([await read(), await titles(reader.token)], [200, ['Kids Saga']])
  await rate(null)
  t.same([await read(), await titles(reader.token)], [404, []], 'without a rating')
})
