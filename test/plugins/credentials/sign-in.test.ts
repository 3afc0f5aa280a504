import t from 'tap'
import { describeNeeds, needsOf } from '#plugins/host/plugin-needs.ts'
import { holdHost, pluginOf } from '#test/support/plugins.ts'
import { bodyOf, OAUTH, openUserPluginServer, RECOMMENDER, RECOMMENDER_MANIFEST, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(120_000)

const CLIENT = { clientId: 'carrel-of-a-test', clientSecret: 'a-client-secret-that-nobody-sees' }

t.test('a user who disconnects during the token request stays disconnected', async (t) => {
  let meanwhile = async () => {}
  const { install, host, signUp, as, services } = await openUserPluginServer(t, async (request, response) => {
    await bodyOf(request)
    await meanwhile()
    sendJson(response, { access_token: 'too-late', refresh_token: 'too-late-as-well' })
  })
  const id = await install({ auth: OAUTH })
  await host.plugins.edit(id, { credentials: CLIENT })
  const { id: userId, token } = await signUp({ username: 'rita' })
  const rita = as(token)
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  const stored = async () => await host.pluginCredentials.reveal({ pluginId: id, userId }, (await host.plugins.get(id)).manifest.auth)
  const begin = async () => {
    const { redirectUrl, browserKey } = await services.userPlugins.beginSignIn(userId, id, 'https://books.example.org/back')
    return { state: new URL(redirectUrl).searchParams.get('state') as string, browserKey }
  }
  const finish = (begun: { state: string; browserKey: string }) =>
    services.userPlugins.finishSignIn({ ...begun, code: 'a code', error: undefined, userId })

  meanwhile = async () => void (await rita('DELETE', `plugins/${id}`))
  await t.rejects(finish(await begin()), { name: 'SignInError', message: /Nothing was connected/ })
  t.same(await stored(), {}, 'all data of the user stays deleted')

  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  meanwhile = async () => {}
  t.match(await finish(await begin()), { name: 'Taste' })
  t.match(await stored(), { accessToken: 'too-late' })

  const held = await begin()
  meanwhile = async () => {
    await host.pluginLifecycle.uninstall(id)
  }
  await t.rejects(finish(held), { name: 'SignInError' }, 'as for a removed plugin')
})

/** A user who has enabled a plugin at whose service users sign in. */
async function openEnabled(t: Parameters<typeof openUserPluginServer>[0]) {
  const server = await openUserPluginServer(t, (request, response) => {
    const isToken = request.url?.startsWith('/token')
    sendJson(response, isToken ? { access_token: 'an-access-token', refresh_token: 'a-refresh-token' } : { recommendations: [] })
  })
  const { install, host, signUp, as, services, way } = server
  const id = await install({ auth: OAUTH })
  await host.plugins.edit(id, { credentials: CLIENT })
  const { id: userId, token } = await signUp({ username: 'rita' })
  const rita = as(token)
  const agree = async () => {
    const { enabled, available } = (await rita<Record<'enabled' | 'available', { consent: { sha256: string } }[]>>('GET', 'plugins')).json
    return await rita('POST', `plugins/${id}/enable`, { sha256: [...enabled, ...available][0]?.consent.sha256 })
  }
  await agree()
  const begin = async () => {
    const { redirectUrl, browserKey } = await services.userPlugins.beginSignIn(userId, id, 'https://books.example.org/back')
    return { state: new URL(redirectUrl).searchParams.get('state') as string, browserKey }
  }
  const finish = (begun: { state: string; browserKey: string }) =>
    services.userPlugins.finishSignIn({ ...begun, code: 'a code', error: undefined, userId })
  /** The hosts that were asked for tokens. */
  const redeemed = () => way.asked.filter(({ url }) => url.startsWith('/token')).map(({ host }) => host.split(':')[0])
  return { ...server, id, userId, rita, agree, begin, finish, redeemed }
}

t.test('a client id and its secret go to no other token host than the one that they were entered for', async (t) => {
  const { id, userId, host, rita, agree, begin, finish, redeemed, request, adminToken } = await openEnabled(t)
  const own = async () => (await rita<{ oauthConfigured: boolean; connected: boolean }>('GET', `plugins/${id}`)).json
  const seen = async () => (await request('GET', `/api/v1/admin/plugins/${id}`, { token: adminToken })).json
  const needs = async () => describeNeeds({ key: 'taste' }, await needsOf(host.plugins, await host.plugins.get(id)))
  await finish(await begin())
  t.same(redeemed(), ['tokens.example.org'])
  t.match([await own(), await seen(), await needs()], [{ oauthConfigured: true, connected: true }, { hasCredentials: true }, ''])

  const auth = { ...OAUTH, oauth2: { ...OAUTH.oauth2, tokenUrl: 'https://tokens.other.example/token' } }
  const update = await host.pluginLifecycle.install(pluginOf(RECOMMENDER, { ...RECOMMENDER_MANIFEST, version: '1.1.0', auth }), {
    userId: null,
  })
  await host.pluginLifecycle.consent(id, update)
  t.equal((await agree()).status, 200)
  t.match([await own(), await seen()], [{ oauthConfigured: false, connected: false }, { hasCredentials: false }])
  t.match(await needs(), /still needs credentials for https:\/\/api\.example\.org/)
  await t.rejects(begin(), { code: 'conflict', message: /An administrator has to give the client id/ })
  const present = (await host.plugins.get(id)).manifest.auth
  const ended = new Date(Date.now() - 1_000)
  await host.pluginCredentials.set({ pluginId: id, userId }, present, { accessToken: 'ended', refreshToken: 'renews' }, ended)
  const call = () => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
  await t.rejects(call(), { code: 'unavailable', details: { code: 'auth' } }, 'nor is a token renewed there')
  t.same(redeemed(), ['tokens.example.org'])

  await host.plugins.edit(id, { credentials: CLIENT })
  t.match([await own(), await seen(), await needs()], [{ oauthConfigured: true }, { hasCredentials: true }, ''])
  await finish(await begin())
  t.same(redeemed(), ['tokens.example.org', 'tokens.other.example'])
})

t.test('a code that waits to be sent is sent nowhere after the user or an administrator has withdrawn', async (t) => {
  const { id, userId, host, services, way, agree, begin, finish, redeemed } = await openEnabled(t)
  for (const [what, withdraw, enable] of [
    ['the user', () => services.userPlugins.disable(userId, id), agree],
    ['an administrator', () => host.pluginLifecycle.setEnabled(id, false), () => host.pluginLifecycle.setEnabled(id, true)],
  ] as const) {
    const { waits, release } = holdHost(way, 'tokens.example.org')
    const begun = await begin()
    const refused = t.rejects(
      finish(begun),
      { name: 'SignInError', message: /disabled or changed meanwhile\. Nothing was connected/ },
      what,
    )
    await waits
    await withdraw()
    await refused
    release()
    t.same(redeemed(), [], what)
    await enable()
  }
  await finish(await begin())
  t.same(redeemed(), ['tokens.example.org'], 'and nothing keeps a later sign-in from ending')
})
