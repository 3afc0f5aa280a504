import t from 'tap'
import { routes } from '#api/routes.ts'
import { ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { complaintsOf } from '#test/support/answer-check.ts'
import { OWN_PAGE, openBrowser } from '#test/support/browsers.ts'
import { openProtocols } from '#test/support/composed-server.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { openTestServer } from '#test/support/server.ts'

const ID = '00000000-0000-4000-8000-000000000000'
/** An address of the route; numbers and UUIDs both read this way far enough to be refused or let in by permission first. */
const addressOf = (path: string) => path.replace(':prefix', 'komga').replace(/:\w+/g, ID)

t.test('every route but the public ones asks who is there, and for its permission', async (t) => {
  const server = await openTestServer(t)
  await enableKomga(server.database)
  await openProtocols(server.database)
  const reader = await server.signUp({ username: 'rita' })
  const mine = new Set<string>(ROLE_PERMISSIONS.reader)
  const key = await server.accounts.createApiKey(
    { name: 'nothing', permissions: [] },
    (await server.accounts.callers.ofToken(reader.token, 'token'))!,
  )
  const admin = (await server.accounts.callers.ofToken(server.adminToken, 'token'))!
  const browser = await openBrowser(server, { username: 'rita', password: 'rita has a password' })
  const open: string[] = []
  const account: string[] = []
  for (const { method, path, allow } of routes) {
    const isKomga = path.startsWith('/:prefix/')
    const isKoreader = path.startsWith('/koreader/')
    const details = { permission: allow.who }
    const address = addressOf(path)
    const name = `${method} ${path}`
    if (allow.who === 'public') {
      open.push(name)
      continue
    }
    t.equal((await server.request(method, address)).status, 401, `${name} without credentials`)
    const cookie = await server.request(method, address, { headers: { cookie: 'auth_token=nonsense' } })
    t.equal(cookie.status, 401, `${name} with a bad cookie`)
    const session = await server.request(method, address, { headers: { cookie: `carrel_session=st_${'x'.repeat(43)}`, ...OWN_PAGE } })
    t.equal(session.status, 401, `${name} with a forged session`)
    const changes = method !== 'GET'
    const strange = await server.request(method, address, { headers: { cookie: browser.cookie } })
    if (!path.startsWith('/api/v1/')) t.equal(strange.status, 401, `${name} with the session of a browser`)
    else if (changes) t.equal(strange.status, 403, `${name} with the session of a browser, and from no page of this server`)
    if (allow.who === 'user') {
      account.push(name)
      continue
    }
    t.match(
      await server.request(method, address, { token: key.key }),
      { status: 403, json: isKomga ? { status: 403, error: 'Forbidden' } : isKoreader ? { code: 2005 } : { error: 'forbidden', details } },
      `${name} with a key that may nothing`,
    )
    if (allow.also) {
      const narrow = await server.accounts.createApiKey({ name: name.slice(0, 200), permissions: [allow.who] }, admin)
      t.match(await server.request(method, address, { token: narrow.key }), { status: 403 }, `${name} with ${allow.who} alone`)
      await server.accounts.removeApiKey(narrow.id, admin)
    }
    if (mine.has(allow.who)) continue
    t.equal((await server.request(method, address, { token: reader.token })).status, 403, `${name} as a reader`)
    if (path.startsWith('/api/v1/'))
      t.match(await browser.request(method, address), { status: 403, json: { details } }, `${name} as a reader in a browser`)
  }
  // Nothing but the account itself and what every user may know: an API key without permissions reaches these too.
  t.same(account.sort(), [
    'DELETE /:prefix/api/v1/client-settings/user',
    'DELETE /:prefix/api/v1/syncpoints/me',
    'DELETE /api/v1/auth/sessions/:sessionId',
    'GET /:prefix/api/v1/client-settings/user/list',
    'GET /:prefix/api/v1/fonts/families',
    'GET /:prefix/api/v1/login/set-cookie',
    'GET /:prefix/api/v1/users/me',
    'GET /:prefix/api/v1/users/me/authentication-activity',
    'GET /api/v1/auth/me',
    'GET /api/v1/auth/sessions',
    'GET /api/v1/settings/public',
    'GET /api/v1/user',
    'GET /api/v1/user/sharing-tags',
    'PATCH /:prefix/api/v1/client-settings/user',
    'PATCH /:prefix/api/v1/users/me/password',
    'POST /api/v1/auth/change-password',
    'POST /api/v1/auth/logout',
    'PUT /api/v1/user/password',
  ])
  t.same(open.sort(), [
    'GET /',
    'GET /:prefix/api/v1/claim',
    'GET /:prefix/api/v1/client-settings/global/list',
    'GET /:prefix/api/v1/oauth2/providers',
    'GET /api/docs',
    'GET /api/docs/start.js',
    'GET /api/docs/swagger-ui-bundle.js',
    'GET /api/docs/swagger-ui.css',
    'GET /api/openapi.json',
    'GET /api/v1/auth/oidc/providers',
    'GET /api/v1/info',
    'GET /api/v1/settings/branding',
    'GET /api/v1/setup/status',
    'GET /api/v1/user/plugins/oauth/callback',
    'GET /health',
    'GET /opds',
    'GET /opds/authentication',
    'POST /:prefix/api/logout',
    'POST /:prefix/api/v1/logout',
    'POST /api/v1/auth/login',
    'POST /api/v1/auth/refresh',
    'POST /api/v1/auth/register',
    'POST /api/v1/setup/initialize',
    'POST /koreader/users/create',
  ])
})

t.test('routes are told apart, and named as this API names them', async (t) => {
  const seen = new Set<string>()
  for (const { method, path, summary, tag, allow } of routes) {
    const shape = `${method} ${path.replace(/:\w+/g, ':')}`
    t.notOk(seen.has(shape), `${shape} stands once`)
    seen.add(shape)
    t.ok(summary.length > 3 && tag.length > 0, `${shape} is described`)
    if (allow.cookie) t.equal(method, 'GET')
  }
})

t.test('the check of all answers bites', async (t) => {
  const of = (path: string, json: unknown, status = 200) => complaintsOf({ method: 'GET', path, status, json })
  t.same(of('/api/v1/genres?page=1', { data: [] }).length > 0, true, 'an answer that is not what its route declares')
  t.match(of('/api/v1/no/such/route', { nothing: true }), [], 'what nobody has declared is not judged')
  t.same(of('/api/v1/books', { message: 'no' }, 404), ['an error response must have error, message and requestId'])
  t.match(of('/nowhere', { deep: [{ fileHash: 1 }] }).join(), /contract Book/, 'a book wherever it stands')
})
