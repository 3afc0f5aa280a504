import t from 'tap'
import { onlyFull } from '#test/support/lane-size.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { OAUTH, openUserPluginServer, RECOMMENDER, RECOMMENDER_MANIFEST, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

interface Consent {
  sha256: string
  lines: string[]
}
interface Own {
  enabled: boolean
  pause: string | null
  consent: Consent
  agreed: { sha256: string; at: string; differences: { path: string; kind: string }[]; differenceLines: string[] }
}
interface List {
  enabled: Own[]
  available: { consent: Consent }[]
}

const SITE = { type: 'object', properties: { site: { type: 'string' } } }
const PERMISSIONS = {
  network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The lists' }],
  networkFromConfig: ['site'],
  library: ['series.titles'],
  storage: { quotaKB: 16 },
}
const packageOf = (version: string, change: object = {}) =>
  pluginOf(RECOMMENDER, { ...RECOMMENDER_MANIFEST, version, auth: OAUTH, config: SITE, permissions: PERMISSIONS, ...change })

async function openWithReaders(t: Parameters<typeof openUserPluginServer>[0]) {
  const server = await openUserPluginServer(t, (_request, response) => sendJson(response, { recommendations: [] }))
  const { host, signUp, as } = server
  /** Installs a version and grants all it asks for. */
  const update = async (bytes: Buffer) => {
    const { plugin, sha256, waitsFor } = await host.pluginLifecycle.install(bytes, { userId: null })
    if (waitsFor.length > 0) await host.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin.id
  }
  const id = await update(packageOf('1.0.0'))
  const ann = await signUp({ username: 'ann' })
  return { ...server, update, id, userId: ann.id, ann: as(ann.token) }
}

t.test('users see what a plugin asks of them before they enable it, and what differs after', async (t) => {
  const { ann, id, update } = await openWithReaders(t)
  const { json: before } = await ann<List>('GET', 'plugins')
  const { sha256, lines } = before.available[0]!.consent
  const text = lines.join('\n')
  for (const said of [
    'connects to api.example.org (GET)',
    '  > the author says: "The lists"',
    '  > in lists, the author says: "Returns its input"',
    'connects to the host that an administrator enters as site (GET, POST), who',
    'reads of the library of each user: titles of series',
    'of each user to api.example.org',
    'lets people sign in at login.example.org',
    '  > the address is: "https://login.example.org/authorize?app=1"',
    'gets tokens from tokens.example.org',
    '  > scope: "lists"',
    'asks each user for maxRecommendations',
    'stores up to 16 KB for the server, and as much for each user',
  ])
    t.ok(text.includes(said), said)
  t.match(await ann('POST', `plugins/${id}/enable`, { sha256: '0'.repeat(64) }), {
    status: 409,
    json: { message: /with the sha256 in consent, which is not that of the package/ },
  })
  t.match(await ann('POST', `plugins/${id}/enable`, { sha256: 'abc' }), { json: { message: /64 hexadecimal digits/ } })
  const { json: enabled } = await ann<Own>('POST', `plugins/${id}/enable`, { sha256 })
  t.match(enabled, { enabled: true, pause: null, consent: { sha256 }, agreed: { sha256, differences: [] } })

  await update(packageOf('1.1.0', { permissions: { ...PERMISSIONS, library: ['series.titles', 'ratings'] } }))
  const { json: paused } = await ann<Own>('GET', `plugins/${id}`)
  t.match(paused, {
    pause: 'changed',
    agreed: { sha256, differences: [{ path: '/manifest/permissions/library/ratings', kind: 'added' }] },
  })
  const differing = paused.agreed.differenceLines
  t.ok(differing.includes('+ reads of the library of each user: ratings of that user'), differing.join('\n'))
  t.equal((await ann('POST', `plugins/${id}/enable`)).status, 409, 'a client that shows nothing agrees to nothing new')
  t.equal((await ann('POST', `plugins/${id}/enable`, { sha256 })).status, 409, 'nor does the hash of before')
  t.match((await ann<Own>('POST', `plugins/${id}/enable`, { sha256: paused.consent.sha256 })).json, { pause: null })
  t.equal((await ann('POST', `plugins/${id}/enable`, { sha256: paused.consent.sha256 })).status, 409, 'once is enough')
})

