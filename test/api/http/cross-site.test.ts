import t from 'tap'
import { isCrossSite } from '#api/http/cross-site.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

const OWN = 'https://books.example.org'
const OTHER = 'https://evil.example'

t.test('which requests are of another site', (t) => {
  const table: [headers: Record<string, string>, origins: string[], expected: boolean][] = [
    [{}, [], false],
    [{ 'sec-fetch-site': 'same-origin', origin: OTHER }, [], false],
    [{ 'sec-fetch-site': 'none' }, [], false],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER }, [], true],
    [{ 'sec-fetch-site': 'cross-site' }, [], true],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://other.example.org' }, [], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER }, [OTHER], false],
    [{ 'sec-fetch-site': 'cross-site', origin: `${OTHER}.org` }, [OTHER], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER }, ['*'], false],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, cookie: 'auth_token=x' }, ['*'], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, authorization: 'Basic eA==' }, ['*'], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, authorization: 'Basic eA==' }, [OTHER], false],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, authorization: 'Bearer x' }, [], false],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, 'x-api-key': 'x' }, [], false],
    // Nothing of a key: the cookie beside it says who asks.
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, 'x-api-key': '', cookie: 'KOMGA-SESSION=x' }, [], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, authorization: 'Bearer ', cookie: 'KOMGA-SESSION=x' }, [], true],
    [{ 'sec-fetch-site': 'cross-site', origin: OTHER, authorization: 'Bearer x y', cookie: 'KOMGA-SESSION=x' }, [], true],
    [{ origin: OTHER }, [], true],
    [{ origin: 'null' }, [], true],
    [{ origin: 'file://' }, [], true],
    [{ origin: 'not an address' }, [], true],
    [{ origin: OWN }, [], false],
    [{ origin: 'http://books.example.org' }, [], false],
    [{ origin: `${OWN}:8443` }, [], true],
  ]
  for (const [headers, origins, expected] of table) {
    t.equal(isCrossSite({ method: 'POST', headers, own: OWN }, origins), expected, JSON.stringify([headers, origins]))
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      t.equal(isCrossSite({ method, headers, own: OWN }, origins), false, `${method} ${JSON.stringify(headers)}`)
  }
  t.equal(isCrossSite({ method: 'DELETE', headers: { origin: OWN }, own: null }, []), true, 'where nobody knows its own address')
  t.end()
})

t.test('another site changes nothing, with a cookie, by Basic or signed out, whoever asks', async (t) => {
  const server = await openTestServer(t, { settings: { corsOrigins: ['https://friend.example'] } })
  await enableKomga(server.database)
  const basic = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`
  const begun = await server.request('GET', '/komga/api/v1/users/me', { headers: { authorization: basic } })
  const [cookie = ''] = (begun.headers.get('set-cookie') ?? '').split(';')
  t.match(cookie, /^KOMGA-SESSION=/)
  const ask = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    server.request<{ message: string }>(method, path, { headers, ...(body !== undefined && { body }) })
  const login = { username: ADMIN.username, password: ADMIN.password }
  for (const site of [{ 'sec-fetch-site': 'cross-site', origin: OTHER }, { origin: OTHER }] as Record<string, string>[]) {
    for (const credential of [{ cookie }, { authorization: basic }, { authorization: 'Basic d3Jvbmc6d3Jvbmc=' }, {}] as Record<
      string,
      string
    >[]) {
      const headers = { ...site, ...credential }
      t.match(
        await ask('POST', '/komga/api/logout', headers),
        { status: 403, json: { status: 403, message: /cors\.origins/ } },
        JSON.stringify(headers),
      )
      t.equal((await ask('POST', '/komga/api/v1/users/me/api-keys', headers, { comment: 'x' })).status, 403)
      t.match(
        await ask('POST', '/api/v1/auth/login', headers, login),
        { status: 403, json: { error: 'forbidden' } },
        'nor does it sign anybody in',
      )
      t.equal((await ask('POST', '/api/v1/auth/logout', headers)).status, 403)
    }
    t.equal((await ask('GET', '/komga/api/v1/users/me', { ...site, cookie })).status, 200, 'reading shows it nothing')
  }
  t.equal((await ask('GET', '/komga/api/v1/users/me', { cookie })).status, 200, 'nobody was signed out')
  const friend = { 'sec-fetch-site': 'cross-site', origin: 'https://friend.example' }
  const signedIn = await server.request<{ accessToken: string }>('POST', '/api/v1/auth/login', { headers: friend, body: login })
  t.equal(signedIn.status, 200, 'an address that was let do so')
  const own = { 'sec-fetch-site': 'same-origin', origin: server.url }
  t.equal((await ask('POST', '/api/v1/auth/login', own, login)).status, 200)
  t.equal((await ask('POST', '/api/v1/auth/login', { origin: server.url }, login)).status, 200)
  const bearer = { origin: OTHER, 'sec-fetch-site': 'cross-site', authorization: `Bearer ${signedIn.json.accessToken}`, cookie }
  t.equal((await ask('POST', '/api/v1/api-keys', bearer, { name: 'an app' })).status, 201, 'a token is sent by no browser of itself')
  t.equal((await ask('POST', '/komga/api/logout', { ...own, cookie })).status, 204)
  t.equal((await ask('GET', '/komga/api/v1/users/me', { cookie })).status, 401)
})
