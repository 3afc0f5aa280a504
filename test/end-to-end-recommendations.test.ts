import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findOutsideCorpus } from '#test/support/corpus.ts'
import { makePicture } from '#test/support/pictures.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

/** Two tastes that have nothing in common, and what the provider of this test knows of each series. */
const TASTES = { swords: ['Sword and Sorcery', 'Barbarians'], love: ['Romance', 'School Life'] } as const
const SERIES = Object.entries(TASTES).flatMap(([taste, genres]) =>
  Array.from({ length: 8 }, (_, index) => ({
    title: `${taste === 'swords' ? 'Steel' : 'Heart'} Saga ${'ABCDEFGH'[index]}`,
    taste,
    genres,
  })),
)
const PASSWORD = 'Correct-horse-2'

/** Knows what it is built with: the answers of a service, written down. */
function providerOf(works: readonly { title: string; genres: readonly string[] }[]): Buffer {
  const catalog = works.map((work, index) => ({
    externalId: `w${index}`,
    summary: `All about ${work.title}.`,
    publisher: 'The provider',
    year: 2000 + (index % 20),
    ...work,
  }))
  return pluginOf(
    `const catalog = ${JSON.stringify(catalog)}
export default { metadata: { series: {
  search: ({ query, limit }) => ({ results: catalog.filter(({ title }) => title === query).slice(0, limit).map(({ externalId, title }) => ({ externalId, title, relevance: 1 })) }),
  get: ({ externalId }) => catalog.find((work) => work.externalId === externalId) } } }`,
    {
      id: 'org.example.catalog',
      name: 'Catalog',
      capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'catalog' } },
      permissions: {},
    },
  )
}

/** Takes its time, so that it can be killed in the middle of it. */
const SLOW = pluginOf(
  `export default { recommendations: {
  async refresh(request, ctx) {
    for (let step = 1; step <= 6; step++) { await ctx.sleep(500); ctx.progress(step / 6, 'step ' + step) }
    return { recommendations: [{ externalId: 'far', title: 'From far away', score: 0.5, reason: 'Because it was worth the wait' }] }
  },
  async get(request, ctx) { return this.refresh(request, ctx) } } }`,
  {
    id: 'org.example.slow',
    name: 'Slow',
    capabilities: { recommendations: { methods: ['get', 'refresh'] } },
    permissions: { library: ['series.titles'] },
  },
)

interface Recommended {
  pluginName: string
  recommendations: {
    externalId: string
    title: string
    reason: string
    score: number
    basedOn: string[]
    inService: boolean
    serviceSeriesId: string | null
    inLibrary: boolean
  }[]
  taskId: string | null
  taskStatus: string | null
  generatedAt: string | null
}

type Ask = <T>(method: string, path: string, body?: unknown) => Promise<{ status: number; json: T }>
const asking =
  (server: RunningServer, token: string): Ask =>
  async (method, path, body) => {
    const form = body instanceof FormData
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && !form && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
  }

async function signIn(server: RunningServer, username: string): Promise<Ask> {
  const answer = await asking(server, '')<{ accessToken: string }>('POST', '/auth/login', { username, password: PASSWORD })
  return asking(server, answer.json.accessToken)
}

async function install(admin: Ask, bytes: Buffer): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([Uint8Array.from(bytes)]), 'x.plugin')
  const { json } = await admin<{ plugin: { id: string }; sha256: string }>('POST', '/admin/plugins', form)
  await admin('POST', `/admin/plugins/${json.plugin.id}/consent`, { sha256: json.sha256 })
  return json.plugin.id
}

async function until<T>(ask: () => Promise<T>, isDone: (value: T) => boolean, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const value = await ask()
    if (isDone(value)) return value
    if (Date.now() > deadline) throw new Error(`it did not come to this in ${timeoutMs} ms: ${JSON.stringify(value).slice(0, 1_000)}`)
    // Between two looks.
    await sleep(150)
  }
}

const awaitTask = (ask: Ask, taskId: string) =>
  until(
    async () => (await ask<{ status: string; result: unknown; lastError: string | null }>('GET', `/tasks/${taskId}`)).json,
    ({ status }) => status !== 'pending' && status !== 'processing',
  )