t.test('without a hash a user agrees to what was shown last, and to nothing that came after', async (t) => {
  const { ann, id, update, signUp, as } = await openWithReaders(t)
  const enable = (ask = ann) => ask('POST', `plugins/${id}/enable`)
  await ann('GET', 'plugins')
  await update(packageOf('1.1.0', { permissions: { ...PERMISSIONS, library: ['series.titles', 'ratings'] } }))
  t.match(await enable(), { status: 409, json: { message: /something else than you have agreed to or were shown/ } })
  const bob = as((await signUp({ username: 'bob' })).token)
  await bob('GET', 'plugins')
  t.equal((await enable()).status, 409, 'what another user was shown')
  await ann('GET', 'plugins')
  await update(packageOf('1.1.1', { permissions: { ...PERMISSIONS, library: ['series.titles', 'ratings'] }, summary: 'Other words' }))
  t.match(await enable(), { status: 200 }, 'the same is asked for')
  t.match(await enable(bob), { status: 200 })
  await update(packageOf('1.2.0', { permissions: { ...PERMISSIONS, library: ['ratings', 'reading.progress'] } }))
  t.equal((await enable()).status, 409)
  const cleo = as((await signUp({ username: 'cleo' })).token)
  t.match(await enable(cleo), { status: 200 }, 'a client that knows no list')
})

t.test('however many plugins there are, the list takes the same statements', async (t) => {
  const { ann, database, update } = await openWithReaders(t)
  const statements: string[] = []
  database.on('query', ({ sql }: { sql: string }) => statements.push(sql))
  /** Of several requests the fewest: what the server does every second comes on top of some. */
  const count = async () => {
    await ann('GET', 'plugins')
    const found = { statements: Number.POSITIVE_INFINITY, plugins: 0 }
    for (let time = 0; time < 5; time++) {
      statements.length = 0
      const { json } = await ann<List>('GET', 'plugins')
      found.statements = Math.min(found.statements, statements.length)
      found.plugins = json.enabled.length + json.available.length
    }
    return found
  }
  const one = await count()
  for (const name of ['b', 'c', 'd']) {
    const id = await update(packageOf('1.0.0', { id: `org.example.${name}` }))
    if (name === 'b') await ann('GET', 'plugins')
    if (name === 'b') t.equal((await ann('POST', `plugins/${id}/enable`)).status, 200)
  }
  t.match(await count(), { statements: one.statements, plugins: one.plugins + 3 })
})

/** What each user must agree to again: everything that reaches a user, whoever changes it. */
const CHANGES: Record<string, object> = {
  'another host': { permissions: { ...PERMISSIONS, network: [...PERMISSIONS.network, { host: 'more.example.org', reason: 'More' }] } },
  'another method': {
    permissions: { ...PERMISSIONS, network: [{ host: 'api.example.org', methods: ['GET', 'POST'], reason: 'The lists' }] },
  },
  ratings: { permissions: { ...PERMISSIONS, library: ['series.titles', 'ratings'] } },
  'another place to sign in': { auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, authorizeUrl: 'https://login.example.org/other' } } },
  'a further scope': { auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, scopes: [...OAUTH.oauth2.scopes, 'delete'] } } },
  'another default of a setting of users': {
    userConfig: { type: 'object', properties: { send: { type: 'boolean', title: 'Send my ratings', default: true } } },
  },
  'another name': { name: 'Collector' },
  'another identity': { capabilities: { recommendations: { methods: ['refresh', 'dismiss'], idSource: 'other' } } },
}

