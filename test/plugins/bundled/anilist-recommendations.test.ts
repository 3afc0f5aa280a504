import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { PluginSession, type SessionOptions } from '#plugins/devkit/plugin-session.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { type AniListContent, openAniList } from '#test/support/anilist.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'
import type { LibraryEntry, Recommendation } from '../../../plugin-sdk/types.ts'

t.setTimeout(240_000)

const FOLDER = new URL('../../../plugins/bundled/anilist-recommendations/', import.meta.url)
const manifest = readManifest(await readFile(new URL('manifest.json', FOLDER)))
const code = await readFile(new URL('main.js', FOLDER), 'utf8')
const auth = manifest.auth

const DAY_MS = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()

/** A series of the library with this AniList identifier. */
const series = (id: number, more: Partial<LibraryEntry> = {}): LibraryEntry => ({
  ...{
    seriesId: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
    title: `Series ${id}`,
    externalIds: { 'plugin:anilist': String(id) },
  },
  ...{ rating: null, booksRead: 0, booksStarted: 0, lastReadAt: null },
  ...more,
})
const read = { booksRead: 3, booksStarted: 3, lastReadAt: ago(1) }

const work = (id: number, more: Record<string, unknown> = {}) => ({
  ...{ id, idMal: null, title: { english: `Work ${id}`, romaji: `Sakuhin ${id}`, native: null }, status: 'RELEASING', format: 'MANGA' },
  ...{ startDate: { year: 2010 }, countryOfOrigin: 'JP', genres: ['Drama'], tags: [], averageScore: 80, popularity: 900, volumes: 4 },
  ...more,
})
const recommends = (id: number, recommendations: [id: number | null, rating: number][], more: Record<string, unknown> = {}) =>
  work(id, { recommendations, ...more })
const entry = (mediaId: number, status: string, score: number, more: Record<string, unknown> = {}) => ({
  ...{ mediaId, status, score, updatedAt: Math.floor(Date.now() / 1000), media: { title: { english: `Listed ${mediaId}` } } },
  ...more,
})

type Change = Partial<Pick<SessionOptions, 'auth' | 'config' | 'userConfig' | 'library' | 'storage'>>

/** The bundle in its sandbox, with the library of the test; AniList has no rate limit here. */
async function openPlugin(t: Test, content: AniListContent, change: Change = {}) {
  const service = openAniList(content)
  const way = await openLoopback(t, service.answer)
  const built = { manifest: { ...manifest, http: {} }, code }
  const session = new PluginSession(findSupervisor(), built, { egress: new HttpsEgress(way), ...change })
  t.teardown(() => session.close())
  const ask = async (method: 'get' | 'refresh', input: object) => {
    const { answer, trace } = await session.call(`recommendations.${method}`, input)
    return { found: (answer as { recommendations: Recommendation[] }).recommendations, trace }
  }
  return {
    ...{ session, asked: service.asked },
    refresh: async (limit = 100) => (await ask('refresh', { limit })).found,
    get: async (limit = 100, exclude: string[] = []) => (await ask('get', { limit, exclude })).found,
    dismiss: async (externalId: string) => await session.call('recommendations.dismiss', { externalId, reason: null }),
    traced: async () => await ask('refresh', { limit: 200 }),
  }
}
const ids = (found: readonly Recommendation[]) => found.map(({ externalId }) => externalId)
const by = (found: readonly Recommendation[], id: number) => found.find(({ externalId }) => externalId === String(id))

