import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { pluginOf } from '#test/support/plugins.ts'
import { bodyOf, OAUTH, openReaderServer, sendJson } from '#test/support/reader-plugins.ts'

t.setTimeout(90_000)

const CLIENT = { clientId: 'carrel-of-a-test', clientSecret: 'a-client-secret-that-nobody-sees' }
const base = { host: 'books.example.org' }

interface Own {
  pluginId: string
  enabled: boolean
  connected: boolean
  healthStatus: string
  requiresOauth: boolean
  oauthConfigured: boolean
  config: object
  userConfigSchema: { fields: { key: string }[] }
}

t.test('each reader has plugins of their own', async (t) => {
  const { install, as, signUp, adminToken, host, database, request } = await openReaderServer(t, (_request, response) =>
    sendJson(response, {}),
  )
  const member = { type: 'string', maxLength: 10 }
  const id = await install({
    userConfig: { type: 'object', properties: { maxRecommendations: { type: 'integer', minimum: 1, maximum: 100 }, word: member } },
  })
  const system = (await host.install(packageOfMetadata(), { userId: null })).plugin.id
  const rita = as((await signUp({ username: 'rita' })).token)
  const otto = as((await signUp({ username: 'otto' })).token)
  type List = { enabled: Own[]; available: { pluginId: string; displayName: string }[] }

  const { json: before } = await rita<List>('GET', 'plugins')
  t.match(before, { enabled: [], available: [{ pluginId: id, displayName: 'Taste' }] }, 'only what is for readers is offered')
  t.equal(before.available.length, 1)
  t.equal((await rita('GET', `plugins/${id}`)).status, 404)
  t.equal((await rita('POST', `plugins/${system}/enable`)).status, 400, 'metadata is for administrators')
  t.equal((await rita('POST', `plugins/${'0'.repeat(8)}-0000-4000-8000-000000000000/enable`)).status, 404)
  t.match((await rita<Own>('POST', `plugins/${id}/enable`)).json, { pluginId: id, enabled: true, connected: true, config: {} })
  t.equal((await rita('POST', `plugins/${id}/enable`)).status, 409, 'once is enough')
  const { json: after } = await rita<List>('GET', 'plugins')
  t.same([after.enabled.length, after.available.length], [1, 0])
  t.same((await otto<List>('GET', 'plugins')).json.enabled, [], 'and nobody else has it')

  t.test('with settings that are checked', async (t) => {
    const path = `plugins/${id}/config`
    t.match((await rita<Own>('PATCH', path, { config: { maxRecommendations: 3 } })).json, {
      config: { maxRecommendations: 3 },
      userConfigSchema: { fields: [{ key: 'word' }, { key: 'maxRecommendations', type: 'integer', required: false }] },
    })
    for (const config of [
      { maxRecommendations: 500 },
      { other: 1 },
      { word: 'a\0b' },
      { word: 'a\ud800' },
      JSON.parse('{"__proto__":{"x":1}}'),
    ])
      t.match(await rita('PATCH', path, { config }), { status: /^4(00|22)$/, json: { error: /^invalid_(value|request)$/ } })
    t.equal((await otto('PATCH', path, { config: {} })).status, 404)
    t.match((await rita<Own>('GET', `plugins/${id}`)).json, { config: { maxRecommendations: 3 } }, 'what was wrong changed nothing')
  })

  t.test('takes no credentials that it has no use for, and says what it cannot do', async (t) => {
    t.match(await rita('POST', `plugins/${id}/credentials`, { accessToken: 'x' }), { status: 400, json: { error: 'invalid_request' } })
    t.match(await rita('POST', `plugins/${id}/oauth/start`), { status: 400, json: { error: 'invalid_request' } })
    t.match(await rita('POST', `plugins/${id}/sync`), { status: 409, json: { error: 'conflict' } })
    t.match(await rita('GET', `plugins/${id}/sync/status`), { status: 404, json: { error: 'not_found' } })
    t.equal((await otto('POST', `plugins/${id}/sync`)).status, 404)
    t.equal((await rita('GET', `plugins/${id}/tasks`)).status, 404, 'nothing was done yet')
    t.equal((await request('GET', '/api/v1/user/plugins')).status, 401)
  })

  t.test('is switched off and on, and taken away with all it has', async (t) => {
    t.match((await rita<Own>('POST', `plugins/${id}/disable`)).json, { enabled: false, config: { maxRecommendations: 3 } })
    t.match(
      (await rita<Own>('POST', `plugins/${id}/enable`)).json,
      { enabled: true, config: { maxRecommendations: 3 } },
      'what was set stayed',
    )
    const { id: userId } = (await request<{ id: string }>('GET', '/api/v1/auth/me', { token: adminToken })).json
    t.type(userId, 'string')
    await database('plugin_storage').insert({ plugin_id: id, user_id: userId, key: 'of another', value: '1' })
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 204)
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 404)
    t.same(await database('user_plugins').where('plugin_id', id), [])
    t.equal((await database('plugin_storage')).length, 1, 'what it keeps for others stays')
  })

  t.test('goes when an administrator stops it', async (t) => {
    await host.setEnabled(id, false)
    t.same((await rita<List>('GET', 'plugins')).json.available, [])
    t.equal((await rita('POST', `plugins/${id}/enable`)).status, 404)
    t.equal((await as(adminToken)('POST', `plugins/${id}/enable`)).status, 404)
  })
})

