import t from 'tap'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { pluginActionRoutes } from '#api/rest/plugins/plugin-actions.ts'
import { pluginDiagnosticsRoutes } from '#api/rest/plugins/plugin-diagnostics.ts'
import { pluginRoutes } from '#api/rest/plugins/plugins.ts'
import { routes } from '#api/routes.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

const MAIN = `export default { metadata: { series: {
  search: async (_, ctx) => ({ results: await ctx.http.json('https://api.example.org/') }),
  get: () => ({ externalId: '1' }) } } }`
const MANIFEST = { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'x-key' } } }

t.test('every route of one plugin takes the id of the plugin itself beside its UUID', async (t) => {
  const isNaming = (route: Route<Services>) =>
    [route.query, 'body' in route && route.body].some((part) => Object.hasOwn((part || undefined)?.properties ?? {}, 'pluginId'))
  // A repository names plugins that may not be installed.
  const named = routes.filter(
    (route) => route.path.includes('/:pluginId') || (isNaming(route) && route.name !== 'installPluginOfRepository'),
  )
  t.ok(named.length > 40, String(named.length))
  t.same(
    named.filter(({ resolve }) => resolve === undefined).map(({ path }) => path),
    [],
  )
})

t.test('a plugin is called, configured and looked at by its own id, and says that no credentials are entered', async (t) => {
  const way = await openLoopback(t, (request, response) => {
    response.statusCode = request.headers['x-key'] === 's3cret' ? 200 : 401
    response.end('[]')
  })
  const server = await openTestServer(t, {
    routes: [...pluginRoutes, ...pluginActionRoutes, ...pluginDiagnosticsRoutes] as unknown as Route<Services>[],
    services: ({ database }) => openServedPlugins(t, database, findSupervisor(), new HttpsEgress(way)),
  })
  const token = server.adminToken
  const ask = (method: string, path: string, body?: unknown) =>
    server.request<Record<string, never>>(method, `/api/v1${path}`, { token, ...(body !== undefined && { body }) })
  const { sha256, plugin } = await server.services.pluginLifecycle.install(pluginOf(MAIN, MANIFEST), { userId: null })
  const at = '/admin/plugins/org.example.echo'
  t.match(await ask('POST', `${at}/consent`, { sha256 }), {
    status: 200,
    json: {
      message:
        /"Echo" 1\.0\.0 is enabled\. It still needs credentials for https:\/\/api\.example\.org: PATCH \/api\/v1\/admin\/plugins\/org\.example\.echo/,
    },
  })
  t.match(await ask('GET', at), { status: 200, json: { id: plugin.id, name: 'org.example.echo' } })
  t.match(await ask('GET', `/admin/plugins/${plugin.id.toUpperCase()}`), { status: 200, json: { id: plugin.id } })
  t.match(await ask('GET', '/admin/plugins/org.example.other'), { status: 404, json: { message: /org\.example\.other/ } })
  t.match(await ask('GET', '/admin/plugins/no_plugin'), { status: 400, json: { message: /such as org\.example\.my-plugin, or its UUID/ } })

  const search = { action: { metadata: { action: 'search', contentType: 'series', params: { query: 'x' } } } }
  const path = '/plugins/org.example.echo/execute'
  t.match(await ask('POST', path, search), {
    json: {
      success: false,
      code: 'auth',
      error:
        '"Echo" failed (auth): "No credentials are entered for https://api.example.org. An administrator enters them: PATCH ' +
        '/api/v1/admin/plugins/org.example.echo with credentials. It said: https://api.example.org/ rejected the credentials (401)."',
    },
  })
  t.match(await ask('GET', `${at}/logs`), {
    json: { lines: [{ level: 'warn', message: /metadata\.series\.search failed \(auth\): No credentials are entered/ }] },
  })
  t.match(await ask('PATCH', at, { credentials: { token: 'wrong' } }), { status: 200 })
  t.match(await ask('POST', path, search), { json: { success: false, error: /rejected the credentials \(401\)/ } })
  t.match(await ask('PATCH', at, { credentials: { token: 's3cret' } }), { status: 200 })
  t.match(await ask('POST', path, search), { json: { success: true } })
})
