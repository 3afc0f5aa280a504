import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bodyOf, OAUTH, openUserPluginServer, sendJson } from '#test/support/user-plugin-server.ts'

t.setTimeout(60_000)

const CLIENT = { clientId: 'carrel-of-a-test', clientSecret: 'a-client-secret-that-nobody-sees' }
const base = { host: 'books.example.org' }

interface Own {
  connected: boolean
  requiresOauth: boolean
  oauthConfigured: boolean
}

interface Given {
  status?: number
  value: unknown
}

/** A service that gives tokens, and what it was asked for. */
async function openOauth(t: Parameters<typeof openUserPluginServer>[0], change: Record<string, unknown> = {}, options = {}) {
  const asked: Record<string, string>[] = []
  let answer: (form: Record<string, string>) => Given | Promise<Given> = () => ({
    value: {
      access_token: `token-number-${asked.length}`,
      refresh_token: `renews-${asked.length}`,
      expires_in: 3600,
      token_type: 'bearer',
    },
  })
  const server = await openUserPluginServer(
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
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${id}/enable`)
  /** What the reader's browser keeps for the way back. */
  const jar: string[] = []
  const start = async (headers: Record<string, string> = base) => {
    const {
      status,
      json,
      headers: answered,
    } = await rita<{ redirectUrl: string }>('POST', `plugins/${id}/oauth/start`, undefined, { headers })
    const cookie = answered.get('set-cookie')
    if (cookie !== null) jar.push(cookie.split(';')[0] as string)
    return { status, json, cookie, url: status === 200 ? new URL(json.redirectUrl) : null }
  }
  const state = async () => (await start()).url?.searchParams.get('state') as string
  const backFrom = (kept: readonly string[], query: Record<string, string>, headers: Record<string, string> = {}) => {
    const cookie = [...kept, headers['cookie']].filter(Boolean).join('; ')
    return server.request('GET', `/api/v1/user/plugins/oauth/callback?${new URLSearchParams(query)}`, {
      headers: { ...headers, ...(cookie !== '' && { cookie }) },
    })
  }
  const back = (query: Record<string, string>, headers: Record<string, string> = {}) => backFrom(jar, query, headers)
  const setAnswer = (next: typeof answer) => {
    answer = next
  }
  /** What is stored for the service of a user, or of the server. */
  const stored = async (userId: string | null) =>
    await server.host.pluginCredentials.reveal({ pluginId: id, userId }, (await server.host.plugins.get(id)).manifest.auth)
  return { ...server, id, userId, token, rita, start, state, back, backFrom, jar, asked, setAnswer, stored }
}

t.test('a reader signs in at a service', async (t) => {
  const world = await openOauth(t)
  const { id, userId, host, rita, start, back, asked, database, stored } = world
  t.match((await rita<Own>('GET', `plugins/${id}`)).json, { connected: false, requiresOauth: true, oauthConfigured: false })
  t.match(await start(), { status: 409 }, 'not before an administrator has given the client id')
  await host.plugins.edit(id, { credentials: CLIENT })

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
  t.match(page.text, /<p>&quot;Taste&quot; is connected\./)
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
  t.match(await stored(userId), { accessToken: 'token-number-1', refreshToken: 'renews-1' })
  t.match(await stored(null), CLIENT)

  t.test('a state of signing in is valid once', async (t) => {
    const again = await back({ state: sent['state'] ?? '', code: 'a code' })
    t.equal(again.status, 400)
    t.match(again.text, /This sign-in is unknown/)
    t.equal(asked.length, 1, 'and nobody was asked')
  })

  t.test('and away from it', async (t) => {
    t.equal((await rita('DELETE', `plugins/${id}`)).status, 204)
    t.same(await stored(userId), {})
    t.match(await stored(null), CLIENT, 'what the server is known by stays')
  })
})

t.test('sign-ins that are not what they seem', async (t) => {
  const world = await openOauth(t, {}, { settings: { trustedProxies: ['10.0.0.0/8'] } })
  const { id, userId, host, start, state, back, asked, database, signUp, setAnswer, stored } = world
  await host.plugins.edit(id, { credentials: CLIENT })
  const refused = async (query: Record<string, string>, headers?: Record<string, string>) => {
    const { status, text } = await back(query, headers)
    t.equal(status, 400, text)
    t.same(await stored(userId), {}, 'nothing is kept')
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
    t.match(text, /Another user/)
    t.equal(asked.length, 0)
  })

  t.test('another browser than the one that began', async (t) => {
    await database('plugin_sign_ins').delete()
    world.jar.splice(0)
    const { url, cookie } = await start()
    t.match(
      cookie,
      /^carrel_sign_in_[0-9a-f]{16}=[\w-]{43}; Path=\/api\/v1\/user\/plugins\/oauth\/callback; HttpOnly; SameSite=Lax; Max-Age=600/,
    )
    const mine = url?.searchParams.get('state') as string
    const [name = ''] = world.jar[0]?.split('=') ?? []
    const other = (await start()).cookie?.split(';')[0] as string
    for (const kept of [[], [`${name}=`], [`${name}=${'A'.repeat(43)}`], [other], [`${name}=${other.split('=')[1]}`]]) {
      const { status, text } = await world.backFrom(kept, { state: mine, code: 'c' })
      t.equal(status, 400)
      t.match(text, /started in another browser/)
    }
    t.equal(asked.length, 0, 'the service is not asked')
    t.equal((await back({ state: mine, code: 'c' })).status, 200, 'and the sign-in is there still for the browser that began it')
    t.match(await stored(userId), { accessToken: String })
    await world.rita('DELETE', `plugins/${id}`)
    await world.rita('GET', 'plugins')
    await world.rita('POST', `plugins/${id}/enable`)
    asked.splice(0)
    world.jar.splice(0)
    await database('plugin_sign_ins').delete()
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
    t.match(begun.find(({ status }) => status === 429)?.json, {
      ...{ error: 'rate_limit_exceeded', retry_after: Number },
      message: /^3 sign-ins are already pending\. Complete one of them first\. Please retry after \d+ seconds?\.$/,
    })
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
  await host.plugins.edit(id, { credentials: CLIENT })
  const { url } = await start({ 'x-forwarded-host': 'books.example.org', 'x-forwarded-proto': 'https' })
  t.equal(url?.searchParams.get('redirect_uri'), 'https://books.example.org/api/v1/user/plugins/oauth/callback')
  t.equal(url?.searchParams.get('code_challenge'), null, 'a service that cannot do with a challenge gets none')
})

t.test('a token endpoint inside the house is not asked', async (t) => {
  const { id, userId, host, state, back, asked, stored } = await openOauth(t, {}, { addresses: { 'tokens.example.org': ['10.0.0.7'] } })
  await host.plugins.edit(id, { credentials: CLIENT })
  const { status, text } = await back({ state: await state(), code: 'c' })
  t.equal(status, 400)
  t.notMatch(text, '10.0.0')
  t.equal(asked.length, 0)
  t.same(await stored(userId), {})
})

t.test('addresses to sign in at are https', async (t) => {
  const { install } = await openUserPluginServer(t, (_request, response) => sendJson(response, {}))
  for (const bad of ['javascript:alert(1)//login.example.org', 'http://login.example.org/', 'data:text/html,x', 'https://10.0.0.1/'])
    for (const member of ['authorizeUrl', 'tokenUrl'])
      await t.rejects(install({ auth: { ...OAUTH, oauth2: { ...OAUTH.oauth2, [member]: bad } } }), { code: 'invalid_value' })
})

t.test('tokens are renewed before they end', async (t) => {
  const { id, userId, host, rita, asked, setAnswer, way, database, stored } = await openOauth(t)
  await host.plugins.edit(id, { credentials: CLIENT })
  const owner = { pluginId: id, userId }
  const { auth } = (await host.plugins.get(id)).manifest
  const give = (seconds: number) =>
    host.pluginCredentials.set(
      owner,
      auth,
      { accessToken: 'first-token', refreshToken: 'first-renewal' },
      new Date(Date.now() + seconds * 1000),
    )
  const call = () => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit: 1 } })
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
  t.match(await stored(userId), { refreshToken: 'first-renewal' }, 'a service that gives no other keeps the one')

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
    // The call waits by then.
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
    t.match(await host.plugins.get(id), { state: 'enabled', breaker: null })
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
    t.same(await stored(userId), {})
  })
})
