import t, { type Test } from 'tap'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { manifestOf, openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

async function openAdmin(t: Test) {
  const supervisor = findSupervisor()
  const way = await openLoopback(t, (_, response) => response.end('{}'))
  const server = await openTestServer(t, {
    services: ({ database }) => ({
      ...openServedPlugins(t, database, supervisor, new HttpsEgress(way)),
      templates: openTemplates(supervisor),
    }),
  })
  const ask = <T = Record<string, never>>(method: string, path: string, body?: unknown, token = server.adminToken) =>
    server.request<T>(method, `/api/v1${path}`, { token, ...(body !== undefined && { body }) })
  const install = async (bytes: Buffer, token = server.adminToken) => {
    const form = new FormData()
    form.set('file', new Blob([Uint8Array.from(bytes)]), 'x.plugin')
    const answer = await fetch(`${server.url}/api/v1/admin/plugins`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: form,
    })
    return { status: answer.status, json: (await answer.json()) as { plugin: { id: string }; sha256: string; [name: string]: unknown } }
  }
  return { ...server, ask, install }
}

const MAIN = (word: string) =>
  `export default { metadata: { series: { search: ({ query }) => ({ results: [{ externalId: '1', title: '${word} ' + query }] }), get: () => { throw new Error('no') } } } }`
const search = { action: { metadata: { action: 'search', contentType: 'series', params: { query: 'dune' } } } }

t.test('the review of a bundled plugin says that it comes with the server', async (t) => {
  const { ask } = await openAdmin(t)
  const { json } = await ask<{ review: { lines: string[] } }>('POST', '/admin/bundled-plugins/open-library/install')
  t.ok(json.review.lines.includes('  comes with the server'), json.review.lines.join('\n'))
})