const packageOfMetadata = () =>
  pluginOf(`export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: '1' }) } } }`)

interface Given {
  status?: number
  value: unknown
}

/** A service that gives tokens, and what it was asked for. */
async function openOauth(t: Parameters<typeof openReaderServer>[0], change: Record<string, unknown> = {}, options = {}) {
  const asked: Record<string, string>[] = []
  let answer: (form: Record<string, string>) => Given | Promise<Given> = () => ({
    value: {
      access_token: `token-number-${asked.length}`,
      refresh_token: `renews-${asked.length}`,
      expires_in: 3600,
      token_type: 'bearer',
    },
  })
  const server = await openReaderServer(
    t,
    async (request, response) => {
      if (!request.url?.startsWith('/token')) return sendJson(response, { recommendations: [] })
      const form = Object.fromEntries(new URLSearchParams(await bodyOf(request)))
      asked.push(form)
      const { status, value } = await answer(form)
      sendJson(response, value, status)
    },
    options,
  )
  const id = await server.install({ auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, ...change } } })
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const rita = server.as(token)
  await rita('POST', `plugins/${id}/enable`)
  const start = async (headers: Record<string, string> = base) => {
    const { status, json } = await rita<{ redirectUrl: string }>('POST', `plugins/${id}/oauth/start`, undefined, { headers })
    return { status, json, url: status === 200 ? new URL(json.redirectUrl) : null }
  }
  const state = async () => (await start()).url?.searchParams.get('state') as string
  const back = (query: Record<string, string>, headers: Record<string, string> = {}) =>
    server.request('GET', `/api/v1/user/plugins/oauth/callback?${new URLSearchParams(query)}`, { headers })
  const setAnswer = (next: typeof answer) => {
    answer = next
  }
  return { ...server, id, userId, token, rita, start, state, back, asked, setAnswer }
}

t.test('a reader signs in at a service', async (t) => {
  const world = await openOauth(t)
  const { id, userId, host, rita, start, back, asked, database } = world
  t.match((await rita<Own>('GET', `plugins/${id}`)).json, { connected: false, requiresOauth: true, oauthConfigured: false })
  t.match(await start(), { status: 409 }, 'not before an administrator has given the client id')
  await host.edit(id, { credentials: CLIENT })

  const { url } = await start()
  const sent = Object.fromEntries(url?.searchParams ?? [])
  t.match(url?.origin, 'https://login.example.org')
  t.match(sent, {
    app: '1',
    response_type: 'code',
    client_id: CLIENT.clientId,
    scope: 'read lists',
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{43}$/,
  })
  t.notMatch(url?.href, CLIENT.clientSecret)
  const [row] = await database('plugin_sign_ins')
  t.notMatch(JSON.stringify(row), sent['state'], 'the state itself is not kept')

  const page = await back({ state: sent['state'] ?? '', code: 'a code' })
  t.equal(page.status, 200, page.text)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(page.text, /Taste is connected/)
  const script = /<script>(.*?)<\/script>/.exec(page.text)?.[1] ?? ''
  const policy = page.headers.get('content-security-policy') ?? ''
  t.ok(policy.includes(`'sha256-${createHash('sha256').update(script).digest('base64')}'`), 'the browser runs this script')
  t.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.match(asked, [{ grant_type: 'authorization_code', code: 'a code', client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret }])
  t.equal(asked[0]?.['redirect_uri'], sent['redirect_uri'], 'the address is the same both times')
  const challenge = createHash('sha256')
    .update(asked[0]?.['code_verifier'] ?? '')
    .digest('base64url')
  t.equal(challenge, sent['code_challenge'], 'and the verifier is that of the challenge')
  t.match((await rita<Own>('GET', `plugins/${id}`)).json, { connected: true })
  t.match(await host.credentials.reveal({ pluginId: id, userId }), { accessToken: 'token-number-1', refreshToken: 'renews-1' })
  t.match(await host.credentials.reveal({ pluginId: id, userId: null }), CLIENT)

  t.test('once', async (t) => {
    const again = await back({ state: sent['state'] ?? '', code: 'a code' })
    t.equal(again.status, 400)
    t.match(again.text, /not known here/)
    t.equal(asked.length, 1, 'and nobody was asked')
  })

  t.test('and away from it', async (t) => {
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 204)
    t.same(await host.credentials.reveal({ pluginId: id, userId }), {})
    t.match(await host.credentials.reveal({ pluginId: id, userId: null }), CLIENT, 'what the server is known by stays')
  })
})