t.test('nothing runs for a user who has not agreed to the present record', async (t) => {
  const { ann, host, id, update, userId, way, services } = await openWithReaders(t)
  const agree = async () => {
    const { consent } = (await ann<Own>('GET', `plugins/${id}`)).json
    t.equal((await ann('POST', `plugins/${id}/enable`, { sha256: consent.sha256 })).status, 200)
  }
  const call = () => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
  await t.rejects(call(), { code: 'not_found' }, 'a user who has not enabled it')
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${id}/enable`)
  await call()
  let minor = 1
  for (const [what, change] of Object.entries(CHANGES)) {
    await update(packageOf(`1.${minor++}.0`, change))
    const sent = way.asked.length
    await t.rejects(call(), { code: 'conflict', message: /than the user has agreed to/ }, what)
    t.equal((await ann('GET', `recommendations?pluginId=${id}`)).status, 404, what)
    t.equal((await ann('POST', `plugins/${id}/oauth/start`)).status, 409, what)
    t.equal((await ann('POST', `plugins/${id}/credentials`, { accessToken: 'x' })).status, 409, what)
    t.equal(way.asked.length, sent, what)
    await agree()
    await call()
  }
  await update(packageOf(`1.${minor++}.0`, { ...CHANGES['another identity'], summary: 'Other words' }))
  await call()
  t.pass('what causes nothing asks nobody')
  await host.plugins.edit(id, { config: { site: 'https://collector.example.net' } })
  await t.rejects(call(), { code: 'conflict' }, 'an administrator has entered another host')
  t.ok((await ann<Own>('GET', `plugins/${id}`)).json.consent.lines.some((line) => line.includes('https://collector.example.net')))
  await agree()
  await call()
  await services.userPlugins.disable(userId, id)
  await t.rejects(call(), { code: 'conflict', message: /disabled/ })
})

t.test('a sign-in that has begun does not end at another address', async (t) => {
  const { ann, host, id, update, userId, way, services } = await openWithReaders(t)
  await host.plugins.edit(id, { credentials: { clientId: 'client' } })
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${id}/enable`)
  const { redirectUrl, browserKey } = await services.userPlugins.beginSignIn(userId, id, 'https://books.example.org/back')
  await update(packageOf('1.1.0', { auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, tokenUrl: 'https://collector.example.net/token' } } }))
  const state = new URL(redirectUrl).searchParams.get('state') as string
  const sent = way.asked.length
  await t.rejects(services.userPlugins.finishSignIn({ state, browserKey, code: 'a code', error: undefined, userId }), {
    name: 'SignInError',
  })
  t.equal(way.asked.length, sent, 'the code is sent nowhere')
})

const MIGRATING = `export default {
  async migrate(ctx, from) {
    if ((await ctx.storage.get('broken')) !== null) throw new Error('broken data')
    const { entries } = await ctx.library.entries().catch(() => ({ entries: null }))
    if (entries !== null) await ctx.fetch('https://api.example.org/migrated?entries=' + entries.length)
    await ctx.storage.set('data', (await ctx.storage.get('data')) + ' migrated from ' + from)
  },
  recommendations: {
    async refresh({ limit }, ctx) {
      const data = (await ctx.storage.get('data')) ?? 'first'
      await ctx.storage.set(limit === 13 ? 'broken' : 'data', data)
      return { recommendations: [{ externalId: '1', title: data, score: 0.5, reason: 'So' }] }
    },
    dismiss() {} } }`

