import t, { type Test } from 'tap'
import type { Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { pluginActionRoutes } from '#api/rest/plugins/plugin-actions.ts'
import { pluginRepositoryRoutes } from '#api/rest/plugins/plugin-repositories.ts'
import { pluginRoutes } from '#api/rest/plugins/plugins.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { key, publicKey, saying } from '#test/support/plugin-repositories.ts'
import { entryOf, type Files, filesOf, indexOf, newKey, openRepositoryServer, REPOSITORY_URL } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

const REPOSITORIES = '/admin/plugin-repositories'

async function openAdmin(t: Test, packages: readonly Buffer[]) {
  const at = (bytes: Buffer) => [`/carrel/packages/${entryOf([bytes]).versions[0]?.version}.plugin`, bytes] as const
  const files: Files = { ...filesOf(indexOf({ plugins: [entryOf(packages)] }), key), ...Object.fromEntries(packages.map(at)) }
  const repository = await openRepositoryServer(t, files)
  const supervisor = findSupervisor()
  const server = await openTestServer(t, {
    routes: [...pluginRoutes, ...pluginActionRoutes, ...pluginRepositoryRoutes] as unknown as Route<Services>[],
    services: ({ database }) => {
      const served = openServedPlugins(t, database, supervisor, new HttpsEgress(repository.way))
      const { pluginLifecycle } = served
      const repositories = new Repositories({
        ...{
          database,
          log: silentLog,
          download: repository.download,
          serverVersion: '1.2.3',
          install: (bytes, options) => pluginLifecycle.install(bytes, options),
        },
        onRevoked: () => pluginLifecycle.applyRevocations(),
      })
      t.teardown(() => repositories.close())
      return { ...served, repositories }
    },
  })
  const ask = <T = Record<string, never>>(method: string, path: string, body?: unknown, token = server.adminToken) =>
    server.request<T>(method, `/api/v1${path}`, { token, ...(body !== undefined && { body }) })
  let sequence = 1
  /** Puts an index there that lists these packages, and has it fetched. */
  const publish = async (id: string, listed: readonly Buffer[], revoked: Parameters<typeof indexOf>[0] = {}) => {
    const plugins = listed.length === 0 ? [] : [entryOf(listed)]
    Object.assign(
      repository.files,
      filesOf(indexOf({ sequence: ++sequence, plugins, ...revoked }), key),
      Object.fromEntries(listed.map(at)),
    )
    const answer = await ask('POST', `${REPOSITORIES}/${id}/refresh`, {})
    t.match(answer, { status: 200, json: { sequence, error: null } })
  }
  const say = async (pluginId: string) => {
    const search = { action: { metadata: { action: 'search', contentType: 'series', params: { query: 'x' } } } }
    const { status, json } = await ask<{ result?: { results: { title: string }[] } }>('POST', `/plugins/${pluginId}/execute`, search)
    return json.result?.results[0]?.title ?? status
  }
  return { ...server, ask, files: repository.files, publish, say }
}

t.test('the life of a plugin that comes from a repository', async (t) => {
  const one = pluginOf(saying('one'))
  const { ask, publish, say, files } = await openAdmin(t, [one])
  t.match(await ask('GET', REPOSITORIES), { status: 200, json: { repositories: [], total: 0 } })
  const looked = await ask<{ publicKey: string }>('POST', REPOSITORIES, { url: REPOSITORY_URL })
  t.match(looked, {
    status: 200,
    json: {
      repository: null,
      url: REPOSITORY_URL,
      name: 'Plugins of example.org',
      plugins: 1,
      publicKey,
      fingerprint: fingerprintOf(publicKey),
    },
  })
  t.match(await ask('GET', REPOSITORIES), { json: { total: 0 } }, 'to look is not to trust')
  const added = await ask<{ repository: { id: string } }>('POST', REPOSITORIES, { url: REPOSITORY_URL, publicKey: looked.json.publicKey })
  t.match(added, { status: 200, json: { repository: { url: REPOSITORY_URL, sequence: 1, enabled: true, error: null } } })
  const { id } = added.json.repository
  t.equal((await ask('POST', REPOSITORIES, { url: REPOSITORY_URL, publicKey })).status, 409)
  t.match(await ask('GET', `${REPOSITORIES}/available?search=ECHO`), {
    status: 200,
    json: {
      total: 1,
      plugins: [{ id: 'org.example.echo', version: '1.0.0', installedVersion: null, versions: [{ installable: true, hindrance: null }] }],
    },
  })
  t.match(await ask('GET', `${REPOSITORIES}/available?search=nothing`), { json: { total: 0, plugins: [] } })
  t.match(await ask('GET', `${REPOSITORIES}/available?offset=1`), { json: { total: 1, plugins: [] } })

  const install = (body: object = {}) =>
    ask<{ pluginId: string; sha256: string }>('POST', `${REPOSITORIES}/${id}/install`, { pluginId: 'org.example.echo', ...body })
  const installed = await install()
  t.match(installed, { status: 201, json: { name: 'org.example.echo', version: '1.0.0', waitsFor: ['runs for the first time'] } })
  const { pluginId, sha256 } = installed.json
  t.equal(await say(pluginId), 409, 'nobody has agreed yet')
  t.equal((await ask('POST', `/admin/plugins/${pluginId}/consent`, { sha256 })).status, 200)
  t.equal(await say(pluginId), 'one')

  const two = pluginOf(saying('two'), { version: '1.1.0' })
  await publish(id, [two, one])
  t.match(await ask('GET', `${REPOSITORIES}/available`), { json: { plugins: [{ version: '1.1.0', installedVersion: '1.0.0' }] } })
  t.match(await install(), { status: 201, json: { version: '1.1.0', waitsFor: [] } })
  t.equal(await say(pluginId), 'two', 'what asks for no more runs at once')

  t.equal((await install({ version: '1.0.0' })).status, 409, 'not back to an older one')
  const other = pluginOf(saying('other'), { version: '1.1.0' })
  await publish(id, [other])
  t.equal((await install({ version: '1.1.0' })).status, 409, 'nor to other bytes of the same version')

  const permissions = {
    network: [
      { host: 'api.example.org', reason: 'The service' },
      { host: 'more.example.org', reason: 'More' },
    ],
  }
  const greedy = pluginOf(saying('greedy'), { version: '1.2.0', permissions })
  await publish(id, [greedy])
  t.match(await install(), {
    status: 201,
    json: {
      version: '1.2.0',
      review: { differences: [{}, { path: '/manifest/permissions/network/more.example.org', kind: 'added' }, {}] },
    },
  })
  t.equal(await say(pluginId), 'two', 'what asks for more waits')

  await publish(id, [greedy], { revoked: [{ id: 'org.example.echo', range: '<=1.1.0', reason: 'It sends what people read' }] })
  t.equal(await say(pluginId), 409, 'what was revoked ends at once')
  t.match(await ask('GET', `/admin/plugins/${pluginId}`), { json: { state: 'revoked', disabledReason: /It sends what people read/ } })
  t.match(await ask('GET', `${REPOSITORIES}/available`), { json: { plugins: [{ version: '1.2.0' }] } })

  Object.assign(files, filesOf(indexOf({ sequence: 1 }), key))
  t.match(await ask('POST', `${REPOSITORIES}/${id}/refresh`, {}), {
    status: 200,
    json: { error: /An older index is not accepted/, plugins: 1 },
  })
  t.match(await ask('PATCH', `${REPOSITORIES}/${id}`, { enabled: false }), { status: 200, json: { enabled: false } })
  t.match(await ask('GET', `${REPOSITORIES}/available`), { json: { total: 0 } })
  t.equal((await ask('DELETE', `${REPOSITORIES}/${id}`)).status, 204)
  t.equal((await ask('DELETE', `${REPOSITORIES}/${id}`)).status, 404)
  t.equal((await ask('POST', `/admin/plugins/${pluginId}/enable`, {})).status, 409, 'revoked for ever')
})

t.test('an update by another author waits for an administrator who says so', async (t) => {
  const [first, second] = [newKey(), newKey()]
  const { ask, publish } = await openAdmin(t, [pluginOf(saying('one'), {}, [first])])
  const added = await ask<{ repository: { id: string } }>('POST', REPOSITORIES, { url: REPOSITORY_URL, publicKey })
  const { id } = added.json.repository
  const install = (body: object = {}) => ask('POST', `${REPOSITORIES}/${id}/install`, { pluginId: 'org.example.echo', ...body })
  t.equal((await install()).status, 201)
  for (const [version, keys] of [
    ['1.1.0', [second]],
    ['1.2.0', []],
  ] as const) {
    await publish(id, [pluginOf(saying('two'), { version }, keys)])
    t.match(await install(), { status: 409, text: /Since 1\.0\.0 it must be signed with SHA256:/ })
    t.equal((await install({ trustNewKey: true })).status, 400, 'trust names the key')
  }
  const [before, trustKey] = [first, second].map((one) => fingerprintOf(publicKeyText(one)))
  t.match(await install({ trustKey }), { status: 409, text: /is not signed, and not with SHA256:/ })
  t.match(await install({ version: '1.1.0', trustKey: trustKey?.toUpperCase() }), { status: 422 })
  await publish(id, [pluginOf(saying('two'), { version: '1.1.0' }, [second])])
  t.match(await install({ trustKey }), {
    status: 201,
    json: { signature: { signedBy: [trustKey], signedBefore: [before], mayFollow: [trustKey] } },
  })
})

t.test('who may not, and what is no request', async (t) => {
  const { ask, signUp, files } = await openAdmin(t, [pluginOf(saying('one'))])
  const { token } = await signUp({ username: 'maia', role: 'maintainer' })
  const id = '01890000-0000-7000-8000-000000000000'
  const all: [method: string, path: string, body?: object][] = [
    ['GET', REPOSITORIES],
    ['POST', REPOSITORIES, { url: REPOSITORY_URL }],
    ['GET', `${REPOSITORIES}/available`],
    ['PATCH', `${REPOSITORIES}/${id}`, { enabled: true }],
    ['DELETE', `${REPOSITORIES}/${id}`],
    ['POST', `${REPOSITORIES}/${id}/refresh`, {}],
    ['POST', `${REPOSITORIES}/${id}/install`, { pluginId: 'org.example.echo' }],
  ]
  for (const [method, path, body] of all) {
    t.equal((await ask(method, path, body, token)).status, 403, `${method} ${path}`)
    t.equal((await ask(method, path, body, 'wrong')).status, 401)
    if (path.includes(id)) t.equal((await ask(method, path, body)).status, 404)
  }
  const bad: [body: unknown, status: number][] = [
    [{}, 400],
    [{ url: 5 }, 400],
    [{ url: 'http://plugins.example.org/carrel/' }, 422],
    [{ url: 'https://10.0.0.1/' }, 422],
    [{ url: REPOSITORY_URL, publicKey: 'short' }, 422],
    [{ url: REPOSITORY_URL, publicKey: publicKeyText(newKey()) }, 422],
    [{ url: 'https://plugins.example.org/elsewhere/' }, 502],
  ]
  for (const [body, status] of bad) {
    const answer = await ask('POST', REPOSITORIES, body)
    t.equal(answer.status, status, JSON.stringify(body))
    t.notMatch(answer.text, /node:|\.ts\b|ECONN/)
  }
  files['/carrel/index.json'] = Buffer.from('{}')
  t.equal((await ask('POST', REPOSITORIES, { url: REPOSITORY_URL })).status, 422)
})