t.test('sign-ins that are not what they seem', async (t) => {
  const world = await openOauth(t, {}, { settings: { trustedProxies: ['10.0.0.0/8'] } })
  const { id, userId, host, start, state, back, asked, database, signUp, setAnswer } = world
  await host.edit(id, { credentials: CLIENT })
  const refused = async (query: Record<string, string>, headers?: Record<string, string>) => {
    const { status, text } = await back(query, headers)
    t.equal(status, 400, text)
    t.same(await host.credentials.reveal({ pluginId: id, userId }), {}, 'nothing is kept')
    t.notMatch(text, /<script|<img/)
    return text
  }

  t.test('a state that nobody gave, or of another form', async () => {
    for (const odd of ['', 'x', 'A'.repeat(43), `${'A'.repeat(42)}\u0000`, '../..']) await refused({ state: odd, code: 'c' })
    await refused({ code: 'c' })
  })

  t.test('the state of another reader', async (t) => {
    const otto = await signUp({ username: 'otto' })
    const text = await refused({ state: await state(), code: 'c' }, { cookie: `auth_token=${otto.token}` })
    t.match(text, /Somebody else/)
    t.equal(asked.length, 0)
  })

  t.test('a state whose time is over', async () => {
    const late = await state()
    await database('plugin_sign_ins').update({ expires_at: new Date(Date.now() - 1_000) })
    await refused({ state: late, code: 'c' })
  })

  t.test('a row that was put in the place of another', async () => {
    const [first, second] = [await state(), await state()]
    const [one] = await database('plugin_sign_ins').where('state_hash', createHash('sha256').update(first).digest('hex'))
    await database('plugin_sign_ins')
      .where('state_hash', createHash('sha256').update(second).digest('hex'))
      .update({ sealed: one.sealed, key_id: one.key_id })
    await refused({ state: second, code: 'c' })
    await database('plugin_sign_ins').delete()
  })

  t.test('a service that says no, in whatever words', async (t) => {
    t.match(await refused({ state: await state(), error: 'access_denied' }), /access_denied/)
    t.notMatch(await refused({ state: await state(), error: '<img src=x onerror=alert(1)>' }), /onerror/)
    await refused({ state: await state() })
    setAnswer(() => ({ status: 400, value: { error: 'invalid_grant', error_description: '<script>alert(1)</script>' } }))
    t.match(await refused({ state: await state(), code: 'c' }), /invalid_grant/)
  })

  t.test('tokens that are none', async () => {
    for (const value of [
      null,
      [],
      'text',
      { access_token: 1 },
      { access_token: '' },
      { access_token: 'a\r\nX-Other: 1' },
      { access_token: 'x'.repeat(10_001) },
      { access_token: 'good', token_type: 'mac' },
      { access_token: 'good', more: 'x'.repeat(70_000) },
      { error: 'bad_verification_code' },
    ]) {
      setAnswer(() => ({ value }))
      await refused({ state: await state(), code: 'c' })
    }
  })

  t.test('more than three at once', async (t) => {
    await database('plugin_sign_ins').delete()
    const begun = await Promise.all(Array.from({ length: 6 }, () => start()))
    t.same(begun.map(({ status }) => status).sort(), [200, 200, 200, 429, 429, 429])
    t.match(begun.find(({ status }) => status === 429)?.json, { error: 'rate_limit_exceeded', retry_after: Number })
    await database('plugin_sign_ins').delete()
  })

  t.test('an origin that a stranger tells', async (t) => {
    const forged = { host: 'books.example.org', 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'https' }
    const redirect = (await start(forged)).url?.searchParams.get('redirect_uri')
    t.match(redirect, /^http:\/\/[^/]+\/api\/v1\/user\/plugins\/oauth\/callback$/)
    t.notMatch(redirect, 'evil')
  })
})

t.test('an origin that a proxy of the house tells', async (t) => {
  const { id, host, start } = await openOauth(t, { pkce: false }, { settings: { trustedProxies: ['127.0.0.1'] } })
  await host.edit(id, { credentials: CLIENT })
  const { url } = await start({ 'x-forwarded-host': 'books.example.org', 'x-forwarded-proto': 'https' })
  t.equal(url?.searchParams.get('redirect_uri'), 'https://books.example.org/api/v1/user/plugins/oauth/callback')
  t.equal(url?.searchParams.get('code_challenge'), null, 'a service that cannot do with a challenge gets none')
})