t.test('data of a user who has disabled a plugin is migrated only when the user enables it again', onlyFull, async (t) => {
  const { ann, host, id: _, userId, way, database } = await openWithReaders(t)
  const data = (dataVersion: number, version = `1.${dataVersion}.0`) =>
    pluginOf(MIGRATING, { ...RECOMMENDER_MANIFEST, id: 'org.example.data', version, dataVersion, permissions: PERMISSIONS, config: SITE })
  const { plugin, sha256 } = await host.pluginLifecycle.install(data(1), { userId: null })
  const { id } = await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const titleFor = async (limit = 1) => {
    const { result } = await host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit } })
    return (result as { recommendations: { title: string }[] }).recommendations[0]?.title
  }
  const update = async (dataVersion: number) => {
    const updated = await host.pluginLifecycle.install(data(dataVersion), { userId: null })
    if (updated.waitsFor.length > 0) await host.pluginLifecycle.consent(id, updated)
    t.equal((await host.plugins.get(id)).version, `1.${dataVersion}.0`)
  }
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${id}/enable`)
  t.equal(await titleFor(), 'first')
  await update(2)
  t.equal(await titleFor(), 'first migrated from 1', 'of a user who has it enabled, at once')

  const sent = () => way.asked.filter(({ url }) => url.startsWith('/migrated')).length
  await ann('POST', `plugins/${id}/disable`)
  const before = sent()
  for (const version of [3, 4, 5, 6]) await update(version)
  t.equal(sent(), before, 'nothing was sent for her')
  t.equal((await ann('POST', `plugins/${id}/enable`)).status, 200)
  t.equal(await titleFor(), 'first migrated from 1 migrated from 2', 'and her data of four versions ago is still there')

  await titleFor(13)
  await ann('POST', `plugins/${id}/disable`)
  await update(7)
  t.match(await ann('POST', `plugins/${id}/enable`), { status: 503, json: { message: /could not convert the data .*broken data/ } })
  t.match((await ann<Own>('GET', `plugins/${id}`)).json, { enabled: false, pause: 'disabled' })
  await database('plugin_storage').where({ plugin_id: id, key: 'broken' }).delete()
  t.equal((await ann('POST', `plugins/${id}/enable`)).status, 200)
  t.match(await titleFor(), /migrated from 6$/)
})

t.test('a password is stored encrypted, never returned, and received only where the record says so', async (t) => {
  const { ann, host, id: _, userId, database } = await openWithReaders(t)
  const secret = (title: string, more: object = {}) => ({ type: 'string', title, format: 'password', ...more })
  const main = `export default { recommendations: {
    refresh: (_, ctx) => ({ recommendations: [{ externalId: '1', title: JSON.stringify([ctx.config, ctx.userConfig]), score: 0.5, reason: 'So' }] }),
    dismiss() {} } }`
  const { plugin, sha256 } = await host.pluginLifecycle.install(
    pluginOf(main, {
      ...RECOMMENDER_MANIFEST,
      id: 'org.example.secrets',
      config: { type: 'object', properties: { key: secret('Server token') } },
      userConfig: {
        type: 'object',
        properties: {
          kept: secret('Your AniList password'),
          handed: secret('Your pin', { 'x-receives-password': true }),
          word: { type: 'string' },
        },
      },
    }),
    { userId: null },
  )
  const { id } = await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await ann('GET', 'plugins')
  const { json: enabled } = await ann<Own>('POST', `plugins/${id}/enable`)
  t.ok(enabled.consent.lines.includes('  asks each user for handed (string), and receives the password'))
  t.match(
    enabled.consent.lines.join('\n'),
    /asks each user for kept \(string\), which the server keeps without giving it to\n {4}the plugin/,
  )

  const path = `plugins/${id}/config`
  const config = { kept: 'hunter2-kept', handed: 'hunter2-handed', word: 'open' }
  const answer = await ann<Own & { config: object; secretsSet: string[] }>('PATCH', path, { config })
  t.match(answer.json, { config: { word: 'open' }, secretsSet: ['handed', 'kept'] })
  await host.plugins.edit(id, { config: { key: 'hunter2-server' } })
  const shown = JSON.stringify([answer.json, (await ann('GET', 'plugins')).json, await host.plugins.get(id)])
  t.notOk(shown.includes('hunter2'), 'never returned')
  const rows = await Promise.all(['plugins', 'user_plugins', 'plugin_credentials'].map((table) => database(table).select()))
  t.notOk(JSON.stringify(rows).includes('hunter2'), 'nor stored in clear')
  const received = async () => {
    const { result } = await host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
    return JSON.parse((result as { recommendations: { title: string }[] }).recommendations[0]!.title)
  }
  t.same(await received(), [{}, { handed: 'hunter2-handed', word: 'open' }])

  await ann('PATCH', path, { config: { word: 'shut' } })
  t.same(await received(), [{}, { handed: 'hunter2-handed', word: 'shut' }], 'what is left out stays')
  t.match((await ann('PATCH', path, { config: { handed: 12 } })).status, 422)
  t.match((await ann<{ secretsSet: string[] }>('PATCH', path, { config: { handed: '' } })).json, { secretsSet: ['kept'] })
  t.same(await received(), [{}, {}])
  await ann('DELETE', `plugins/${id}`)
  t.same(await database('plugin_credentials').where({ user_id: userId }).select(), [])
})

t.test('administrators see no words of a plugin about other users', async (t) => {
  const { ann, host, id: _, adminToken, userId, request } = await openWithReaders(t)
  const main = `export default { recommendations: {
    refresh({ limit }, ctx) {
      ctx.log.info('rated eighty-seven', { rating: 'eighty-seven' })
      if (limit === 13) throw new Error('rated eighty-seven')
      return { recommendations: [{ externalId: '1', title: 'rated eighty-seven', score: 0.5, reason: 'So' }] } },
    dismiss() {} } }`
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main, { ...RECOMMENDER_MANIFEST, id: 'org.example.words' }), {
    userId: null,
  })
  const { id } = await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${id}/enable`)
  const call = (limit: number) => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit } })
  const { callId } = await call(1)
  await t.rejects(call(13), { code: 'unavailable' }, 'its user sees why')
  for (const path of ['logs', 'calls', `calls/${callId}`, `calls/${callId}/fixture`, 'failures']) {
    const { status, json } = await request('GET', `/api/v1/admin/plugins/${id}/${path}`, { token: adminToken })
    t.equal(status, 200, path)
    t.notOk(JSON.stringify(json).includes('eighty-seven'), path)
  }
})

