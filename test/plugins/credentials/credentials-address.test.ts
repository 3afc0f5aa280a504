import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { localServices } from '#core/settings/local-hosts.ts'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import { describeNeeds, needsOf } from '#plugins/host/plugin-needs.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { manifestOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const TOKEN = 'tok-5f2a-very-secret-one'
const bindOf = (place: object) => ({ type: 'apiKey', scope: 'server', bind: { hostFrom: 'baseUrl', ...place } })
const fromConfig = (auth: object = bindOf({ query: 'api_key' })) => ({
  auth,
  permissions: { network: [{ host: 'other.example.org', reason: 'x' }], networkFromConfig: ['baseUrl'] },
  config: { type: 'object', properties: { baseUrl: { type: 'string', maxLength: 200 } } },
})
/** Returns, logs and stores everything that it can see, and fails with it on request. */
const CURIOUS = `export default { metadata: { series: {
  async search({ query }, ctx) {
    const status = await ctx.auth.status()
    const other = await ctx.fetch('https://other.example.org/other')
    const mine = await ctx.fetch((ctx.config.baseUrl ?? 'https://other.example.org') + '/mine?q=1')
    const seen = [status, mine.url, await mine.text(), [...mine.headers]]
    ctx.log.info('seen ' + JSON.stringify(seen), { seen })
    if (query === 'fail') throw new Error(JSON.stringify(seen))
    return { results: [{ externalId: '1', title: JSON.stringify(seen) }] }
  },
  get: () => ({ externalId: '1' }) } } }`
const echo: RequestListener = (request, response) => response.setHeader('x-asked', request.url ?? '').end(`asked ${request.url}`)