t.test('plugins fill a library in, and readers are told what suits them', async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-story-'))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const page = await makePicture({ width: 40, height: 60 })
  for (const { title } of SERIES) {
    mkdirSync(join(room, 'books', title), { recursive: true })
    for (const volume of [1, 2])
      writeFileSync(join(room, 'books', title, `${title} v${volume}.cbz`), buildZip([{ name: '1.jpg', data: page }]))
  }
  const start = () => startServer({ dataFolder: join(room, 'data'), args: ['--library', join(room, 'books')] })
  let server = await start()
  t.teardown(() => server.stop())
  let admin = asking(server, (server.headers['authorization'] as string).slice('Bearer '.length))
  const library = (await server.get<{ data: { id: string }[] }>('/api/v1/libraries')).data[0] as { id: string }
  await awaitScan(server, library.id, { analyzed: true, timeoutMs: 60_000 })
  const { data: listed } = await server.get<{ data: { id: string; title: string }[] }>('/api/v1/series?pageSize=100')
  const idOf = (title: string) => listed.find((series) => series.title === title)?.id as string
  t.equal(listed.length, SERIES.length)

  // Three plugins: one that comes with the server, two that somebody uploads.
  const provider = await install(admin, providerOf(SERIES))
  const slow = await install(admin, SLOW)
  const bundled = await admin<{ pluginId: string; sha256: string }>('POST', '/admin/bundled-plugins/similar-in-library/install', {})
  t.equal(bundled.status, 201)
  await admin('POST', `/admin/plugins/${bundled.json.pluginId}/consent`, { sha256: bundled.json.sha256 })
  const similar = bundled.json.pluginId

  // One series has a hand edit and a lock before anything is matched.
  const edited = idOf('Steel Saga A')
  await admin('PATCH', `/series/${edited}/metadata`, { publisher: 'By hand' })
  await admin('PUT', `/series/${edited}/metadata/locks`, { summary: true })
  const { json: queued } = await admin<{ taskIds: string[] }>('POST', `/libraries/${library.id}/metadata/auto-match/task`, {
    pluginId: provider,
  })
  t.match(await awaitTask(admin, queued.taskIds[0] as string), {
    status: 'completed',
    result: { processed: SERIES.length, matched: SERIES.length },
  })
  t.match(
    (await admin('GET', `/series/${edited}/metadata`)).json,
    { publisher: 'By hand', summary: null, year: 2000 },
    'what was locked or given by hand stays',
  )
  t.match((await admin('GET', `/series/${idOf('Heart Saga B')}/metadata`)).json, {
    publisher: 'The provider',
    summary: 'All about Heart Saga B.',
  })

  // Two readers with different taste.
  for (const username of ['anna', 'ben'])
    await admin('POST', '/users', { username, email: `${username}@example.org`, password: PASSWORD, role: 'reader' })
  const readers = { anna: await signIn(server, 'anna'), ben: await signIn(server, 'ben') }
  const finish = async (reader: Ask, title: string) =>
    t.equal((await reader('POST', `/series/${idOf(title)}/read`)).status, 200, `read ${title}`)
  for (const letter of ['A', 'B', 'C']) {
    await finish(readers.anna, `Steel Saga ${letter}`)
    await finish(readers.ben, `Heart Saga ${letter}`)
  }
  const recommended = (reader: Ask, pluginId: string) =>
    until(
      async () => (await reader<Recommended>('GET', `/user/recommendations?pluginId=${pluginId}`)).json,
      ({ recommendations, taskId }) => recommendations?.length > 0 && !taskId,
    )
  const first: Record<string, Recommended> = {}
  for (const [name, reader] of Object.entries(readers)) {
    t.equal((await reader('GET', '/user/recommendations')).status, 404, 'nobody recommends before it is switched on')
    await reader('GET', '/user/plugins')
    t.equal((await reader('POST', `/user/plugins/${similar}/enable`)).status, 200)
    first[name] = await recommended(reader, similar)
  }
  const own = { anna: 'Steel Saga', ben: 'Heart Saga' }
  for (const name of ['anna', 'ben'] as const) {
    const { recommendations } = first[name] as Recommended
    const [best] = recommendations
    t.match(
      best,
      { title: new RegExp(`^${own[name]} [D-H]$`), inService: true, inLibrary: true },
      `${name} is told of her or his own kind first`,
    )
    t.equal(best?.serviceSeriesId, idOf(best?.title as string))
    const named = SERIES.filter(({ title }) => best?.reason.includes(title)).map(({ title }) => title)
    t.ok(named.length > 0 && named.every((title) => /[ABC]$/.test(title) && title.startsWith(own[name])), `a true reason: ${best?.reason}`)
    t.notOk(
      recommendations.some(({ title }) => new RegExp(`^${own[name]} [ABC]$`).test(title)),
      'nothing that was read',
    )
  }

  // One is dismissed and never comes back, whatever the plugin says.
  const [gone] = (first.anna as Recommended).recommendations as [Recommended['recommendations'][number]]
  t.match(
    (await readers.anna('POST', `/user/recommendations/${gone.externalId}/dismiss?pluginId=${similar}`, { reason: 'not_interested' })).json,
    { dismissed: true },
  )
  const refreshed = await readers.anna<{ taskId: string }>('POST', `/user/recommendations/refresh?pluginId=${similar}`)
  t.equal(refreshed.status, 202)
  const after = await recommended(readers.anna, similar)
  t.notOk(after.recommendations.some(({ externalId }) => externalId === gone.externalId))
  t.ok(after.recommendations.length > 0)

  // Killed in the middle of a refresh, it is finished after the restart.
  await readers.ben('GET', '/user/plugins')
  await readers.ben('POST', `/user/plugins/${slow}/enable`)
  const waiting = await readers.ben<Recommended>('GET', `/user/recommendations?pluginId=${slow}`)
  t.match(waiting.json, { recommendations: [], taskId: /-/, taskStatus: /pending|running/ })
  // The task has called the slow plugin by then.
  await sleep(1_500)
  await server.kill()
  server = await start()
  admin = asking(server, (server.headers['authorization'] as string).slice('Bearer '.length))
  const ben = await signIn(server, 'ben')
  t.match(
    (await ben<Recommended>('GET', `/user/recommendations?pluginId=${similar}`)).json,
    { recommendations: [{ title: /^Heart/ }] },
    'what was there is there at once',
  )
  const finished = await until(
    async () => (await ben<Recommended>('GET', `/user/recommendations?pluginId=${slow}`)).json,
    ({ recommendations }) => recommendations.length > 0,
    90_000,
  )
  t.match(finished.recommendations, [{ title: 'From far away', reason: 'Because it was worth the wait' }])
  const anna = await signIn(server, 'anna')
  const left = (await anna<Recommended>('GET', `/user/recommendations?pluginId=${similar}`)).json
  t.notOk(
    left.recommendations.some(({ externalId }) => externalId === gone.externalId),
    'still dismissed',
  )
})

