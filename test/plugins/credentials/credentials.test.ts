import t from 'tap'
import { CredentialBox } from '#plugins/credentials/credential-box.ts'
import { Credentials } from '#plugins/credentials/credentials.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { openHostOn, openTestHost, SECRETS } from '#test/support/plugin-hosts.ts'

t.setTimeout(60_000)

const BIND = { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' }
const TOKEN = 'tok-5f2a-very-secret'
/** Returns everything that it can see, and sends two requests to its service: to the host of the credentials and to another. */
const CURIOUS = `export default { metadata: { series: {
  async search({ query }, ctx) {
    const status = await ctx.auth.status()
    const mine = await ctx.fetch('https://api.example.org/mine')
    const other = await ctx.fetch('https://other.example.org/other')
    ctx.log.info('seen', { config: ctx.config, headers: [...mine.headers.entries()] })
    return { results: [{ externalId: '1', title: status + ' ' + JSON.stringify([ctx, mine.url, globalThis]).slice(0, 900) }] }
  },
  get: () => ({ externalId: '1' }) } } }`
const MANIFEST = {
  auth: { type: 'apiKey', scope: 'server', bind: BIND },
  permissions: {
    network: [
      { host: 'api.example.org', reason: 'x' },
      { host: 'other.example.org', reason: 'y' },
    ],
  },
}

t.test('credentials go only to their host, and the plugin never sees them', async (t) => {
  const { host, run, way, database } = await openTestHost(t)
  const { id, call } = await run(CURIOUS, MANIFEST)
  const title = async () =>
    ((await call('metadata.series.search', { query: '', limit: 1 })) as { results: { title: string }[] }).results[0]?.title
  t.match(await title(), /^missing /)
  await host.plugins.edit(id, { credentials: { token: TOKEN } })
  way.asked.length = 0
  const seen = await title()
  t.match(seen, /^connected /)
  t.notMatch(seen, TOKEN)
  t.same(
    way.asked.map(({ host, headers }) => [host.split(':')[0], headers.authorization]),
    [
      ['api.example.org', `Bearer ${TOKEN}`],
      ['other.example.org', undefined],
    ],
  )
  t.notMatch(
    JSON.stringify([host.pluginLogs.calls(id), host.pluginLogs.lines(id, { limit: 100 }), await host.plugins.get(id)]),
    TOKEN,
    'nor do administrators see it',
  )
  const rows = await database('plugin_credentials').where('field', 'token')
  t.equal(rows.length, 1)
  t.notOk(rows[0].sealed.includes(TOKEN), 'the database stores it encrypted')
  const wrong: Record<string, string>[] = [{ token: 'a\r\nb' }, { token: '' }, { password: 'x' }, { token: 'x'.repeat(10_001) }]
  for (const credentials of wrong) await t.rejects(host.plugins.edit(id, { credentials }), { code: 'invalid_value' })
  await host.plugins.edit(id, { credentials: {} })
  t.match(await title(), /^missing /)
})

t.test('exchanged rows do not decrypt, and keys can be rotated', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(CURIOUS, MANIFEST)
  const [anna, ben] = [(await addCaller(database)).userId, (await addCaller(database)).userId]
  const auth = { type: 'apiKey', scope: 'user', bind: BIND } as const
  const { pluginCredentials: credentials } = host
  await credentials.set({ pluginId: id, userId: anna }, auth, { token: 'of anna' })
  await credentials.set({ pluginId: id, userId: ben }, auth, { token: 'of ben' })
  t.match(await credentials.bound({ pluginId: id, userId: ben }, auth), { value: 'Bearer of ben' })

  const rotated = new Credentials(database, ['another-key-of-at-least-thirty-two-bytes', ...SECRETS])
  t.same(await rotated.reveal({ pluginId: id, userId: anna }, auth), { token: 'of anna' }, 'old keys still decrypt')
  t.same(await rotated.rotate(), { resealed: 4, lost: 0 })
  t.same(await rotated.rotate(), { resealed: 0, lost: 0 })
  t.same(await credentials.reveal({ pluginId: id, userId: anna }, auth), {}, 'the old key no longer decrypts anything')
  t.same(await rotated.reveal({ pluginId: id, userId: anna }, auth), { token: 'of anna' })

  const { sealed } = await database('plugin_credentials').where('user_id', anna).first('sealed')
  await database('plugin_credentials').where('user_id', ben).update({ sealed })
  t.same(await rotated.reveal({ pluginId: id, userId: ben }, auth), {}, 'a row that replaced the row of another user')
  t.equal(await rotated.bound({ pluginId: id, userId: ben }, auth), undefined)
  const third = new Credentials(database, ['a-third-key-of-at-least-thirty-two-bytes!'])
  t.same(await third.rotate(), { resealed: 0, lost: 4 })
})

t.test('credentials are stored encrypted, and are bound to their place', async (t) => {
  const box = new CredentialBox(SECRETS)
  const sealed = box.seal('text', ['a', 'b'])
  t.equal(box.open(sealed, box.keyId, ['a', 'b']), 'text')
  t.notSame(box.seal('text', ['a', 'b']), sealed, 'each encryption gives another text')
  for (const belongsTo of [['a'], ['a', 'b', ''], ['ab'], ['b', 'a'], ['a,b'], ['["a"', '"b"]']])
    t.equal(box.open(sealed, box.keyId, belongsTo), null, belongsTo.join())
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] as number) ^ 1
    if (box.open(changed, box.keyId, ['a', 'b']) !== null) t.fail(`byte ${index} can be changed`)
  }
  t.equal(box.open(sealed.subarray(0, 20), box.keyId, ['a', 'b']), null)
  t.equal(box.open(sealed, 'another', ['a', 'b']), null)
  t.throws(() => new CredentialBox([]), /no key/)
})

t.test('credentials of basic and oauth2 sign-ins are sent in their formats, and a token expires', async (t) => {
  const { database } = await openTestHost(t)
  const { host } = await openHostOn(t, database)
  const { pluginCredentials: credentials } = host
  const { pluginOf } = await import('#test/support/plugins.ts')
  const { plugin } = await host.pluginLifecycle.install(pluginOf(CURIOUS, MANIFEST), { userId: null })
  const owner = { pluginId: plugin.id, userId: null }
  const basic = { type: 'basic', scope: 'server', bind: { ...BIND, format: 'Basic {token}' } } as const
  await credentials.set(owner, basic, { username: 'anna', password: 'pass:word' })
  t.match(await credentials.bound(owner, basic), { value: `Basic ${Buffer.from('anna:pass:word').toString('base64')}` })
  const oauth2 = {
    type: 'oauth2',
    scope: 'user',
    bind: BIND,
    oauth2: { authorizeUrl: 'https://a.example.org/', tokenUrl: 'https://a.example.org/' },
  } as const
  await credentials.set(owner, oauth2, { accessToken: '$&', refreshToken: 'r' }, new Date(Date.now() + 60_000))
  t.match(await credentials.bound(owner, oauth2), { value: 'Bearer $&' }, 'the token is not used as a replacement pattern')
  t.equal(await credentials.status(owner, oauth2), 'connected')
  t.match(await credentials.state(owner), { fields: ['accessToken', 'refreshToken'], expiresAt: Date })
  await credentials.set(owner, oauth2, { accessToken: 'x' }, new Date(Date.now() - 1))
  t.equal(await credentials.status(owner, oauth2), 'expired')
})