t.test('recommendations are ordered by votes and by the weight of the seed', async (t) => {
  const media = [
    recommends(1, [
      [10, 200],
      [11, 20],
      [12, 5],
    ]),
    recommends(2, [
      [11, 150],
      [13, 150],
      [14, 900],
    ]),
    work(14, { type: 'ANIME' }),
    ...[10, 11, 12, 13].map((id) => work(id)),
  ]
  const library = [series(1, { ...read, rating: 100 }), series(2, { booksStarted: 1, lastReadAt: ago(2) })]
  const { refresh, asked } = await openPlugin(t, { media }, { library })
  const found = await refresh()
  t.same(ids(found), ['10', '11', '12', '13'])
  t.equal(found[0]?.score, 1)
  for (const [at, { score }] of found.entries()) t.ok(score > 0 && score <= (found[at - 1]?.score ?? 1))
  t.match(by(found, 10), { reason: 'Because you read Series 1', basedOn: ['Series 1'] })
  t.match(by(found, 11), { reason: 'Because you read Series 1 and Series 2', basedOn: ['Series 1', 'Series 2'] })
  t.match(by(found, 13), { reason: 'Because you read Series 2', basedOn: ['Series 2'] })
  t.equal(asked.length, 2, 'one request for the recommendations and one for their data')
  t.same(ids(await refresh(2)), ['10', '11'])
})

t.test('a recommendation has the data of AniList', async (t) => {
  const tag = { rank: 80, category: 'Theme', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: false }
  const whole = work(10, {
    ...{ idMal: 510, description: `A <i>long</i> story.${' word'.repeat(500)}`, chapters: 44, siteUrl: 'https://anilist.co/manga/10' },
    ...{ coverImage: { extraLarge: null, large: 'https://s4.anilist.co/l.jpg' } },
    tags: [
      { ...tag, name: 'Boats' },
      { ...tag, name: 'The End', isMediaSpoiler: true },
      { ...tag, name: 'Rare', rank: 10 },
    ],
  })
  const { refresh } = await openPlugin(t, { media: [recommends(1, [[10, 9]]), whole] }, { library: [series(1, read)] })
  const [found] = await refresh()
  t.match(found?.summary, /^A long story\. word.*…$/)
  t.ok((found?.summary ?? '').length <= 1_001)
  t.same(
    { ...found, summary: '' },
    {
      externalId: '10',
      title: 'Work 10',
      externalUrl: 'https://anilist.co/manga/10',
      coverUrl: 'https://s4.anilist.co/l.jpg',
      summary: '',
      genres: ['Drama'],
      tags: [{ name: 'Boats', category: 'Theme', rank: 80 }],
      score: 1,
      reason: 'Because you read Series 1',
      basedOn: ['Series 1'],
      inLibrary: false,
      status: 'ongoing',
      format: 'MANGA',
      countryOfOrigin: 'JP',
      startYear: 2010,
      rating: 80,
      popularity: 900,
      totalVolumeCount: 4,
      totalChapterCount: 44,
      externalIds: { anilist: '10', myanimelist: '510' },
    },
  )
})

t.test('started, dropped and dismissed works are left out, and planned ones are marked', async (t) => {
  const others = [10, 11, 12, 13, 14, 15, 16, 17].map((id): [number, number] => [id, 100 - id])
  const media = [recommends(1, [...others, [1, 99], [null, 50], [18, 0], [19, -4]]), ...others.map(([id]) => work(id)), work(18), work(19)]
  const list = [
    entry(11, 'COMPLETED', 80),
    entry(12, 'DROPPED', 0),
    entry(13, 'PLANNING', 0),
    entry(13, 'PLANNING', 0, { media: null }),
    entry(14, 'PAUSED', 0),
    { mediaId: null, status: 'CURRENT' },
  ]
  const library = [series(1, read), series(10, { booksStarted: 1 }), series(15, { rating: 20 }), series(16)]
  const { refresh, get, dismiss, session } = await openPlugin(t, { media, list }, { library, auth: 'connected' })
  const found = await refresh()
  t.same(ids(found), ['13', '16', '17'])
  t.same(
    found.map(({ inLibrary }) => inLibrary),
    [true, false, false],
    'here and never opened is not on the list',
  )
  await dismiss('16')
  await Promise.all([dismiss('17'), dismiss('17')])
  t.same(ids(await get()), ['13'])
  t.same(await get(100, ['13']), [])
  session.close()
  t.same(ids(await refresh()), ['13'], 'and never again')
  t.same(session.storage()['dismissed'], ['16', '17'])
})

