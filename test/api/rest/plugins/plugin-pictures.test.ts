import type { RequestListener } from 'node:http'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { openMatchingServer, PROVIDER_MANIFEST } from '#test/support/matching-server.ts'
import { makePicture, pngHeader } from '#test/support/pictures.ts'

t.setTimeout(240_000)

/** Returns the address that it is asked for, in each place where an answer can have one. */
const NAMING = `
const named = (url) => ({ externalId: 'x', title: 'Named', coverUrl: url, externalUrl: 'https://api.example.org/x' })
const get = ({ externalId }) => named('https://covers.example.org/' + externalId + '.jpg')
const search = ({ query }) => ({ results: [named(query)] })
export default { metadata: { series: { search, get }, book: { search, get } }, recommendations: { get: () => ({ recommendations: [] }) } }`
const HOSTS = ['covers.example.org', 'inside.example.org', 'api.example.org', 'bad.example.org']
const MANIFEST = {
  ...{ id: 'org.example.naming', name: 'Naming' },
  capabilities: { ...PROVIDER_MANIFEST.capabilities, recommendations: { methods: ['get'] } },
  permissions: { network: HOSTS.map((host) => ({ host, reason: 'Covers' })) },
}

/** Of some pictures: the status, and where they redirect. */
const STATUSES: Record<string, [status: number, location?: string]> = {
  away: [302, 'https://collector.example/x'],
  inside: [302, 'https://inside.example.org/x'],
  loopback: [302, 'http://127.0.0.1:5432/'],
  gone: [404],
  angry: [500],
}

async function openNaming(t: Test, answer?: RequestListener) {
  const server = await openMatchingServer(t, { ...(answer && { answer }), addresses: { 'inside.example.org': ['10.0.0.5'] } })
  const { ask, install, url, maintainer } = server
  const id = await install(NAMING, MANIFEST)
  /** The address that an answer has in place of that of a cover. */
  const coverOf = async (cover: string) => {
    const body = { action: { metadata: { action: 'search', contentType: 'series', params: { query: cover } } } }
    const { json } = await ask<{ result: { results: { coverUrl: string | null }[] } }>('POST', `plugins/${id}/execute`, body)
    return json.result.results[0]?.coverUrl ?? null
  }
  const get = async (path: string | null, token: string | null = maintainer.token) => {
    const answer = await fetch(url + path, { ...(token !== null && { headers: { authorization: `Bearer ${token}` } }) })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const type = answer.headers.get('content-type') ?? ''
    const json = type.startsWith('application/json') ? (JSON.parse(String(bytes)) as { error: string; message: string }) : null
    return { status: answer.status, type, bytes, json, headers: answer.headers }
  }
  return { ...server, id, coverOf, get }
}