t.test('a token endpoint inside the house is not asked', async (t) => {
  const { id, userId, host, state, back, asked } = await openOauth(t, {}, { addresses: { 'tokens.example.org': ['10.0.0.7'] } })
  await host.edit(id, { credentials: CLIENT })
  const { status, text } = await back({ state: await state(), code: 'c' })
  t.equal(status, 400)
  t.notMatch(text, '10.0.0')
  t.equal(asked.length, 0)
  t.same(await host.credentials.reveal({ pluginId: id, userId }), {})
})

t.test('addresses to sign in at are https', async (t) => {
  const { install } = await openReaderServer(t, (_request, response) => sendJson(response, {}))
  for (const bad of ['javascript:alert(1)//login.example.org', 'http://login.example.org/', 'data:text/html,x', 'https://10.0.0.1/'])
    for (const member of ['authorizeUrl', 'tokenUrl'])
      await t.rejects(install({ auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, [member]: bad } } }), { code: 'invalid_value' })
})

t.test('tokens are renewed before they end', async (t) => {
  const { id, userId, host, rita, asked, setAnswer, way, database } = await openOauth(t)
  await host.edit(id, { credentials: CLIENT })
  const owner = { pluginId: id, userId }
  const { auth } = (await host.get(id)).manifest
  const give = (seconds: number) =>
    host.credentials.set(owner, auth, { accessToken: 'first-token', refreshToken: 'first-renewal' }, new Date(Date.now() + seconds * 1000))
  const call = () => host.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
  const used = () => way.asked.filter(({ url }) => url.startsWith('/list')).map(({ headers }) => headers.authorization)

  await give(3_600)
  await call()
  t.same([asked.length, used()], [0, ['Bearer first-token']], 'not before it is time')

  await give(-1)
  t.match((await rita<Own>('GET', `plugins/${id}`)).json, { connected: true }, 'what can be renewed has not ended')
  await give(200)
  setAnswer(() => ({ value: { access_token: 'second-token', expires_in: '3600' } }))
  way.asked.length = 0
  await Promise.all(Array.from({ length: 4 }, call))
  t.same(asked, [
    { grant_type: 'refresh_token', refresh_token: 'first-renewal', client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret },
  ])
  t.same(used(), Array(4).fill('Bearer second-token'), 'four calls at once renew once, and all wait for it')
  t.match(await host.credentials.reveal(owner), { refreshToken: 'first-renewal' }, 'a service that gives no other keeps the one')

  t.test('nobody renews what somebody else is renewing', async (t) => {
    await give(200)
    await database('plugin_credentials')
      .where('field', 'refreshToken')
      .update({ renewing_until: new Date(Date.now() + 10_000) })
    asked.length = way.asked.length = 0
    await call()
    t.same([asked.length, used()], [0, ['Bearer first-token']], 'what is still good is used meanwhile')
    await give(-1)
    await database('plugin_credentials')
      .where('field', 'refreshToken')
      .update({ renewing_until: new Date(Date.now() + 10_000) })
    const waiting = call()
    await sleep(500)
    await give(3_600)
    await waiting
    t.equal(used().at(-1), 'Bearer first-token', 'and what has ended is waited for')
  })

  t.test('a refusal breaks the connection, not the plugin, and is not repeated', async (t) => {
    await give(-1)
    setAnswer(() => ({ status: 400, value: { error: 'invalid_grant' } }))
    asked.length = way.asked.length = 0
    for (let times = 0; times < 7; times++) await t.rejects(call(), { code: 'unavailable', details: { code: 'auth' } })
    t.equal(asked.length, 1)
    t.same(used(), [], 'a token that has ended is not sent')
    t.match((await rita<Own>('GET', `plugins/${id}`)).json, { connected: false, healthStatus: 'unhealthy' })
    t.match(await host.get(id), { state: 'enabled', breaker: null })
    t.match((await rita<Own>('POST', `plugins/${id}/credentials`, { accessToken: 'made-by-hand' })).json, { connected: true })
    way.asked.length = 0
    await call()
    t.same(used(), ['Bearer made-by-hand'])
  })

  t.test('whoever disconnects while it is renewed stays so', async (t) => {
    await give(-1)
    setAnswer(async () => {
      await database('plugin_credentials').where('user_id', userId).delete()
      return { value: { access_token: 'too-late', refresh_token: 'too-late-as-well' } }
    })
    await call().catch(() => {})
    t.same(await host.credentials.reveal(owner), {})
  })
})