t.test(
  'users see where a plugin comes from, agree anew when it comes from elsewhere, and not for another version from there',
  async (t) => {
    const { ann, host, id: _, userId } = await openWithReaders(t)
    const own = (version: string) => packageOf(version, { id: 'org.example.offered' })
    const [here, there] = ['https://plugins.example.org/', 'https://other.example.net/']
    const update = async (version: string, origin: { repository: string; moveFrom?: string }) => {
      const { plugin, sha256, waitsFor } = await host.pluginLifecycle.install(own(version), { userId: null, ...origin })
      if (waitsFor.length > 0) await host.pluginLifecycle.consent(plugin.id, { sha256 })
      t.equal((await host.plugins.get(plugin.id)).version, version)
      return plugin.id
    }
    const id = await update('1.0.0', { repository: here })
    await ann('GET', 'plugins')
    const { json } = await ann<Own>('POST', `plugins/${id}/enable`)
    const { sha256, lines } = json.consent
    t.ok(lines.includes('  comes from a repository'), lines.join('\n'))
    t.ok(lines.includes(`  > its address is: "${here}"`))
    t.ok(lines.includes('  is org.example.offered') && lines.includes('  is not signed'))
    const call = () => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
    await update('1.0.1', { repository: here })
    t.equal((await ann<Own>('GET', `plugins/${id}`)).json.consent.sha256, sha256)
    await call()
    await update('1.0.2', { repository: there, moveFrom: here })
    await t.rejects(call(), { code: 'conflict' })
    t.match((await ann<Own>('GET', `plugins/${id}`)).json, {
      pause: 'changed',
      agreed: { sha256, differences: [{ path: '/repository', kind: 'changed' }] },
    })
  },
)

t.test('a user who agrees while an update lands has agreed to what was shown, or to nothing', async (t) => {
  const { ann, host, id, update, userId } = await openWithReaders(t)
  const own = async () => (await ann<Own>('GET', `plugins/${id}`)).json
  const outcomes = new Set<number>()
  await ann('GET', 'plugins')
  await ann('POST', `plugins/${id}/enable`)
  for (let round = 1; round <= 6; round++) {
    const reasonOf = (part: number) => ({
      permissions: { ...PERMISSIONS, network: [{ host: 'api.example.org', methods: ['GET'], reason: `The lists ${round}.${part}` }] },
    })
    await update(packageOf(`1.${round}.0`, reasonOf(0)))
    const shown = (await own()).consent.sha256
    const before = (await own()).agreed.sha256
    const [{ status }] = await Promise.all([
      ann('POST', `plugins/${id}/enable`, { sha256: shown }),
      update(packageOf(`1.${round}.1`, reasonOf(1))),
    ])
    outcomes.add(status)
    const after = await own()
    t.equal(after.agreed.sha256, status === 200 ? shown : before, `${status}: nothing that was not shown`)
    t.match(after, { pause: 'changed' })
    t.not(after.consent.sha256, shown)
    await t.rejects(host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } }), {
      code: 'conflict',
    })
  }
  t.ok(
    [...outcomes].every((status) => status === 200 || status === 409),
    [...outcomes].join(),
  )
})