const corpus = findOutsideCorpus()
t.test(
  'real books are matched by what a provider knows of them, and locks hold',
  { skip: corpus === null ? 'the corpus is not here' : false },
  async (t) => {
    if (corpus === null) return
    const room = mkdtempSync(join(tmpdir(), 'carrel-story-'))
    t.teardown(() => rmSync(room, { recursive: true, force: true }))
    // A folder each, so that each is a series of its own. All of them are read and listed in the test of the whole corpus.
    const small = corpus.files.filter(
      ({ path, size, notABook }) => /^(comics|epub)\/.*\.(cb[rz]|epub)$/.test(path) && !notABook && size < 500_000,
    )
    const chosen = small.filter((_, index) => index % Math.ceil(small.length / 24) === 0)
    for (const [index, { path }] of chosen.entries()) {
      mkdirSync(join(room, 'books', `Folder ${index}`), { recursive: true })
      copyFileSync(join(corpus.folder, path), join(room, 'books', `Folder ${index}`, basename(path)))
    }
    const server = await startServer({ dataFolder: join(room, 'data'), args: ['--library', join(room, 'books')] })
    t.teardown(() => server.stop())
    const admin = asking(server, (server.headers['authorization'] as string).slice('Bearer '.length))
    const library = (await server.get<{ data: { id: string }[] }>('/api/v1/libraries')).data[0] as { id: string }
    await awaitScan(server, library.id, { analyzed: true, timeoutMs: 180_000 })
    const { data: series } = await server.get<{ data: { id: string; title: string }[] }>('/api/v1/series?pageSize=100')
    t.equal(series.length, chosen.length)
    const known = series.filter((_, index) => index % 2 === 0)
    const locked = known[0] as { id: string; title: string }
    await admin('PUT', `/series/${locked.id}/metadata/locks`, { genres: true, year: true })
    const before = (await admin<Record<string, unknown>>('GET', `/series/${locked.id}/metadata`)).json
    const pluginId = await install(admin, providerOf(known.map(({ title }) => ({ title, genres: ['From the provider'] }))))
    const { json } = await admin<{ taskIds: string[] }>('POST', `/libraries/${library.id}/metadata/auto-match/task`, { pluginId })
    const task = await awaitTask(admin, json.taskIds[0] as string)
    t.match(task, { status: 'completed', result: { processed: series.length } })
    t.ok((task.result as { matched: number }).matched >= known.length * 0.9, JSON.stringify(task.result).slice(0, 300))
    const now = (await admin<Record<string, unknown>>('GET', `/series/${locked.id}/metadata`)).json
    t.same([now['year'], now['genres']], [before['year'], before['genres']], 'locked')
  },
)