t.test('a cover reaches its reader by an address of this server, small and as WebP, and no other user', async (t) => {
  const large = await makePicture({ width: 1_000, height: 1_500, noise: true })
  const { id, coverOf, get, ask, way, adminToken, signUp, maintainer, add, database, pluginId } = await openNaming(
    t,
    (_request, response) => response.setHeader('content-type', 'text/html').end(large),
  )
  const path = await coverOf('https://covers.example.org/1.jpg?size=large')
  t.match(path, new RegExp(`^/api/v1/plugins/${id}/pictures/[A-Za-z0-9_-]+$`))
  t.equal(await coverOf('https://covers.example.org/1.jpg?size=large'), path, 'the next answer has the same')
  t.same(way.asked, [], 'nobody was contacted for the answer')
  const shown = await get(path)
  t.match(shown, { status: 200, type: 'image/webp' })
  t.match(shown.headers.get('cache-control'), /private/)
  const { width, height, format } = await sharp(shown.bytes).metadata()
  t.same([width, height, format], [320, 480, 'webp'])
  t.match(await get(path), { status: 200 })
  t.match(
    way.asked.map(({ method, url, host }) => [method, url, host.replace(/:\d+$/, '')]),
    [['GET', '/1.jpg?size=large', 'covers.example.org']],
    'once',
  )
  const { json } = await ask<{ calls: object[] }>('GET', `admin/plugins/${id}/calls`, undefined, adminToken)
  t.match(
    json.calls.filter((call) => (call as { method: string }).method === 'picture'),
    [{ userId: maintainer.id, code: 'ok', fetches: [{ host: 'covers.example.org', outcome: '200' }] }],
    'the contact is on record, with its user',
  )

  const { token: other } = await signUp({ username: 'otto' })
  t.match(await get(path, null), { status: 401 })
  for (const [what, address, token] of [
    ['another user', path, other],
    ['another plugin', path?.replace(id, pluginId) ?? '', maintainer.token],
    ['no plugin', path?.replace(id, '00000000-0000-4000-8000-000000000000') ?? '', maintainer.token],
    ['a changed token', path?.replace(/.(?=..$)/, (letter) => (letter === 'A' ? 'B' : 'A')) ?? '', maintainer.token],
  ] as const)
    t.match(await get(address, token), { status: 404, json: { error: 'not_found', message: /valid for a day|There is no/ } }, what)
  t.match(await get(path?.replace(id, id.toUpperCase()) ?? ''), { status: 200 }, 'whatever the case of the id')

  const { seriesId } = await add('Named')
  const from = { pluginId: id, externalId: '2' }
  const previewed = await ask<{ fields: { field: string; proposedValue: string | null }[] }>(
    'POST',
    `series/${seriesId}/metadata/preview`,
    from,
  )
  const cover = previewed.json.fields.find(({ field }) => field === 'cover')
  t.match(await get(cover?.proposedValue ?? null), { status: 200, type: 'image/webp' }, 'the cover of a preview')
  t.match((await ask('POST', `series/${seriesId}/metadata/apply`, from)).json, { success: true, appliedFields: /cover/ })
  t.match(await database('covers').select('source'), [{ source: 'plugin:org.example.naming' }], 'the server has found the address again')
  t.notMatch(JSON.stringify(previewed.json), 'https://covers.example.org')
})

t.test('an address of a host that is not granted is no picture, and the record of the call says why', async (t) => {
  const { id, coverOf, ask, way, adminToken } = await openNaming(t)
  const resolved: string[] = []
  const { resolve } = way
  way.resolve = (host, signal) => {
    resolved.push(host)
    return resolve(host, signal)
  }
  for (const url of [
    'https://collector.example/c.jpg?d=9',
    'https://covers.example.org.collector.example/',
    'https://covers.example.org@collector.example/',
    'http://covers.example.org/',
    'https://covers.example.org:8443/',
  ])
    t.equal(await coverOf(url), null, url)
  const { json } = await ask<{ calls: { fetches: object[] }[] }>('GET', `admin/plugins/${id}/calls`, undefined, adminToken)
  t.match(json.calls.map(({ fetches }) => fetches).at(-1), [{ host: 'collector.example', outcome: 'permission' }], 'the first of the calls')
  const { json: logs } = await ask<object>('GET', `admin/plugins/${id}/logs`, undefined, adminToken)
  t.match(JSON.stringify(logs), /A picture was left out of the answer: https:\/\/collector\.example is not a host/)
  t.same([way.asked, resolved], [[], []])
})

t.test('each bad picture ends soon, in a refusal that says what is wrong', async (t) => {
  const small = await makePicture({ width: 20, height: 30 })
  const bodies: Record<string, Buffer> = {
    html: Buffer.from('<!doctype html><img src="x.png">'),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    bomb: pngHeader(60_000, 60_000),
    half: small.subarray(0, small.length / 2),
    ten: Buffer.concat([small, Buffer.alloc(11 * 1024 * 1024)]),
  }
  const { coverOf, get, way } = await openNaming(t, (request, response) => {
    const kind = (request.url ?? '').slice(1)
    if (kind === 'gigabytes') response.setHeader('content-length', String(5 * 1024 ** 3)).write(small)
    else {
      const [status = 200, location] = STATUSES[kind] ?? []
      response.statusCode = status
      if (location !== undefined) response.setHeader('location', location)
      response.end(bodies[kind] ?? small)
    }
  })
  const at = performance.now()
  for (const [kind, status, error, message] of [
    ['html', 422, 'invalid_value', /is not a supported picture/],
    ['svg', 422, 'invalid_value', /is not a supported picture/],
    ['bomb', 422, 'invalid_value', /damaged or too large/],
    ['half', 422, 'invalid_value', /damaged or too large/],
    ['ten', 422, 'invalid_value', /bytes|large/],
    ['gigabytes', 422, 'invalid_value', /bytes|large/],
    ['away', 409, 'conflict', /collector\.example is not a host that this plugin may contact/],
    ['inside', 409, 'conflict', /inside\.example\.org resolves to an address that is not on the public internet/],
    ['loopback', 409, 'conflict', /127\.0\.0\.1/],
    ['gone', 404, 'not_found', /has no such picture/],
    ['angry', 502, 'service_failed', /status 500/],
  ] as const)
    t.match(await get(await coverOf(`https://bad.example.org/${kind}`)), { status, json: { error, message } }, kind)
  t.match(await get(await coverOf('https://inside.example.org/')), { status: 409 })
  t.ok(performance.now() - at < 60_000, `${Math.round(performance.now() - at)} ms`)
  t.ok(
    way.asked.every(({ host }) => host.startsWith('bad.example.org')),
    'nobody else was contacted',
  )
  t.match(await get(await coverOf('https://bad.example.org/fine')), { status: 200 }, 'another picture of the same host')
})