t.test('the life of a plugin over HTTP', async (t) => {
  const { ask, install, signUp } = await openAdmin(t)
  const first = await install(pluginOf(MAIN('one')))
  t.match(first, {
    status: 201,
    json: {
      version: '1.0.0',
      waitsFor: ['runs for the first time'],
      plugin: { state: 'waiting', granted: null, asksFor: { storageKB: 16 } },
    },
  })
  const { id } = first.json.plugin
  t.equal((await ask('POST', `/plugins/${id}/execute`, search)).status, 409, 'nobody has agreed yet')
  t.equal((await ask('POST', `/admin/plugins/${id}/enable`, {})).status, 409)
  t.equal((await ask('POST', `/admin/plugins/${id}/consent`, { sha256: 'f'.repeat(64) })).status, 409)
  t.match(await ask('POST', `/admin/plugins/${id}/consent`, { sha256: first.json.sha256 }), {
    status: 200,
    json: { plugin: { state: 'enabled' } },
  })
  t.match(await ask('POST', `/plugins/${id}/execute`, search), {
    status: 200,
    json: { success: true, result: { results: [{ title: 'one dune' }] } },
  })
  t.match(await ask('GET', '/plugins/actions?scope=series:detail'), {
    json: { actions: [{ pluginId: id, actionType: 'metadata_search' }] },
  })

  const { permissions } = manifestOf() as { permissions: { network: object[] } }
  const network = [...permissions.network, { host: 'more.example.org', reason: 'more' }]
  const wider = { version: '2.0.0', permissions: { ...permissions, network } }
  const second = await install(pluginOf(MAIN('two'), wider))
  const { sha256 } = second.json
  const own = { version: '2.0.0', sha256, asksFor: { network: [{ host: 'api.example.org' }, { host: 'more.example.org' }] } }
  t.match(second, {
    status: 201,
    json: {
      plugin: { ...own, runningVersion: '1.0.0', granted: { storageKB: 16 } },
      review: {
        version: '2.0.0',
        sha256,
        record: { manifest: { permissions: { network: [{ host: 'api.example.org' }, { host: 'more.example.org' }] } } },
      },
    },
  })
  t.ok((second.json['waitsFor'] as string[]).includes('connects to more.example.org (GET)'))
  const { lines, differenceLines } = second.json['review'] as { lines: string[]; differenceLines: string[] }
  t.ok(lines.includes('  connects to more.example.org (GET)') && lines.includes('  comes from a file'))
  t.same(differenceLines, ['+ connects to more.example.org (GET)', '  > the author says: "more"'])
  t.match(await ask('POST', `/admin/plugins/${id}/consent`, { sha256: first.json.sha256 }), {
    status: 409,
    json: { message: new RegExp(`GET /api/v1/admin/plugins/${id}/review`) },
  })
  t.match(await ask('GET', `/admin/plugins/${id}`), { json: { version: '1.0.0', sha256: first.json.sha256, runningVersion: '1.0.0' } })
  t.match(
    await ask('POST', `/plugins/${id}/execute`, search),
    { json: { result: { results: [{ title: 'one dune' }] } } },
    'the old one runs until somebody agrees',
  )
  await ask('POST', `/admin/plugins/${id}/consent`, { sha256: second.json.sha256 })
  t.match(await ask('POST', `/plugins/${id}/execute`, search), { json: { result: { results: [{ title: 'two dune' }] } } })
  t.match(await ask('GET', `/admin/plugins/${id}/versions`), {
    json: [
      { version: '2.0.0', running: true },
      { version: '1.0.0', running: false },
    ],
  })
  await ask('POST', `/admin/plugins/${id}/rollback`, { sha256: first.json.sha256 })
  t.match(await ask('POST', `/plugins/${id}/execute`, search), { json: { result: { results: [{ title: 'one dune' }] } } }, 'and back')
  t.match(await ask('GET', `/admin/plugins/${id}/review`), { json: { version: '2.0.0', running: false, rolledBackAt: /^\d{4}/ } })

  const failing = { action: { metadata: { action: 'get', contentType: 'series', params: { externalId: '1' } } } }
  t.match(
    await ask('POST', `/plugins/${id}/execute`, failing),
    { status: 200, json: { success: false, error: /failed \(thrown\): "no/, code: 'thrown', callId: /^[0-9a-f-]{36}$/ } },
    'what a plugin does wrong is no error of the request',
  )
  t.match(await ask('POST', `/plugins/${id}/execute`, { action: 'ping' }), {
    status: 200,
    json: { success: true, error: null, code: null },
  })
  t.match(await ask('GET', `/admin/plugins/${id}/failures`), {
    json: { total: 1, failures: [{ method: 'metadata.series.get', errorCode: 'thrown', errorMessage: 'no' }] },
  })
  t.match(await ask('PATCH', `/admin/plugins/${id}`, { config: { a: 1 } }), {
    status: 422,
    json: { message: /config\/a: it is no setting; known are: none/ },
  })
  t.match(await ask('PATCH', `/admin/plugins/${id}`, { credentials: { token: 'x' } }), {
    status: 422,
    json: { message: /Unknown credential/ },
  })
  const matching = {
    metadataTargets: ['summary', 'genres'],
    searchPreprocessingRules: [{ pattern: ' v\\d+$', replacement: '' }],
    priority: 5,
  }
  t.match(await ask('PATCH', `/admin/plugins/${id}`, matching), { status: 200, json: matching })
  for (const wrong of [
    { metadataTargets: ['passwords'] },
    { searchPreprocessingRules: [{ pattern: '(', replacement: '' }] },
    { searchQueryTemplate: '{{#each' },
    { autoMatchConditions: { mode: 'none' } },
    { privateHosts: true },
  ])
    t.equal((await ask('PATCH', `/admin/plugins/${id}`, wrong)).status, 422, JSON.stringify(wrong))
  t.match(
    await ask('GET', `/admin/plugins/${id}`),
    { json: { ...matching, useExistingExternalId: true, failureCount: 1 } },
    'what is wrong changes nothing',
  )
  await ask('POST', `/admin/plugins/${id}/consent`, { sha256: second.json.sha256 })
  t.match(await ask('POST', `/admin/plugins/${id}/rollback`, {}), { status: 200, json: { plugin: { version: '1.0.0' } } })
  t.match(await ask('POST', `/admin/plugins/${id}/disable`, {}), { json: { plugin: { state: 'disabled', enabled: false } } })
  t.equal((await ask('POST', `/plugins/${id}/execute`, search)).status, 409)
  t.match(await ask('GET', '/admin/plugins'), { json: { total: 1, plugins: [{ id, name: 'org.example.echo' }] } })

  const reader = await signUp({ username: 'rita' })
  t.equal((await install(pluginOf(MAIN('x'), { id: 'org.example.x' }), reader.token)).status, 403)
  t.equal((await ask('GET', '/admin/plugins', undefined, reader.token)).status, 403)
  t.equal((await ask('POST', `/plugins/${id}/execute`, search, reader.token)).status, 403)
  t.match(await install(Buffer.from('no package')), { status: 422, json: { error: 'invalid_value', message: /not a ZIP/ } })
  t.equal((await install(pluginOf(MAIN('two'), wider))).status, 409)
  t.equal((await ask('DELETE', `/admin/plugins/${id}`)).status, 204)
  t.equal((await ask('DELETE', `/admin/plugins/${id}`)).status, 404)
})

t.test('two who change different settings of a plugin at once both have their way', async (t) => {
  const { ask, install } = await openAdmin(t)
  const { id } = (await install(pluginOf(MAIN('one')))).json.plugin
  for (const priority of [1, 2, 3, 4, 5]) {
    await Promise.all([
      ask('PATCH', `/admin/plugins/${id}`, { priority }),
      ask('PATCH', `/admin/plugins/${id}`, { useExistingExternalId: priority % 2 === 0 }),
      ask('PATCH', `/admin/plugins/${id}`, { metadataTargets: priority % 2 === 0 ? ['year'] : null }),
    ])
    t.match((await ask('GET', `/admin/plugins/${id}`)).json, {
      ...{ priority, useExistingExternalId: priority % 2 === 0 },
      metadataTargets: priority % 2 === 0 ? ['year'] : null,
    })
  }
})
