import t from 'tap'
import { requestTokens, TokenError } from '#plugins/credentials/sign-in-tokens.ts'
import { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { Egress, EgressPolicy } from '#plugins/network/egress.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

const URL_OF_TOKENS = 'https://auth.example.org/token'

/** Redeems a code at a service with this response; returns the sent request too. */
async function redeem(status: number, value: unknown, clientSecret?: string) {
  const sent: { url: string; method?: string; body?: string; headers?: Record<string, string> }[] = []
  const logs = new PluginLogs()
  const fetch = async (request: (typeof sent)[number], { onContact }: EgressPolicy) => {
    sent.push(request)
    onContact?.(new URL(request.url).hostname, status, 0)
    if (value instanceof Error) throw value
    return { status, url: request.url, headers: [], body: typeof value === 'string' ? value : JSON.stringify(value) }
  }
  const tokens = await requestTokens(
    { egress: { fetch } as unknown as Egress, logs, whileAllowed: async (_of, allow, signal, work) => await work(await allow(), signal) },
    {
      ...{ tokenUrl: URL_OF_TOKENS, plugin: { id: 'p', key: 'org.example.echo', version: '1.0.0' }, userId: 'u' },
      ...{ client: { clientId: 'carrel & co', clientSecret } },
      grant: {
        grant_type: 'authorization_code',
        code: 'a code',
        redirect_uri: 'https://books.example.org/back',
        code_verifier: 'v'.repeat(43),
      },
      allow: async () => {},
    },
  )
  return { tokens, sent: sent[0], calls: logs.calls('p') }
}

async function problemOf(status: number, value: unknown): Promise<string> {
  try {
    await redeem(status, value)
    return 'none'
  } catch (error) {
    if (!(error instanceof TokenError)) throw error
    return `${error.code}: ${error.message}`
  }
}

t.test('a code is sent as RFC 6749 requires', async (t) => {
  const { sent, tokens, calls } = await redeem(200, { access_token: 'one', token_type: 'Bearer' }, 'its secret')
  t.match(sent, { url: URL_OF_TOKENS, method: 'POST', headers: { accept: 'application/json' } })
  t.same(Object.fromEntries(new URLSearchParams(sent?.body)), {
    ...{ grant_type: 'authorization_code', code: 'a code', redirect_uri: 'https://books.example.org/back', code_verifier: 'v'.repeat(43) },
    ...{ client_id: 'carrel & co', client_secret: 'its secret' },
  })
  t.same(tokens, { accessToken: 'one', refreshToken: null, expiresAt: null })
  t.match(calls, [{ method: 'sign-in', userId: 'u', code: 'ok', fetches: [{ host: 'auth.example.org', outcome: 200 }] }], 'it is on record')
  t.notMatch(JSON.stringify(calls), /its secret|a code/)
  const open = await redeem(200, { access_token: 'one' })
  t.notOk(new URLSearchParams(open.sent?.body).has('client_secret'))
})

t.test('responses that deviate from the standard are accepted', async (t) => {
  const whole = { access_token: 'one', refresh_token: 'two', expires_in: 3600 }
  for (const [name, status, value] of [
    ['no type', 200, whole],
    ['a type in any case', 200, { ...whole, token_type: 'bEARER' }],
    ['201', 201, whole],
    ['a text for a number', 200, { ...whole, expires_in: '3600' }],
    ['an id_token of an unknown issuer', 200, { ...whole, id_token: 'a.b.c', scope: ['x'] }],
  ] as const) {
    const { tokens } = await redeem(status, value)
    t.match(tokens, { accessToken: 'one', refreshToken: 'two' }, name)
    t.ok(Math.abs((tokens.expiresAt?.getTime() ?? 0) - Date.now() - 3_600_000) < 60_000, name)
  }
  for (const expires_in of [0, -1, 1e12, 'soon', null, {}])
    t.equal((await redeem(200, { ...whole, expires_in })).tokens.expiresAt, null, `${JSON.stringify(expires_in)} is not an expiry`)
  for (const refresh_token of [1, '', 'a\nb', null])
    t.equal(
      (await redeem(200, { ...whole, refresh_token })).tokens.refreshToken,
      null,
      `${JSON.stringify(refresh_token)} is not a refresh token`,
    )
})

t.test('error messages contain no text of the service', async (t) => {
  for (const status of [400, 401, 403])
    t.equal(await problemOf(status, { error: 'invalid_grant' }), 'refused: auth.example.org refused it (invalid_grant).')
  t.equal(await problemOf(200, { error: 'bad_code' }), 'refused: auth.example.org refused it (bad_code).')
  t.equal(await problemOf(400, { error: '<script>' }), 'refused: auth.example.org refused it.')
  t.equal(await problemOf(503, 'busy'), 'unreachable: auth.example.org answered 503.')
  t.equal(await problemOf(200, new GuestError('thrown', 'It is not there.', 'upstream')), 'unreachable: It is not there.')
  for (const value of [
    null,
    [],
    'text',
    '',
    {},
    { access_token: 1 },
    { access_token: '' },
    { access_token: 'good', more: 'x'.repeat(70_000) },
  ])
    t.equal(await problemOf(200, value), 'unreachable: auth.example.org returned no usable tokens.', JSON.stringify(value).slice(0, 40))
  for (const access_token of ['a\r\nX-Other: 1', 'x'.repeat(10_001), 'é'])
    t.equal(await problemOf(200, { access_token }), 'unreachable: auth.example.org returned no usable access token.')
  t.equal(await problemOf(200, { access_token: 'a', token_type: 'mac' }), 'unreachable: auth.example.org returned no usable tokens.')
  t.equal(
    await problemOf(200, { access_token: 'a', token_type: 'DPoP' }),
    'unreachable: auth.example.org returned tokens of another type than Bearer.',
  )
})
