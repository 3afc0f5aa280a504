import { randomUUID } from 'node:crypto'
import t from 'tap'
import { routes } from '#api/routes.ts'
import type { AgeRule } from '#core/account/access.ts'
import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { listBooks } from '#core/catalog/book-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { hidesAny } from '#core/recommendations/external-series-query.ts'
import { addTestKey, rateSeries, setTestRule, type TestRule } from '#test/support/access-rules.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { textOf } from '#test/support/event-reading.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { type BuiltRequest, buildRequest, type KnownValues } from '#test/support/request-builder.ts'
import { unknownIds } from '#test/support/unknown-ids.ts'

t.setTimeout(240_000)

const SECRET = 'Zyxwvut'

/** Requests that only read. */
const READS = routes.filter(({ method, path }) => method === 'GET' || /\/list$|\/search$|\/alphabetical-groups$/.test(path))

t.test('an account that is gone or disabled sees nothing on any route, even if a request of it goes on', async (t) => {
  const { database, services, url, folder } = await openComposedServer(t)
  await enableKomga(database)
  const libraryId = await addLibrary(database, { name: `${SECRET} library`, path: folder })
  const seriesId = await addSeries(database, { library_id: libraryId, title: `${SECRET} Saga` })
  const pages = { page_count: 1, page_source: 'zip' }
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: `${SECRET} One`, number: 1, ...pages })
  await database('book_errors').insert({ book_id: bookId, error_type: 'other', message: `${SECRET} is bad`, fatal: false })
  await database('series_metadata').insert({ series_id: seriesId, publisher: `${SECRET} Press` })
  const [genre] = await database('genres').insert({ name: SECRET, name_key: 'zyxwvut' }, 'id')
  await database('series_genres').insert({ series_id: seriesId, genre_id: genre.id })
  const [collection] = await database('collections').insert({ name: `${SECRET} collection` }, 'id')
  await database('collection_series').insert({ collection_id: collection.id, series_id: seriesId, position: 0 })
  await database('collections').insert({ name: `${SECRET} empty` })
  const [readList] = await database('read_lists').insert({ name: `${SECRET} list` }, 'id')
  await database('read_list_books').insert({ read_list_id: readList.id, book_id: bookId, position: 0 })
  const names: KnownValues = {
    ...KOMGA_NAMES,
    ...{ bookId, seriesId, libraryId, collectionId: collection.id, readListId: readList.id, genreId: genre.id, key: 'application.name' },
    ...{
      coverId: randomUUID(),
      tagId: randomUUID(),
      sharingTagId: randomUUID(),
      pluginId: randomUUID(),
      taskId: randomUUID(),
      jobId: randomUUID(),
    },
    ...{ userId: randomUUID(), duplicateId: randomUUID(), applicationId: randomUUID(), pageNumber: 1, page: 1, document: 'b'.repeat(32) },
    ...{ resourcePath: 'OPS/c1.xhtml', seriesTitle: `${SECRET} Saga`, ...unknownIds() },
  }
  const [gone, disabled, active] = [
    await addCaller(database, { role: 'admin', username: 'gone' }),
    await addCaller(database, { role: 'admin', username: 'disabled' }),
    await addCaller(database, { role: 'admin', username: 'active' }),
  ]
  await database('users').where({ id: gone.userId }).delete()
  await database('users').where({ id: disabled.userId }).update({ is_active: false })
  // A request that was let in before.
  const known = new Map([gone, disabled, active].map((caller) => [caller.username, caller]))
  services.accounts.callers.ofToken = async (token) => known.get(token) ?? null
  const shownTo = async ({ username }: Caller, route: (typeof routes)[number]) => {
    const request = buildRequest(route, names)
    if ('unknown' in request) throw new Error(`${route.method} ${route.path}: no value for ${request.unknown}`)
    const { path, headers, body } = request as BuiltRequest
    const answer = await fetch(url + path, {
      method: route.method,
      headers: { ...headers, authorization: `Bearer ${username}` },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    })
    return { status: answer.status, text: await textOf(answer) }
  }
  let seen = 0
  for (const route of READS) {
    // Settings of the server's own paths, and what the caller says.
    for (const caller of [gone, disabled]) {
      const { status, text } = await shownTo(caller, route)
      const told = text.replaceAll(/(bookId|seriesId)=[0-9a-f-]{36}/g, '')
      const isShown = told.includes(SECRET) || (status < 400 && [bookId, seriesId].some((id) => told.includes(id)))
      t.notOk(isShown || status >= 500, `${route.method} ${route.path} to somebody ${caller.username}: ${status} ${told.slice(0, 300)}`)
    }
    if ((await shownTo(active, route)).text.includes(SECRET)) seen++
  }
  t.ok(seen > 60, `an active user is shown it by ${seen} routes`)
})