t.test('the AniList list of the user gives seeds with its scores, from all chunks', async (t) => {
  const list = [
    ...Array.from({ length: 600 }, (_, index) => entry(1_000 + index, 'PLANNING', 0)),
    entry(1, 'COMPLETED', 95),
    entry(2, 'COMPLETED', 10),
    entry(3, 'DROPPED', 90),
    entry(4, 'CURRENT', 0),
  ]
  const media = [
    recommends(1, [[10, 40]]),
    recommends(2, [[11, 400]]),
    recommends(3, [[12, 400]]),
    recommends(4, [[10, 30]]),
    ...[10, 11, 12].map((id) => work(id)),
  ]
  const { refresh, asked } = await openPlugin(t, { media, list }, { auth: 'connected' })
  const found = await refresh()
  t.match(found, [{ externalId: '10', reason: 'Because you read Listed 1 and Listed 4', basedOn: ['Listed 1', 'Listed 4'] }])
  t.equal(found.length, 1, 'disliked and dropped works are no seeds')
  t.same(
    asked.map(({ variables }) => variables['chunk'] ?? variables['ids'] ?? null),
    [null, 1, 2, [1, 4], [10]],
  )
})

t.test('without an account the library is enough, and reasons use the titles in the library', async (t) => {
  const media = [recommends(1, [[10, 40]]), recommends(2, [[10, 20]]), work(10)]
  const library = [
    series(1, { ...read, title: '  The   name here ' }),
    series(2, { title: '', rating: 80, externalIds: { 'api:anilist': '2' } }),
    series(3, { ...read, externalIds: { myanimelist: '3' } }),
    series(4, { ...read, externalIds: { 'plugin:anilist': 'rubbish' } }),
  ]
  for (const state of ['none', 'missing'] as const) {
    const { refresh, asked } = await openPlugin(t, { media }, { library, auth: state })
    t.match(await refresh(), [
      { externalId: '10', reason: 'Because you liked The name here and Work 2', basedOn: ['The name here', 'Work 2'] },
    ])
    t.notOk(asked.some(({ query }) => query.includes('Viewer')))
    t.same(asked[0]?.variables['ids'], [1, 2])
  }
})

t.test('a user without account and identifiers gets advice', async (t) => {
  for (const library of [[], [series(1)], [series(1, { ...read, externalIds: {} })]]) {
    const { refresh, get, asked } = await openPlugin(t, {}, { library, auth: 'missing' })
    for (const ask of [refresh, get]) await t.rejects(ask(), { code: 'auth', message: /Connect your AniList account/ })
    t.equal(asked.length, 0)
  }
  const { refresh } = await openPlugin(t, {}, { library: [series(1)], auth: 'connected' })
  t.same(await refresh(), [], 'a user with an empty list gets no advice')
})

t.test('adult works are included only when administrator and user both allow them', async (t) => {
  const tag = { rank: 90, category: 'Sexual', name: 'Nudity', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: true }
  const media = [
    recommends(1, [
      [10, 40],
      [11, 20],
      [12, 10],
    ]),
    work(10, { isAdult: true, tags: [tag] }),
    work(11, { tags: [tag] }),
    { id: 12, title: null },
  ]
  const cases = [
    [{}, {}, ['11']],
    [{ adult: true }, {}, ['11']],
    [{}, { adult: true }, ['11']],
    [{ adult: true }, { adult: true, titleLanguage: 'romaji' }, ['10', '11']],
  ] as const
  for (const [config, userConfig, expected] of cases) {
    const { refresh } = await openPlugin(t, { media }, { config, userConfig, library: [series(1, read)] })
    const found = await refresh()
    t.same(ids(found), expected)
    t.equal(by(found, 11)?.tags?.length, expected.length - 1)
    t.equal(by(found, 11)?.title, expected.length === 2 ? 'Sakuhin 11' : 'Work 11')
  }
})