t.test('the address of a picture is of no use once the plugin has lost its rights', async (t) => {
  const { id, coverOf, get, database, services, maintainer, request, adminToken } = await openNaming(t)
  const path = await coverOf('https://covers.example.org/1.jpg')
  const other = await coverOf('https://api.example.org/2.jpg')
  t.match(await get(path), { status: 200 })
  await request('POST', `/api/v1/admin/plugins/${id}/disable`, { token: adminToken })
  t.match(
    await get(path),
    { status: 409, json: { message: 'An administrator has disabled "Naming". It runs again when an administrator enables it.' } },
    'although it was loaded before',
  )
  await request('POST', `/api/v1/admin/plugins/${id}/enable`, { token: adminToken })
  t.match(await get(path), { status: 200 })

  const plugin = await services.plugins.get(id)
  const network = plugin.granted?.network.filter(({ host }) => host !== 'covers.example.org')
  await database('plugins')
    .where({ id })
    .update({ granted: { ...plugin.granted, network } })
  t.match(await get(path), { status: 409, json: { message: /covers\.example\.org is not a host that this plugin may contact/ } })
  t.match(await get(other), { status: 200 }, 'another host')
  await database('plugins').where({ id }).update({ state: 'revoked' })
  t.match(await get(other), { status: 409, json: { message: '"Naming" is revoked and must not run.' } })
  await database('plugins').where({ id }).update({ state: 'enabled' })

  const shown = { plugin: await services.plugins.get(id), userId: maintainer.id }
  const ownOf = (ownId: string | null) =>
    `/api/v1/plugins/${id}/pictures/${services.pluginPictures.tokenOf('https://api.example.org/own.jpg', { ...shown, ownId })}`
  const user = { pluginId: id, userId: maintainer.id }
  t.equal(await services.pluginPictures.ownIdOf(user), null)
  t.match(
    await get(ownOf('00000000-0000-4000-8000-000000000000')),
    { status: 404, json: { message: /The user has no plugin org\.example\.naming/ } },
    'a recommendation of a plugin that the user does not use',
  )
  await services.userPlugins.list(maintainer.id)
  await services.userPlugins.enable(maintainer.id, id)
  const own = ownOf(await services.pluginPictures.ownIdOf(user))
  t.match(await get(own), { status: 200 })
  const { agreedSha256 } = await database('user_plugins').where({ plugin_id: id }).first('agreed_sha256 AS agreedSha256')
  await database('user_plugins')
    .where({ plugin_id: id })
    .update({ agreed_sha256: '0'.repeat(64) })
  t.match(await get(own), { status: 409, json: { message: /waits until the user enables it again/ } }, 'as its calls do')
  await database('user_plugins').where({ plugin_id: id }).update({ agreed_sha256: agreedSha256 })
  t.match(await get(own), { status: 200 })
  await services.userPlugins.disable(maintainer.id, id)
  t.match(await get(own), { status: 409 })
  await request('DELETE', `/api/v1/admin/plugins/${id}`, { token: adminToken })
  t.match(await get(other), { status: 404 })
})
