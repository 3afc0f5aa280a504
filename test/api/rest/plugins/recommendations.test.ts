import t from 'tap'
import { PERMISSIONS } from '#core/account/permission.ts'
import { bundledPlugins } from '#plugins/packages/bundled-plugins.ts'
import { addTestKey, setTestRule } from '#test/support/access-rules.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { item, openRecommendationServer, type RecommendationList, until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

t.test('a list is answered at once, and a task makes the next one', async (t) => {
  const { rita, pluginId, get, settled, asked, database, signUp, as, request, userId } = await openRecommendationServer(t)
  const otto = as((await signUp({ username: 'otto' })).token)
  t.equal((await request('GET', '/api/v1/user/recommendations')).status, 401)
  for (const [method, path, body] of [
    ['GET', 'recommendations'],
    ['GET', `recommendations?pluginId=${pluginId}`],
    ['POST', 'recommendations/refresh'],
    ['POST', 'recommendations/1/dismiss', {}],
  ] as const)
    t.match(await otto(method, path, body), { status: 404, json: { error: 'not_found' } }, `${method} ${path} of one who has enabled none`)

  const first = await get()
  t.match(first, { pluginId, pluginName: 'Taste', cached: false, generatedAt: undefined, recommendations: [], taskId: String })
  t.match(first.taskStatus, /^(pending|running)$/)
  const list = await settled()
  t.match(list, { cached: true, generatedAt: String, taskStatus: undefined })
  t.same(list.recommendations, [
    {
      ...{ externalId: '1', title: 'Title 1', score: 0.5, reason: 'So.', basedOn: [], genres: [], tags: [] },
      ...{ inService: false, inLibrary: false },
    },
  ])
  await get()
  t.equal(asked.length, 1, 'a fresh list starts nothing')
  t.match((await rita('GET', `plugins/${pluginId}/tasks`)).json, {
    taskId: first.taskId,
    taskType: 'refresh_recommendations',
    status: 'completed',
    result: { outcome: 'refreshed', recommendations: 1 },
  })
  t.match((await rita('GET', `plugins/${pluginId}`)).json, { lastSuccessAt: String })
  t.same((await request<unknown[]>('GET', `/api/v1/tasks`, { token: (await signUp({ username: 'nina' })).token })).status < 500, true)

  await database('recommendations')
    .where('user_id', userId)
    .update({ generated_at: new Date(Date.now() - 25 * 3_600_000) })
  const old = await get()
  t.equal(old.recommendations.length, 1, 'an old one is answered')
  t.type(old.taskId, 'string', 'while the next is made')
  await settled()
  t.equal(asked.length, 2)
})

t.test('what plugins say is checked, bounded, and looked up', async (t) => {
  const { renew, database, userId, rita, pluginId, setAnswer, settled, get } = await openRecommendationServer(t, {
    settings: { compatibility: { legacyNames: true } },
  })
  const library_id = await addLibrary(database)
  const [mine, kept, other] = await Promise.all(['Mine', 'Kept away', 'Other'].map((title) => addSeries(database, { library_id, title })))
  const ids = [
    { series_id: mine, source: 'plugin:taste', external_id: 'mine' },
    { series_id: kept, source: 'plugin:taste', external_id: 'kept' },
    { series_id: other, source: 'api:elsewhere', external_id: '77' },
  ]
  await database('series_external_ids').insert(ids)
  await shareSeries(database, { seriesId: kept as string, caller: { userId }, mode: 'deny' })
  const { recommendations: shown } = await renew([
    item('low', 0.1, {
      rating: 77.6,
      popularity: -4.2,
      startYear: 1999,
      inLibrary: true,
      mystery: 1,
      codexSeriesId: kept,
      inService: true,
    }),
    item('mine', 0.9, {
      serviceSeriesId: kept,
      tags: [{ name: 'a' }, { name: 'b', category: 'Theme', rank: 250.7 }, { name: 'c', rank: -3 }],
    }),
    item('mine', 0.2, { title: 'again' }),
    item('kept', 0.8),
    item('other', 7, { externalIds: { elsewhere: '77' } }),
    item('also mine', 0.05, { externalIds: { 'plugin:taste': 'mine' } }),
  ])
  t.same(
    shown.map(({ externalId, score, serviceSeriesId, inService, codexSeriesId }) => [
      externalId,
      score,
      serviceSeriesId,
      inService,
      codexSeriesId,
    ]),
    [
      ['other', 1, other, true, other],
      ['mine', 0.9, mine, true, mine],
      ['kept', 0.8, undefined, false, undefined],
      ['low', 0.1, undefined, false, undefined],
      ['also mine', 0.05, undefined, false, undefined],
    ],
    'the best first, each once, and nothing of what is hidden',
  )
  t.same(shown[1]?.tags, [
    { category: 'tag', name: 'a', rank: 100 },
    { category: 'Theme', name: 'b', rank: 100 },
    { category: 'tag', name: 'c', rank: 0 },
  ])
  t.match(shown[3], { rating: 78, popularity: 0, startYear: 1999, inLibrary: false }, 'a plugin may know of a series that is hidden')
  t.notOk('mystery' in (shown[3] ?? {}))

  await database('user_sharing_grants').delete()
  t.equal((await get()).recommendations[2]?.serviceSeriesId, kept, 'who may see it is told at once')

  const many = await renew(Array.from({ length: 400 }, (_, at) => item(`n${at}`, at / 400)))
  t.equal(many.recommendations.length, 100)
  t.equal(many.recommendations[0]?.externalId, 'n399')
  await rita('PATCH', `plugins/${pluginId}/config`, { config: { maxRecommendations: 7 } })
  t.equal((await get()).recommendations.length, 7, 'the reader asks for fewer')

  const before = await get()
  for (const rubbish of [{ recommendations: [item('x', 0.5, { score: 'high' })] }, { recommendations: 'none' }, [], null]) {
    setAnswer({ value: rubbish })
    t.equal((await rita('POST', 'recommendations/refresh')).status, 202)
    const { lastError, ...list } = (await settled()) as RecommendationList & { lastError?: object }
    t.match(lastError, { code: /^(invalid_result|thrown)$/ })
    t.same(list, before, 'rubbish changes nothing')
  }
})