t.test('lists, their totals and the questions about grants know whether the user is active', async (t) => {
  const { database } = await openComposedServer(t)
  const libraryId = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'One' })
  const caller = await addCaller(database)
  const totals = async () => {
    const window = { offset: 0, limit: 10 }
    const books = await listBooks(database, caller, { filter: {}, sort: { field: 'title', direction: 'asc' }, ...window } as never)
    const series = await listSeries(database, caller, { filter: {}, sort: { field: 'name', direction: 'asc' }, ...window } as never)
    return [books.total, series.total, await isRestricted(database, caller), await hidesAny(database, caller, [seriesId])]
  }
  t.same(await totals(), [1, 1, false, false])
  t.equal((await readListState(database, caller)).sight, '')
  await database('users').where({ id: caller.userId }).update({ is_active: false })
  t.same(await totals(), [0, 0, true, true])
  t.not((await readListState(database, caller)).sight, '', 'no answer that was remembered for active users is for this one')
  await database('users').where({ id: caller.userId }).update({ is_active: true })
  t.same(await totals(), [1, 1, false, false])
  await database('users').where({ id: caller.userId }).delete()
  t.same(await totals(), [0, 0, true, true])
})

const aged = (mode: AgeRule['mode'], years: number, unrated: AgeRule['unrated']): TestRule => ({ age: { mode, years, unrated } })

t.test('of the rules of a user and of a key the stricter one wins', async (t) => {
  const { database } = await openTestDatabase(t)
  const [kids, comics] = [await addLibrary(database), await addLibrary(database)]
  const add = async (library_id: string, title: string, age: number | null) => {
    const id = await addSeries(database, { library_id, title })
    if (age !== null) await rateSeries(database, id, age)
  }
  for (const [title, age] of [
    ['kids 0', 0],
    ['kids 6', 6],
    ['kids ?', null],
  ] as const)
    await add(kids, title, age)
  for (const [title, age] of [
    ['comics 18', 18],
    ['comics ?', null],
  ] as const)
    await add(comics, title, age)
  const { userId } = await addCaller(database)
  const narrowedBy = await addTestKey(database, userId)
  const all = ['comics 18', 'comics ?', 'kids 0', 'kids 6', 'kids ?']
  const cases: [user: TestRule | null, key: TestRule | null, seen: string[]][] = [
    [null, null, all],
    [{}, {}, all],
    [{ libraries: [kids] }, null, ['kids 0', 'kids 6', 'kids ?']],
    [{ libraries: [] }, null, []],
    [{ libraries: [] }, { libraries: [kids, comics] }, []],
    [{ libraries: [kids] }, { libraries: [comics] }, []],
    [{ libraries: [kids, comics] }, { libraries: [comics] }, ['comics 18', 'comics ?']],
    [null, { libraries: [comics] }, ['comics 18', 'comics ?']],
    [aged('up_to', 6, 'hide'), null, ['kids 0', 'kids 6']],
    [aged('up_to', 6, 'show'), null, ['comics ?', 'kids 0', 'kids 6', 'kids ?']],
    [aged('up_to', 0, 'hide'), null, ['kids 0']],
    [aged('not_from', 18, 'show'), null, ['comics ?', 'kids 0', 'kids 6', 'kids ?']],
    [aged('not_from', 6, 'hide'), null, ['kids 0']],
    [aged('not_from', 0, 'show'), null, ['comics ?', 'kids ?']],
    [aged('not_from', 0, 'hide'), null, []],
    [aged('up_to', 99, 'show'), null, all],
    [aged('up_to', 6, 'show'), aged('not_from', 18, 'hide'), ['kids 0', 'kids 6']],
    [aged('not_from', 18, 'show'), aged('up_to', 0, 'show'), ['comics ?', 'kids 0', 'kids ?']],
    [{ libraries: [kids] }, aged('not_from', 6, 'show'), ['kids 0', 'kids ?']],
  ]
  const seen = (viewer: { userId: string; narrowedBy: string | null }) =>
    database('series').modify(visibleTo(viewer, 'series.id')).orderBy('title').pluck('title')
  for (const [user, key, titles] of cases) {
    await setTestRule(database, { user_id: userId }, user)
    await setTestRule(database, { api_key_id: narrowedBy }, key)
    t.same(await seen({ userId, narrowedBy }), titles, JSON.stringify([user, key]))
  }
  await setTestRule(database, { user_id: userId }, null)
  await setTestRule(database, { api_key_id: narrowedBy }, { libraries: [kids] })
  t.same(await seen({ userId, narrowedBy: null }), all, 'the rule of a key is not that of its user')
  await database('api_keys').where('id', narrowedBy).delete()
  t.same(await seen({ userId, narrowedBy }), [], 'a key that is gone sees nothing, though its rule is gone too')
  t.same(await seen({ userId, narrowedBy: null }), all)
  await setTestRule(database, { user_id: userId }, { libraries: [kids] })
  await database('libraries').where('id', kids).delete()
  t.same(await seen({ userId, narrowedBy: null }), [], 'without its last library a list is empty, and does not end')
})

t.test('the sight of viewers is the same text if they see the same', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraries = [await addLibrary(database), await addLibrary(database)]
  const sights: string[] = []
  for (const rule of [
    null,
    {},
    aged('up_to', 17, 'hide'),
    aged('not_from', 18, 'hide'),
    { libraries },
    { libraries: libraries.toReversed() },
  ]) {
    const caller = await addCaller(database)
    await setTestRule(database, { user_id: caller.userId }, rule)
    sights.push((await readListState(database, caller)).sight)
  }
  t.same(sights.slice(0, 2), ['', ''])
  t.equal(sights[2], sights[3])
  t.equal(sights[4], sights[5])
  t.equal(new Set(sights).size, 3)
})