t.test('results are stored, and community recommendations are cached for a week', async (t) => {
  const media = [recommends(1, [[10, 40]]), work(10)]
  const { get, refresh, session, asked } = await openPlugin(t, { media }, { library: [series(1, read), series(7, read)] })
  t.same(ids(await get()), ['10'], 'also before the first refresh')
  t.equal(asked.length, 2)
  session.close()
  t.same(ids(await get()), ['10'])
  t.equal(asked.length, 2)
  t.same(ids(await refresh()), ['10'])
  t.equal(asked.length, 3, 'requests only the data; a work that AniList does not have is not requested each time either')
  const kept = session.storage()['communities'] as Record<string, { at: number; votes: unknown }>
  t.same(Object.keys(kept), ['1', '7'])

  const old = { 1: { ...kept['1'], at: Date.now() - 8 * DAY_MS }, 7: kept['7'], x: 5, 9: { votes: 'x' } }
  const later = await openPlugin(
    t,
    { media },
    { library: [series(1, read), series(7, read)], storage: { communities: old as never, kept: 'x' } },
  )
  t.same(ids(await later.get()), ['10'])
  t.same(
    later.asked.map(({ variables }) => variables['ids']),
    [[1], [10]],
  )
})

t.test('after a rate limit, only the rest is requested later', async (t) => {
  const library = Array.from({ length: 25 }, (_, index) => series(index + 1, read))
  const media = [...library.map((_, index) => recommends(index + 1, [[100 + index, 10]])), ...library.map((_, index) => work(100 + index))]
  const pause = {
    status: 429,
    headers: { 'retry-after': '60' },
    body: '{"errors":[{"message":"Too Many Requests.","status":429}],"data":null}',
  }
  const { refresh, asked } = await openPlugin(t, { media, instead: (index) => (index === 2 ? pause : undefined) }, { library })
  await t.rejects(refresh(), { code: 'rate_limited' })
  t.equal((await refresh()).length, 25)
  t.same(
    asked.map(({ variables }) => (variables['ids'] as number[]).length),
    [10, 10, 5, 5, 25],
  )
})

t.test('a large library and list take a dozen requests and little of a refresh’s time', async (t) => {
  const library = Array.from({ length: 3_000 }, (_, index) =>
    series(index + 1, index % 2 === 0 ? { ...read, rating: 60 + (index % 41) } : {}),
  )
  const list = Array.from({ length: 2_500 }, (_, index) => entry(10_000 + index, index % 3 === 0 ? 'PLANNING' : 'COMPLETED', index % 101))
  const votes = (id: number) => Array.from({ length: 25 }, (_, at): [number, number] => [20_000 + ((id * 7 + at) % 400), 300 - at * 10])
  const media = [
    ...library.map((_, index) => recommends(index + 1, votes(index + 1))),
    ...list.map(({ mediaId }) => recommends(mediaId, votes(mediaId))),
    ...Array.from({ length: 400 }, (_, at) => work(20_000 + at, { description: 'word '.repeat(1_000) })),
  ]
  const { traced, asked, session } = await openPlugin(t, { media, list }, { library, auth: 'connected' })
  const { found, trace } = await traced()
  t.equal(found.length, 150)
  t.equal(asked.length, 1 + 5 + 4 + 3)
  t.ok(trace.cpuMs < 2_500, `${trace.cpuMs} ms of 5,000`)
  const fractions = trace.progress.map(({ fraction }) => fraction)
  t.same(
    fractions,
    fractions.toSorted((a, b) => a - b),
    'it goes forward',
  )
  t.equal(fractions.at(-1), 1)
  t.ok(JSON.stringify(session.storage()).length < 500_000)
})

t.test('every failure has the right error code', async (t) => {
  const fault = (status: number, message: string) => JSON.stringify({ errors: [{ message, status }], data: null })
  const cases: [status: number, body: string, code: string][] = [
    [429, fault(429, 'Too Many Requests.'), 'rate_limited'],
    [404, fault(404, 'Not Found.'), 'not_found'],
    [500, fault(500, 'Internal Server Error'), 'upstream'],
    [401, fault(401, 'Unauthorized.'), 'auth'],
    [400, fault(400, 'Invalid token'), 'auth'],
    [200, fault(400, 'Invalid token'), 'auth'],
    [200, '<html>', 'upstream'],
  ]
  for (const [status, body, expected] of cases) {
    for (const state of ['connected', 'expired', 'missing'] as const) {
      const instead = () => ({ status, body, headers: { 'retry-after': '60' } })
      const { refresh } = await openPlugin(t, { instead }, { library: [series(1, read)], auth: state })
      await t.rejects(refresh(), { code: expected }, `${status} ${body.slice(0, 50)} ${state}`)
    }
  }
  for (const body of [
    '{"data":{}}',
    '{"data":{"Viewer":null,"Page":{"media":[null,{"id":"x"},{"id":1,"recommendations":{"nodes":[{}]}}]}}}',
  ]) {
    const { refresh } = await openPlugin(t, { instead: () => ({ status: 200, body }) }, { library: [series(1, read)], auth: 'connected' })
    t.same(await refresh(), [], 'an empty response gives no recommendations')
  }
})