t.test('credentials go to the confirmed host, and to no other that is entered later', async (t) => {
  const { host, run, way, database } = await openTestHost(t, echo)
  const { id, call } = await run(CURIOUS, fromConfig())
  const search = async (query = '') =>
    ((await call('metadata.series.search', { query, limit: 1 })) as { results: { title: string }[] }).results[0]?.title ?? ''
  const sent = () => way.asked.filter(({ url, headers }) => JSON.stringify([url, headers]).includes(TOKEN))

  await t.rejects(host.plugins.edit(id, { credentials: { token: TOKEN } }), { code: 'invalid_value', message: /First enter the host/ })
  await host.plugins.edit(id, { config: { baseUrl: 'https://first.example.net/api' } })
  t.match(await search(), /^\["missing"/)
  await t.rejects(host.plugins.edit(id, { credentials: { token: TOKEN }, credentialsHost: 'https://second.example.net' }), {
    code: 'conflict',
  })
  await host.plugins.edit(id, { credentials: { token: TOKEN }, credentialsHost: 'https://first.example.net' })
  const seen = await search()
  t.match(seen, /^\["connected".*\[credential\]/)
  t.notMatch(seen, TOKEN)
  t.same(
    sent().map(({ host, url }) => [host.split(':')[0], url]),
    [['first.example.net', `/api/mine?q=1&api_key=${TOKEN}`]],
  )
  await t.rejects(search('fail'), { message: /\[credential\]/ })
  t.notMatch(
    JSON.stringify([
      host.pluginLogs.calls(id),
      host.pluginLogs.lines(id, { limit: 100 }),
      await host.plugins.get(id),
      await database('plugin_failures'),
    ]),
    TOKEN,
    'not in logs, calls and failures, and not in the view of the plugin',
  )
  t.notOk(Buffer.concat((await database('plugin_credentials')).map(({ sealed }) => sealed)).includes(TOKEN))
  t.same((await host.pluginCredentials.state({ pluginId: id, userId: null })).fields, ['token'])

  way.asked.length = 0
  await host.plugins.edit(id, { config: { baseUrl: 'https://second.example.net' } })
  t.equal(await host.plugins.authStatus(await host.plugins.get(id), null), 'missing', 'no credentials were entered for this address')
  await t.rejects(search(), { message: /given for another address than https:\/\/second\.example\.net\. Enter them again/ })
  t.same(sent(), [])
  await host.plugins.edit(id, { config: { baseUrl: 'https://first.example.net/other/path' } })
  t.match(await search(), /^\["connected"/, 'only the host matters')
  way.asked.length = 0
  await host.plugins.edit(id, { config: { baseUrl: 'https://second.example.net' }, credentials: { token: TOKEN } })
  t.match(await search(), /^\["connected"/)
  t.same(
    sent().map(({ host }) => host.split(':')[0]),
    ['second.example.net'],
  )

  const { sealed } = await database('plugin_credentials').where('field', 'boundTo').first('sealed')
  await database('plugin_credentials').where('field', 'token').update({ sealed })
  t.equal(
    await host.pluginCredentials.bound({ pluginId: id, userId: null }, host.plugins.authOf(await host.plugins.get(id))),
    undefined,
    'an exchanged row does not decrypt',
  )
  await database('plugin_credentials').where('field', 'boundTo').delete()
  t.equal(await host.plugins.authStatus(await host.plugins.get(id), null), 'missing', 'without a host they are sent nowhere')
})

t.test('scheme and port are part of a private host', async (t) => {
  const { host, run } = await openTestHost(t, echo)
  const { id } = await run(CURIOUS, fromConfig(bindOf({ header: 'X-Api-Key' })))
  await host.plugins.edit(id, { config: { baseUrl: 'http://nas.lan:8080/x' }, privateHosts: true, credentials: { token: TOKEN } })
  const owner = { pluginId: id, userId: null }
  t.match(await host.pluginCredentials.bound(owner, host.plugins.authOf(await host.plugins.get(id))), {
    ...{ host: 'nas.lan', origin: 'http://nas.lan:8080', place: 'header', name: 'X-Api-Key', value: TOKEN },
  })
  const moved = { config: { baseUrl: 'http://nas.lan:8081/x' } }
  await t.rejects(host.plugins.edit(id, moved), { code: 'invalid_value', message: /To grant http:\/\/nas.lan:8081, enter it together/ })
  await host.plugins.edit(id, { ...moved, privateHosts: true })
  await t.rejects(host.pluginCredentials.bound(owner, host.plugins.authOf(await host.plugins.get(id))), {
    message: /given for another address/,
  })
})

t.test('credentials go to a local service that is allowed for development', async (t) => {
  const asked: { url: string; key: unknown }[] = []
  const service = http.createServer((request, response) => {
    asked.push({ url: request.url ?? '', key: request.headers['x-api-key'] })
    response.end(`you sent ${request.headers['x-api-key']}`)
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.teardown(() => service.close())
  const { port } = service.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const egress = new HttpsEgress(undefined, new Set([`localhost:${port}`]))
  const { host, run, database } = await openTestHost(t, echo, { egress })
  const { id, call } = await run(
    `export default { metadata: { series: {
      async search(_, ctx) {
        const said = await (await ctx.fetch(ctx.config.baseUrl + '/mine')).text()
        return { results: [{ externalId: '1', title: (await ctx.auth.status()) + ': ' + said }] }
      },
      get: () => ({ externalId: '1' }) } } }`,
    fromConfig(bindOf({ header: 'X-Api-Key' })),
  )
  await host.plugins.edit(id, { config: { baseUrl: `${origin}/api` }, credentials: { token: TOKEN }, credentialsHost: origin })
  t.equal(await host.plugins.authStatus(await host.plugins.get(id), null), 'connected')
  t.match(await call('metadata.series.search', { query: '', limit: 1 }), { results: [{ title: 'connected: you sent [credential]' }] })
  t.same(asked, [{ url: '/api/mine', key: TOKEN }])

  // A server that was started again without the setting.
  const { host: other } = await openHostOn(t, database)
  const plugin = await other.plugins.get(id)
  const problem =
    'config/baseUrl: localhost is this server itself, or in a network that plugins may not access. If it is a service of yours for ' +
    `development, start the server with --plugin-allow-local localhost:${port}; commands follow a running server, or take the same flag.`
  await t.rejects(other.pluginCredentials.bound({ pluginId: id, userId: null }, other.plugins.authOf(plugin)), {
    own: 'permission',
    message: problem,
  })
  await t.rejects(other.plugins.edit(id, { credentials: { token: TOKEN } }), { code: 'invalid_value', message: problem })
  const needs = await needsOf(other.plugins, plugin)
  t.same(needs, { config: [], addresses: [problem] })
  t.equal(describeNeeds(plugin, needs), ` ${problem}`)
  const search = { pluginId: id, userId: null, method: 'metadata.series.search', input: { query: '', limit: 1 } }
  await t.rejects(other.pluginCalls.call(search), { message: `"Echo" failed (permission): "${problem}"` })
  t.match(await host.pluginCalls.call(search), { result: { results: [{ title: 'connected: you sent [credential]' }] } }, 'nothing is lost')
})

t.test('a plugin without credentials says too why its configured address is not contacted', async (t) => {
  const local = new Set(['localhost:8712'])
  const { host, run, database } = await openTestHost(t, echo, { egress: new HttpsEgress(undefined, local) })
  const { id } = await run(
    `export default { metadata: { series: {
      search: async ({ query }, ctx) => void (await ctx.fetch(query)),
      get: () => ({ externalId: '1' }) } } }`,
    { ...fromConfig(), auth: undefined },
  )
  await host.plugins.edit(id, { config: { baseUrl: 'http://localhost:8712/api' } })
  const { host: other } = await openHostOn(t, database, echo, {
    egress: new HttpsEgress(undefined, localServices([], { host: '::', port: 8085 })),
  })
  const search = (query: string) =>
    other.pluginCalls.call({ pluginId: id, userId: null, method: 'metadata.series.search', input: { query, limit: 1 } })
  await t.rejects(search('http://localhost:8712/api/books'), {
    message:
      '"Echo" failed (permission): "config/baseUrl: localhost is this server itself, or in a network that plugins may not access. If it ' +
      'is a service of yours for development, start the server with --plugin-allow-local localhost:8712; commands follow a running ' +
      'server, or take the same flag."',
  })
  await t.rejects(search('http://localhost:8713/'), { message: '"Echo" failed (permission): "http://localhost:8713 is not https."' })
})

t.test('credentials of a user do not follow a change of the host', async (t) => {
  const { host, run, database } = await openTestHost(t, echo)
  const { id } = await run(`export default { recommendations: { get: () => ({ recommendations: [] }) } }`, {
    ...fromConfig({ ...bindOf({ body: 'key' }), scope: 'user' }),
    capabilities: { recommendations: { methods: ['get'] } },
  })
  const { userId } = await addCaller(database)
  const plugin = () => host.plugins.get(id)
  await host.plugins.edit(id, { config: { baseUrl: 'https://first.example.net' } })
  await host.pluginCredentials.set({ pluginId: id, userId }, host.plugins.authOf(await plugin()), { token: TOKEN })
  t.equal(await host.plugins.authStatus(await plugin(), userId), 'connected')
  await host.plugins.edit(id, { config: { baseUrl: 'https://second.example.net' } })
  t.equal(await host.plugins.authStatus(await plugin(), userId), 'missing')
  await t.rejects(host.pluginCredentials.bound({ pluginId: id, userId }, host.plugins.authOf(await plugin())), {
    message: /given for another address/,
  })
})

t.test('credentials of a user do not follow an update of the plugin to another host or token URL', async (t) => {
  const { host, run, database } = await openTestHost(t, echo)
  const { id } = await run(`export default { recommendations: { get: () => ({ recommendations: [] }) } }`, {
    ...fromConfig({ ...bindOf({ body: 'key' }), scope: 'user' }),
    capabilities: { recommendations: { methods: ['get'] } },
  })
  const { userId } = await addCaller(database)
  const owners = [userId, null].map((one) => ({ pluginId: id, userId: one }))
  const named = (host: string) => ({ type: 'apiKey', scope: 'user', bind: { host, header: 'X-Key' } }) as const
  const signed = (host: string, tokenHost: string) => {
    const oauth2 = { authorizeUrl: 'https://first.example.net/', tokenUrl: `https://${tokenHost}/token` }
    return { ...named(host), type: 'oauth2', oauth2 } as const
  }
  const entered = { type: 'apiKey', scope: 'user', bind: { hostFrom: 'baseUrl', header: 'X-Key' } } as const
  for (const [before, after] of [
    [named('first.example.net'), named('second.example.net')],
    [{ ...entered, origin: 'https://first.example.net' }, named('second.example.net')],
    [named('first.example.net'), { ...entered, origin: 'http://first.example.net' }],
    [signed('first.example.net', 'first.example.net'), signed('second.example.net', 'first.example.net')],
    [signed('first.example.net', 'first.example.net'), signed('first.example.net', 'second.example.net')],
  ])
    for (const owner of owners) {
      await host.pluginCredentials.set(
        owner,
        before,
        before?.type === 'oauth2' ? { accessToken: TOKEN, refreshToken: TOKEN } : { token: TOKEN },
      )
      t.equal(await host.pluginCredentials.status(owner, before), 'connected')
      t.match(await host.pluginCredentials.bound(owner, before), { value: TOKEN })
      t.equal(await host.pluginCredentials.status(owner, after), 'missing')
      await t.rejects(host.pluginCredentials.bound(owner, after), { own: 'auth', message: /given for another address/ })
    }
})

t.test('what a manifest says about credentials is checked', (t) => {
  const read = (auth: object) => readManifest(Buffer.from(JSON.stringify(manifestOf(fromConfig(auth)))))
  const other = { host: 'other.example.org' }
  t.ok(read(bindOf({ query: 'api_key' })))
  t.ok(read(bindOf({ body: 'auth.token', format: 'key={token}' })))
  const oauth2 = { authorizeUrl: 'https://other.example.org/', tokenUrl: 'https://other.example.org/' }
  for (const [auth, at, why] of [
    [{ ...bindOf({ query: 'a' }), bind: { query: 'a' } }, '/auth/bind', /either host or hostFrom/],
    [bindOf({ ...other, query: 'a' }), '/auth/bind', /either host or hostFrom/],
    [bindOf({ hostFrom: 'elsewhere', query: 'a' }), '/auth/bind/hostFrom', /networkFromConfig/],
    [bindOf({}), '/auth/bind', /one of header, query and body/],
    [bindOf({ header: 'X-Key', query: 'a' }), '/auth/bind', /one of header, query and body/],
    [bindOf({ query: 'a&b' }), '/auth/bind/query', /letters, digits/],
    [bindOf({ body: 'a"b' }), '/auth/bind/body', /letters, digits/],
    [bindOf({ query: 'a', format: 'no token' }), '/auth/bind/format', /\{token\} once/],
    [{ ...bindOf({ query: 'a' }), type: 'basic' }, '/auth/bind', /basic go into a header, or with usernameField/],
    [bindOf({ body: 'a', usernameField: 'b' }), '/auth/bind/usernameField', /only for type basic/],
    [{ ...bindOf({ header: 'A', usernameField: 'b' }), type: 'basic' }, '/auth/bind/usernameField', /only with query or body/],
    [{ ...bindOf({ body: 'a', usernameField: 'a' }), type: 'basic' }, '/auth/bind/usernameField', /different fields/],
    [
      { ...bindOf({ query: 'a' }), type: 'oauth2', oauth2 },
      '/auth/bind/hostFrom',
      /oauth2 tokens must go to a host that the manifest names/,
    ],
  ] as const)
    t.throws(() => read(auth), { code: 'invalid_value', message: new RegExp(`at ${at}: .*${why.source}`) }, `${at} ${why}`)
  // Nothing in a manifest counts as a value entered by an administrator.
  const manifest = read({ ...bindOf({ query: 'a' }), origin: 'https://evil.example.com' })
  t.equal(authOf({ manifest, config: {}, granted: null, privateOrigins: [] }, undefined)?.origin, undefined)

  const basic = read({ ...bindOf({ body: 'pass', usernameField: 'login' }), type: 'basic' })
  t.match(requestedPermissions(basic).auth, { into: 'body pass with login' })

  const asked = requestedPermissions(read(bindOf({ query: 'a' })))
  t.match(asked.auth, { host: null, hostFromConfig: 'baseUrl', into: 'query a' })
  t.end()
})