t.test('a provider that fails never makes an error of a request, and is left alone longer and longer', async (t) => {
  const { rita, pluginId, get, settled, setAnswer, database, asked, host, userId } = await openRecommendationServer(t)
  setAnswer({ status: 500, value: {} })
  t.type((await get()).taskId, 'string')
  t.match(await settled(), { recommendations: [], cached: false })
  const tries = asked.length
  for (let times = 0; times < 5; times++) t.equal((await get()).taskId, undefined)
  t.equal(asked.length, tries, 'it is not asked again by everybody who looks')
  const row = () => database('recommendations').first()
  const seconds = async () => Math.round(((await row()).next_try_at.getTime() - Date.now()) / 1000)
  t.match(await row(), { failures: 1, last_error: /Taste/ })
  t.ok(Math.abs((await seconds()) - 300) < 10)
  t.match((await rita('GET', `plugins/${pluginId}/tasks`)).json, { status: 'failed', error: /Taste/ })
  await setTestRule(database, { user_id: userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  t.match(
    (await rita('GET', `plugins/${pluginId}/tasks`)).json,
    { status: 'failed', error: null, result: null },
    'words of a plugin that saw what its user no longer sees',
  )
  await setTestRule(database, { user_id: userId }, null)
  await rita('POST', 'recommendations/refresh')
  await settled()
  t.equal((await row()).failures, 2, 'who insists may, and it counts')
  t.ok(Math.abs((await seconds()) - 600) < 10)
  t.match(await host.plugins.get(pluginId), { state: 'enabled' })

  setAnswer({ status: 429, value: {} })
  await rita('POST', 'recommendations/refresh')
  await until(async () => asked.length > tries + 3, 'it to be asked again')
  setAnswer({ value: { recommendations: [item('1', 1)] } })
  t.equal((await settled()).recommendations.length, 1, 'one that asks to wait is waited for')
  t.match(await row(), { failures: 0, next_try_at: null, last_error: null })
  t.match(await host.plugins.get(pluginId), { breaker: null })

  setAnswer({ status: 429, value: {}, retryAfter: 3_600 })
  await rita('POST', 'recommendations/refresh')
  t.equal((await settled()).recommendations.length, 1)
  t.match(await row(), { failures: 0 }, 'nor does a long wait count')
  t.ok(Math.abs((await seconds()) - 3_600) < 10, `${await seconds()} s`)

  setAnswer({ value: { recommendations: [item('1', 1)] } })
  await database('recommendations').update({ generated_at: new Date(0), next_try_at: new Date(Date.now() + 60_000) })
  t.equal((await get()).taskId, undefined)
  await database('recommendations').update({ next_try_at: new Date(Date.now() - 1_000) })
  t.type((await get()).taskId, 'string', 'and when its time has come')
  await settled()
})

t.test('what was dismissed never comes back', async (t) => {
  const { rita, get, renew, database, asked, install, setAnswer } = await openRecommendationServer(t)
  await renew([item('1', 1), item('a/b c?', 0.9), item('3', 0.8)])
  t.same((await rita('POST', `recommendations/${encodeURIComponent('a/b c?')}/dismiss`, { reason: 'already_read' })).json, {
    dismissed: true,
  })
  const left = async () => (await get()).recommendations.map(({ externalId }) => externalId)
  t.same(await left(), ['1', '3'], 'it is gone at once')
  const told = await until(async () => asked.find((url) => url.startsWith('/dismiss')), 'the plugin to be told')
  t.equal(new URLSearchParams(told.split('?')[1]).get('reason'), 'already_read')
  t.same((await rita('POST', `recommendations/${encodeURIComponent('a/b c?')}/dismiss`, {})).json, { dismissed: true }, 'twice is once')
  await renew([item('a/b c?', 1), item('1', 0.5)])
  t.same(await left(), ['1'], 'whatever the plugin says')
  const long = 'x'.repeat(200)
  await renew([item(long, 1), item('1', 0.5)])
  t.same((await rita('POST', `recommendations/${long}/dismiss`, {})).json, { dismissed: true }, 'the longest identifier')
  t.equal((await rita('POST', `recommendations/${long}x/dismiss`, {})).status, 400)
  t.equal((await rita('POST', 'recommendations/1/dismiss', { reason: 1 })).status, 400)

  t.test('even if the plugin could not be told at first', async (t) => {
    const broken = await install(
      { id: 'org.example.broken', name: 'Broken' },
      `let times = 0
       export default { recommendations: {
         refresh: async (_, ctx) => {
           const told = await ctx.storage.get('told')
           return { recommendations: (told ?? ['9']).map((id) => ({ externalId: (told ? 'told ' : '') + id, title: 't', score: 1, reason: 'r' })) }
         },
         async dismiss({ externalId }, ctx) {
           if (times++ === 0) throw new Error('not now')
           await ctx.storage.set('told', [externalId])
         } } }`,
    )
    await rita('GET', 'plugins')
    await rita('POST', `plugins/${broken}/enable`)
    const query = `?pluginId=${broken}`
    t.match(await rita('POST', `recommendations/9/dismiss${query}`, {}), { status: 404 }, 'no list was made yet')
    await renew([], query)
    t.same((await rita('POST', `recommendations/9/dismiss${query}`, {})).json, { dismissed: true })
    const failed = () => database('plugin_failures').where('plugin_id', broken)
    await until(async () => (await failed()).length > 0, 'it to fail')
    setAnswer({ value: {} })
    t.same(
      (await renew([], query)).recommendations.map(({ externalId }) => externalId),
      ['told 9'],
    )
    t.match((await get()).pluginName, 'Broken', 'the first by name is meant where none is said')
    t.match((await get('?pluginId=00000000-0000-4000-8000-000000000000')) as object, { error: 'not_found' })
  })
})

t.test('what is not in the list of a reader cannot be dismissed', async (t) => {
  const { rita, renew, database, userId, setAnswer } = await openRecommendationServer(t)
  const dismiss = async (id: string) =>
    await rita('POST', `recommendations/${encodeURIComponent(id)}/dismiss`, { reason: 'not_interested' })
  await renew([item('1', 1), item('2', 0.5)])
  t.match(
    await dismiss('3'),
    {
      status: 404,
      json: {
        error: 'not_found',
        message: /"Taste" does not recommend anything with the externalId 3 .*GET \/api\/v1\/user\/recommendations/,
      },
    },
    'no such item',
  )
  t.equal((await dismiss('x'.repeat(200))).status, 404)
  t.same(await database('dismissed_recommendations').where('user_id', userId), [], 'nothing is kept of them')
  t.same((await dismiss('2')).json, { dismissed: true })
  setAnswer({ value: { recommendations: [item('3', 1)] } })
  await renew([item('3', 1)])
  t.same((await dismiss('2')).json, { dismissed: true }, 'what was dismissed is known, whatever the list holds now')
  t.equal((await dismiss('1')).status, 404, 'what the list holds no more is not')
  t.same((await dismiss('3')).json, { dismissed: true })
})

t.test('who may not see a series any more sees no trace of it', async (t) => {
  const { rita, userId, database, host, get } = await openRecommendationServer(t)
  const similar = (await bundledPlugins()).find(({ id }) => id === 'similar-in-library')
  const { plugin, sha256 } = await host.pluginLifecycle.install(similar?.bytes as Buffer, { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${plugin.id}/enable`)
  const library_id = await addLibrary(database)
  const [genre] = await database('genres').insert({ name: 'Noir', name_key: 'noir' }, 'id')
  const add = async (title: string) => {
    const series_id = await addSeries(database, { library_id, title })
    await database('series_genres').insert({ series_id, genre_id: genre.id })
    const book_id = await addBook(database, { library_id, series_id, title: `${title} 1` })
    return { series_id, book_id }
  }
  const [read, next, third] = [await add('Night Walk'), await add('Night Train'), await add('Night Bus')]
  await database('read_progress').insert({
    ...{ user_id: userId, book_id: read.book_id, current_page: 9, percentage: 1, completed: true, completed_at: new Date() },
  })
  const query = `?pluginId=${plugin.id}`
  const refresh = async () => {
    await rita('POST', `recommendations/refresh${query}`)
    await until(async () => (await get(query)).taskId === undefined, 'the task to end')
    return await get(query)
  }
  const list = await refresh()
  t.same(new Set(list.recommendations.map(({ externalId }) => externalId)), new Set([next.series_id, third.series_id]))
  for (const one of list.recommendations) t.match(one, { serviceSeriesId: one.externalId, inService: true, inLibrary: true })
  t.match(JSON.stringify(list), 'Night Walk', 'with a reason')

  await shareSeries(database, { seriesId: next.series_id, caller: { userId }, mode: 'deny' })
  t.same(
    (await get(query)).recommendations.map(({ externalId }) => externalId),
    [third.series_id],
    'what is hidden is not recommended',
  )
  await shareSeries(database, { seriesId: read.series_id, caller: { userId }, mode: 'deny' })
  const after = await get(query)
  t.same([after.recommendations, after.generatedAt, after.cached], [[], undefined, false], 'nor is it a reason')
  t.notMatch(JSON.stringify(after), /Night (Walk|Train)/)
  t.type(after.taskId, 'string', 'and the next list is made without it')
  await until(async () => (await get(query)).taskId === undefined, 'the task to end')
  t.notMatch(JSON.stringify(await get(query)), /Night (Walk|Train)/)
  await database('users').where('id', userId).delete()
  t.same(await database('recommendations').where('user_id', userId), [])
})

t.test('a key with a rule sees no result and no reason that it may not see, and makes no new list because of that', async (t) => {
  const { renew, database, userId, services, asked } = await openRecommendationServer(t)
  const [kids, adults] = [await addLibrary(database), await addLibrary(database)]
  const [mine, hidden] = [
    await addSeries(database, { library_id: kids, title: 'Mine' }),
    await addSeries(database, { library_id: adults, title: 'Hidden' }),
  ]
  const idOf = (series_id: string, external_id: string) => ({ series_id, source: 'plugin:taste', external_id })
  await database('series_external_ids').insert([idOf(mine, 'mine'), idOf(hidden, 'hidden')])
  const user = { userId, narrowedBy: null, permissions: new Set(PERMISSIONS) }
  const key = { ...user, narrowedBy: await addTestKey(database, userId) }
  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [kids] })
  await renew([item('mine', 0.9, { inLibrary: true }), item('hidden', 0.8, { inLibrary: true })])
  const shownTo = async (viewer: typeof user | typeof key) => {
    const { items, generatedAt } = await services.recommendations.get(viewer, null)
    return [generatedAt !== null, items.map(({ externalId, serviceSeriesId, inLibrary }) => [externalId, serviceSeriesId, inLibrary])]
  }
  t.same(await shownTo(user), [
    true,
    [
      ['mine', mine, true],
      ['hidden', hidden, true],
    ],
  ])
  t.same(await shownTo(key), [
    true,
    [
      ['mine', mine, true],
      ['hidden', undefined, false],
    ],
  ])

  await database('want_to_read').insert({ user_id: userId, series_id: hidden })
  await renew([item('other', 0.9, { reason: 'Because of Hidden.' })])
  const before = asked.length
  t.same(await shownTo(user), [true, [['other', undefined, false]]])
  t.same(await shownTo(key), [false, []], 'the reasons are of series that the key may not see')
  await t.rejects(services.recommendations.dismiss(key, null, { externalId: 'other', reason: null }), { code: 'not_found' })
  t.same([(await services.recommendations.get(key, null)).task, asked.length], [null, before], 'the list of the user stays')
})