t.test('two users of one server: each with their own sign-in and library, which only AniList receives', async (t) => {
  const media = [recommends(1, [[10, 40]]), recommends(2, [[11, 40]]), recommends(3, [[12, 40]]), work(10), work(11), work(12)]
  const service = openAniList({ media, list: [entry(2, 'COMPLETED', 90)], tokens: { 'token-of-rita': 7 } })
  const { database, host, way } = await openTestHost(t, service.answer)
  const { plugin, sha256 } = await host.pluginLifecycle.install((await getBundledPlugin('anilist-recommendations')).bytes, { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const [rita, ravi] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  const add = async (id: number) => {
    const series_id = await addSeries(database, { library_id, title: `Series ${id}` })
    await database('series_external_ids').insert({ series_id, source: 'plugin:anilist', external_id: String(id) })
    const book_id = await addBook(database, { library_id, series_id, title: 'One' })
    return { series_id, book_id }
  }
  const [first, third] = [await add(1), await add(3)]
  const finish = (userId: string, book_id: string) =>
    database('read_progress').insert({ user_id: userId, book_id, current_page: 1, completed: true })
  await finish(rita.userId, first.book_id)
  await finish(ravi.userId, first.book_id)
  await finish(ravi.userId, third.book_id)
  await shareSeries(database, { seriesId: third.series_id, caller: ravi, mode: 'deny' })
  await host.pluginCredentials.set({ pluginId: plugin.id, userId: rita.userId }, auth, { accessToken: 'token-of-rita' })
  t.equal(await host.plugins.authStatus(await host.plugins.get(plugin.id), rita.userId), 'connected')
  t.equal(await host.plugins.authStatus(await host.plugins.get(plugin.id), ravi.userId), 'missing')

  for (const { userId } of [rita, ravi]) await agree(host, database, { pluginId: plugin.id, userId })
  const refresh = async (userId: string) => {
    const { result } = await host.pluginCalls.call({ pluginId: plugin.id, method: 'recommendations.refresh', input: { limit: 10 }, userId })
    return (result as { recommendations: Recommendation[] }).recommendations
  }
  t.same(ids(await refresh(ravi.userId)), ['10'], 'series that he may no longer see are no seeds')
  t.ok(way.asked.every(({ headers }) => headers.authorization === undefined))
  const before = way.asked.length
  const forRita = await refresh(rita.userId)
  t.same(ids(forRita).toSorted(), ['10', '11'])
  t.match(by(forRita, 11), { reason: 'Because you read Listed 2' })
  const hers = way.asked.slice(before)
  t.equal(hers.length, 4)
  t.ok(hers.every(({ headers, host: name }) => headers.authorization === 'Bearer token-of-rita' && /^graphql\.anilist\.co(:|$)/.test(name)))

  await host.pluginCredentials.set({ pluginId: plugin.id, userId: rita.userId }, auth, { accessToken: 'token-that-was-revoked' })
  await t.rejects(refresh(rita.userId), { code: 'unavailable', details: { code: 'auth' }, message: /Connect your account again/ })
  t.equal((await host.plugins.get(plugin.id)).state, 'enabled')
})

t.test('it passes the conformance checks', async (t) => {
  const { code: ended, stdout, stderr } = await runTool(fileURLToPath(FOLDER), ['test'])
  t.equal(ended, 0, stdout + stderr)
  t.notMatch(stdout, /save a call of it/, 'every function has a saved call')
})
