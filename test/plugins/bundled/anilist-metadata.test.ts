import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { type AniListContent, openAniList } from '#test/support/anilist.ts'
import { openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

const { bytes } = await getBundledPlugin('anilist-metadata')

const staff = (...people: [role: string | null, full: string | null, native?: string][]) => ({
  edges: people.map(([role, full, native = null]) => ({ role, node: { name: { full, native } } })),
})

/** A manga with everything that AniList may return. */
const BERRIES = {
  id: 30901,
  idMal: 901,
  title: { romaji: 'Kiichigo no Ki', english: 'The Bramble War', native: '木苺の記', userPreferred: 'Kiichigo no Ki' },
  synonyms: ['Bramble', 'kiichigo no ki', '', null, 'Война ежевики'],
  description:
    'In a hedge, two armies &mdash; of <i>thrushes</i> &amp; <b>wasps</b>.<br><br>\n~!The hedge dies.!~Nobody &lt;remembers&gt; why. See [the map](https://example.org/map).<br>\n<br>\n(Source: Hedge &amp; Sons, <i>edited</i>)',
  status: 'HIATUS',
  format: 'MANGA',
  chapters: null,
  volumes: 12,
  startDate: { year: 2003, month: 4, day: null },
  countryOfOrigin: 'JP',
  genres: ['Action', 'Drama', 'Hentai'],
  tags: [
    { name: 'Birds', rank: 70, category: 'Theme', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: false },
    { name: 'War', rank: 96, category: 'Theme', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: false },
    { name: 'Everybody Dies', rank: 99, category: 'Theme', isGeneralSpoiler: false, isMediaSpoiler: true, isAdult: false },
    { name: 'Twist', rank: 98, category: 'Theme', isGeneralSpoiler: true, isMediaSpoiler: false, isAdult: false },
    { name: 'Nudity', rank: 97, category: 'Sexual', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: true },
    { name: 'School', rank: 20, category: 'Setting', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: false },
    null,
  ],
  staff: staff(
    ['Story & Art', 'Hana Morino', '森野花'],
    ['Original Creator', 'Ken  Arai'],
    ['Translator (English)', 'Ann Lee'],
    ['Translator (Polish)', 'Ewa Nowak'],
    ['Lettering (English: vols 1-3)', 'Bo Carr'],
    ['Editing', null, '編集 太郎'],
    ['Assistant (former)', 'Young One'],
    ['Story & Art', 'Hana Morino'],
    [null, 'Somebody'],
    ['Art', null],
  ),
  coverImage: {
    extraLarge: 'https://s4.anilist.co/file/cover/large/bx30901.jpg',
    large: 'https://s4.anilist.co/file/cover/medium/bx30901.jpg',
  },
  bannerImage: null,
  averageScore: 84,
  meanScore: 85,
  popularity: 54_321,
  isAdult: false,
  siteUrl: 'https://anilist.co/manga/30901',
  externalLinks: [
    { url: 'https://www.viz.com/bramble', site: 'Official Site' },
    { url: 'https://hedge.example.org/bramble', site: 'A site that the manifest does not name' },
    { url: 'javascript:alert(1)', site: 'No' },
    { url: 'https://tapas.io/x', site: null },
  ],
}
/** The novel that it adapts: the same titles, in a minimal record. */
const NOVEL = {
  ...{ id: 30902, title: { romaji: 'Kiichigo no Ki', english: null, native: '木苺の記', userPreferred: 'Kiichigo no Ki' }, synonyms: [] },
  ...{ description: null, status: 'FINISHED', format: 'NOVEL', volumes: 0, startDate: { year: null }, countryOfOrigin: 'JP', genres: [] },
  ...{ tags: [], coverImage: { extraLarge: 'https://s4.anilist.co/file/cover/large/default.jpg', large: null }, averageScore: null },
  ...{ meanScore: null, isAdult: false, siteUrl: null, externalLinks: null, popularity: 10 },
  staff: staff(['Story', 'Ken Arai'], ['Illustration', 'Hana Morino'], ['Cover Illustration', 'Hana Morino']),
}
const STRIP = {
  ...{
    id: 30903,
    title: { romaji: null, english: null, native: '벌의 탑', userPreferred: '벌의 탑' },
    status: 'CANCELLED',
    format: 'MANGA',
  },
  ...{ countryOfOrigin: 'KR', startDate: { year: 2019 }, isAdult: true, meanScore: 61, genres: ['Hentai'] },
  tags: [{ name: 'Long Strip', rank: 90, category: 'Technical', isGeneralSpoiler: false, isMediaSpoiler: false, isAdult: false }],
}
const LATER = {
  id: 30904,
  title: { romaji: null, english: 'The Bramble War', native: null },
  startDate: { year: 2021 },
  status: 'NOT_YET_RELEASED',
}
/** Every member has a wrong type. */
const RUBBISH = {
  ...{
    id: 30905,
    title: 'Bramble',
    synonyms: 'x',
    description: ['x'],
    status: 'DANCING',
    format: 7,
    startDate: 2003,
    genres: null,
    tags: 'x',
  },
  ...{ staff: { edges: [null, { role: 1, node: null }] }, coverImage: 'x', averageScore: 'good', chapters: -1, countryOfOrigin: '🇯🇵' },
}
const MEDIA = [BERRIES, NOVEL, STRIP, LATER, RUBBISH]

// Installed once: the host's cache of requests ends with it, and the plugin stores nothing.
const { database, host: installer } = await openTestHost(t)
const { plugin, sha256 } = await installer.pluginLifecycle.install(bytes, { userId: null })
await installer.pluginLifecycle.consent(plugin.id, { sha256 })

async function openMetadata(t: Test, content: AniListContent = { media: MEDIA }, config: Record<string, unknown> = {}) {
  const service = openAniList(content)
  const { host, way } = await openHostOn(t, database, service.answer)
  await host.plugins.edit(plugin.id, { config })
  const named =
    (method: string) =>
    async (input: Record<string, unknown>): Promise<Record<string, unknown>> =>
      (await host.pluginCalls.call({ pluginId: plugin.id, method: `metadata.series.${method}`, input, userId: null })).result as Record<
        string,
        unknown
      >
  return { host, way, asked: service.asked, search: named('search'), get: named('get'), match: named('match') }
}
const idsOf = (answer: Record<string, unknown>, member = 'results') =>
  (answer[member] as { externalId: string }[]).map(({ externalId }) => externalId)

t.test('a series has all data of AniList except spoilers', async (t) => {
  const { get, way, asked } = await openMetadata(t)
  t.same(await get({ externalId: '30901' }), {
    externalId: '30901',
    externalUrl: 'https://anilist.co/manga/30901',
    title: 'The Bramble War',
    alternateTitles: [
      { title: 'Kiichigo no Ki', language: 'ja-Latn', label: 'Romaji' },
      { title: '木苺の記', language: 'ja', label: 'Native' },
      { title: 'Bramble', language: null, label: 'Synonym' },
      { title: 'Война ежевики', language: null, label: 'Synonym' },
    ],
    summary: 'In a hedge, two armies — of thrushes & wasps.\n\nNobody  why. See the map.',
    status: 'hiatus',
    year: 2003,
    authors: [
      { name: 'Hana Morino', role: 'writer' },
      { name: 'Hana Morino', role: 'penciller' },
      { name: 'Ken Arai', role: 'writer' },
      { name: 'Ann Lee', role: 'translator' },
      { name: 'Bo Carr', role: 'letterer' },
      { name: '編集 太郎', role: 'editor' },
      { name: 'Young One', role: 'contributor' },
      { name: 'Somebody', role: 'contributor' },
    ],
    genres: ['Action', 'Drama'],
    tags: ['War', 'Birds'],
    coverUrl: 'https://s4.anilist.co/file/cover/large/bx30901.jpg',
    rating: { score: 84 },
    externalLinks: [
      { label: 'Official Site', url: 'https://www.viz.com/bramble' },
      { label: 'Link', url: 'https://tapas.io/x' },
    ],
    externalIds: { myanimelist: '901' },
    readingDirection: 'rtl',
    ageRating: null,
    totalVolumeCount: 12,
    totalChapterCount: null,
  })
  t.same(asked[0]?.variables, { id: 30901 })
  t.match(way.asked[0], { method: 'POST', url: '/', headers: { 'content-type': 'application/json' } })
  t.equal(way.asked[0]?.headers.authorization, undefined, 'the request contains no user')
})

t.test('a minimal record gives minimal metadata', async (t) => {
  const { get } = await openMetadata(t)
  t.match(await get({ externalId: '30902' }), {
    title: 'Kiichigo no Ki',
    alternateTitles: [{ title: '木苺の記', language: 'ja' }],
    externalUrl: 'https://anilist.co/manga/30902',
    summary: null,
    status: 'ended',
    year: null,
    authors: [
      { name: 'Ken Arai', role: 'author' },
      { name: 'Hana Morino', role: 'illustrator' },
      { name: 'Hana Morino', role: 'cover_artist' },
    ],
    coverUrl: null,
    rating: null,
    externalLinks: [],
    externalIds: {},
    readingDirection: null,
    totalVolumeCount: null,
  })
  t.match(await get({ externalId: '30903' }), {
    title: '벌의 탑',
    status: 'abandoned',
    readingDirection: 'webtoon',
    ageRating: 18,
    rating: { score: 61 },
    genres: [],
  })
  t.match(await get({ externalId: '30904' }), { status: 'unknown', readingDirection: null, authors: [], tags: [], summary: null })
  t.match(await get({ externalId: '30905' }), {
    ...{ title: null, alternateTitles: [], summary: null, status: null, year: null, authors: [], genres: [], tags: [], coverUrl: null },
    ...{ rating: null, totalChapterCount: null, readingDirection: null },
  })
})

t.test('settings choose the language of titles, adult works, the minimum rank of tags, and the edition', async (t) => {
  const config = { titleLanguage: 'romaji', adult: true, tagRankMin: 10, editionLanguage: 'polish' }
  const { get, search } = await openMetadata(t, { media: MEDIA }, config)
  const found = await get({ externalId: '30901' })
  t.match(found, {
    title: 'Kiichigo no Ki',
    genres: ['Action', 'Drama', 'Hentai'],
    tags: ['Nudity', 'War', 'Birds', 'School'],
  })
  const translators = (found['authors'] as { name: string; role: string }[]).filter(({ role }) => role === 'translator')
  t.same(translators, [{ name: 'Ewa Nowak', role: 'translator' }])
  t.same(idsOf(await search({ query: '벌의', limit: 5 })), ['30903'])
})

t.test('search finds series by any title, page by page, without adult works', async (t) => {
  const { search, asked } = await openMetadata(t)
  const first = await search({ query: ' the bramble  war ', limit: 5 })
  t.match(first, {
    results: [
      {
        externalId: '30901',
        title: 'The Bramble War',
        alternateTitles: ['Kiichigo no Ki', '木苺の記', 'Bramble', 'Война ежевики'],
        year: 2003,
        coverUrl: 'https://s4.anilist.co/file/cover/large/bx30901.jpg',
        relevance: 1,
        preview: { status: 'hiatus', genres: ['Action', 'Drama'], rating: 84, bookCount: 12 },
      },
      { externalId: '30904', year: 2021, relevance: 1, preview: { status: 'unknown', rating: null, description: null } },
    ],
    nextCursor: null,
  })
  t.match(await search({ query: 'kiichigo', limit: 1 }), { results: [{ externalId: '30901' }], nextCursor: '2' })
  t.match(await search({ query: 'kiichigo', limit: 1, cursor: '2' }), { results: [{ externalId: '30902' }], nextCursor: null })
  t.same(await search({ query: '벌의', limit: 5 }), { results: [], nextCursor: null })
  t.same(
    asked.map(({ variables }) => variables['page']),
    [1, 1, 2, 1],
  )
  t.same(await search({ query: ' \n', limit: 5 }), { results: [], nextCursor: null })
  t.equal(asked.length, 4, 'an empty query sends no request')
})

t.test('search accepts the URL of an AniList page', async (t) => {
  const { search, asked } = await openMetadata(t)
  t.match(await search({ query: 'https://anilist.co/manga/30902/Kiichigo/', limit: 5 }), {
    results: [{ externalId: '30902', relevance: 1 }],
  })
  t.same(await search({ query: 'https://anilist.co/manga/99', limit: 5 }), { results: [], nextCursor: null })
  t.same(
    asked.map(({ variables }) => variables),
    [{ id: 30902 }, { id: 99 }],
  )
})

t.test('a series is matched by its external identifiers', async (t) => {
  const { match, asked } = await openMetadata(t)
  t.match(await match({ title: 'Wholly different', externalIds: { 'plugin:anilist': '30902' } }), {
    match: { externalId: '30902' },
    confidence: 1,
  })
  t.match(await match({ title: '', externalIds: { 'plugin:anilist': 'x', myanimelist: '901' } }), {
    match: { externalId: '30901' },
    confidence: 0.95,
  })
  t.match(await match({ title: '벌의', externalIds: { anilist: '404' } }), { match: null, confidence: 0 })
  t.equal(asked.length, 4)
})

t.test('a series is matched by its titles, and by author and year among equal titles', async (t) => {
  const { match, asked } = await openMetadata(t)
  const sure = await match({ title: 'Bramble War', authors: ['Morino, Hana'], year: 2004 })
  t.match(sure, { match: { externalId: '30901' }, confidence: 1 })
  t.same(idsOf(sure, 'alternatives'), ['30904'])
  t.match(await match({ title: 'The Bramble War', year: 2021 }), { match: { externalId: '30904' } })
  t.match(
    await match({ title: '木苺の記', authors: ['Ken Arai'] }),
    { match: { externalId: '30901' }, confidence: 0.75 },
    'a manga and its novel are indistinguishable: the more popular one comes first',
  )
  t.match(await match({ title: 'The Bramble War', authors: ['Jane Austen'] }), { match: { externalId: '30904' }, confidence: 0.95 })
  t.equal(asked.length, 4)
  t.same(await match({ title: '  ' }), { match: null, confidence: 0, alternatives: [] })
  t.match(await match({ title: 'hedgehog', alternateTitles: ['Bramble'] }), { match: { externalId: '30901' } }, 'by another name')
  t.equal(asked.length, 6)
  const names = ['badger', 'weasel', 'Kiichigo no Ki']
  t.same(await match({ title: 'hedgehog', alternateTitles: names }), { match: null, confidence: 0, alternatives: [] })
  t.equal(asked.length, 9, 'at most three titles are searched')
})

t.test('missing entries and invalid responses have the right error code', async (t) => {
  const say = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
    ...{ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) },
  })
  const fault = (status: number, message: string) => ({ errors: [{ message, status, locations: [{ line: 1, column: 2 }] }], data: null })
  const cases: [said: ReturnType<typeof say>, code: string, message: RegExp, retryAfterSeconds?: number][] = [
    [say(404, fault(404, 'Not Found.')), 'not_found', /no entry with this identifier/],
    [say(200, fault(404, 'Not Found.')), 'not_found', /no entry with this identifier/],
    [say(429, fault(429, 'Too Many Requests.'), { 'retry-after': '59' }), 'rate_limited', /rate limit/, 59],
    [say(200, fault(429, 'Too Many Requests.')), 'rate_limited', /rate limit/, 60],
    [say(429, '', { 'retry-after': '999999999' }), 'rate_limited', /rate limit/, 3_600],
    [say(503, '', { 'retry-after': '120' }), 'rate_limited', /rate limit/, 120],
    [say(500, fault(500, 'Internal Server Error')), 'upstream', /answered 500: Internal Server Error/],
    [say(503, '<html>Maintenance</html>'), 'upstream', /answered 503\./],
    [say(403, fault(403, 'The API has been temporarily disabled.')), 'upstream', /answered 403: The API has been temporarily disabled/],
    [say(401, fault(401, 'Unauthorized.')), 'auth', /Connect your account again/],
    [say(400, fault(400, 'Invalid token')), 'auth', /Connect your account again/],
    [say(400, fault(400, `validation ${'x'.repeat(5_000)}`)), 'upstream', /^(?!.{400}).*answered 400: validation x/],
    [say(200, fault(400, 'Max query complexity')), 'upstream', /returned an error: Max query complexity/],
    [say(200, '<!doctype html>'), 'upstream', /an unexpected response/],
    [say(200, '{"data":{"Media":'), 'upstream', /an unexpected response/],
    [say(200, { data: [] }), 'upstream', /an unexpected response/],
    [say(200, { data: { Media: null } }), 'not_found', /no entry with this identifier/],
  ]
  // Five at a time: more requests without a pause would exceed the rate limit.
  for (let from = 0; from < cases.length; from += 5) {
    const some = cases.slice(from, from + 5)
    const { get, host } = await openMetadata(t, { instead: (index) => some[index]?.[0] })
    for (const [said, code, message, retryAfterSeconds] of some) {
      const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
      const rejects = { code: code === 'not_found' ? code : 'unavailable', details: { code }, message, ...wait }
      await t.rejects(get({ externalId: '1' }), rejects, `${said.status} ${said.body.slice(0, 60)}`)
    }
    t.equal((await host.plugins.get(plugin.id)).state, 'enabled', 'none of this counts against the plugin')
  }
  const { get, asked } = await openMetadata(t)
  for (const externalId of ['', 'x', '0', '-1', '1.5', '1e3', '30901/../1', '99999999999', '2147483648'])
    await t.rejects(get({ externalId }), { code: 'not_found', message: /not an identifier of AniList/ }, externalId)
  t.equal(asked.length, 0)
})

t.test('any description is parsed fast', async (t) => {
  const hostile = ['~!', '<', '<br', '(Source', '[a](', '&#', '\n ', ' '].map((text, index) => ({
    ...{ id: index + 1, title: { english: `Hostile ${index}` }, description: text.repeat(20_000) },
  }))
  const { search } = await openMetadata(t, { media: hostile })
  const began = performance.now()
  t.equal(idsOf(await search({ query: 'hostile', limit: 50 })).length, hostile.length, 'within its 500 ms of CPU time')
  t.ok(performance.now() - began < 30_000)
})

t.test('it passes the conformance checks', async (t) => {
  const folder = fileURLToPath(new URL('../../../plugins/bundled/anilist-metadata', import.meta.url))
  const { code, stdout, stderr } = await runTool(folder, ['test'])
  t.equal(code, 0, stdout + stderr)
  t.notMatch(stdout, /save a call of it/, 'every function has a saved call')
})
