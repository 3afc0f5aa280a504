import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { readSettings } from '#core/settings/read-settings.ts'
import { openDocumentedServer } from '#test/support/documented-commands.ts'
import { both, key, one, publicKey, two } from '#test/support/plugin-repositories.ts'
import { filesOf, REPOSITORY_URL } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const CATALOG = {
  id: 'org.example.catalog',
  name: 'Catalog',
  permissions: {
    network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }],
    networkFromConfig: ['baseUrl'],
    storage: { quotaKB: 16 },
  },
  auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' } },
  config: { type: 'object', additionalProperties: false, properties: { language: { type: 'string' }, baseUrl: { type: 'string' } } },
}
const MAIN = `export default { metadata: { series: {
  async search({ query }, ctx) {
    ctx.log.info('asked for ' + query)
    await ctx.storage.set('last', query)
    if (query === 'nonsense') throw new Error('That is nonsense')
    return { results: [{ externalId: '1', title: query }] }
  },
  get: () => ({ externalId: '1' }) } } }`

t.test('every command of the page for administrators does what the page says', async (t) => {
  const files = filesOf(both, key, { '1.0.0': one, '1.1.0': two })
  const { folder, adminKey, adminToken, request, type, checkComplete, services } = await openDocumentedServer(t, 'docs/plugins.md', files)
  await writeFile(path.join(folder, 'catalog.plugin'), pluginOf(MAIN, CATALOG))
  await writeFile(path.join(folder, 'token.txt'), 'the key\n')
  await writeFile(path.join(folder, 'key.txt'), `${adminKey}\n`)
  await mkdir(path.join(folder, 'backup'))

  await type('A bundled plugin', {}, [
    /waits for consent[\s\S]*--sha256/,
    /You have consented; it runs/,
    {
      plugins: [
        { id: 'anilist-metadata' },
        { id: 'anilist-recommendations' },
        { id: 'echo' },
        { id: 'open-library' },
        { id: 'similar-in-library' },
      ],
    },
    { name: 'carrel.similar-in-library', waitsFor: ['runs for the first time'] },
  ])
  await type('Listing plugins', {}, [
    /carrel\.echo 1\.0\.0 {2}enabled[\s\S]*carrel\.similar-in-library \d\.\d\.\d {2}waiting/,
    { total: 2 },
  ])

  const [uploaded] = (await type('A package file', {}, [
    { waitsFor: ['runs for the first time'], plugin: { state: 'waiting', name: 'org.example.catalog' } },
    /catalog 1\.0\.0[\s\S]*connects to api\.example\.org[\s\S]*enters as baseUrl[\s\S]*waits for consent/,
  ])) as [{ plugin: { id: string }; sha256: string }]
  const ID = uploaded.plugin.id
  await type('Consent', { ID, SHA: uploaded.sha256 }, [{ plugin: { state: 'enabled' }, healthCheckPassed: true }])

  const found = { name: 'Plugins of example.org', publicKey, fingerprint: String, plugins: 1 }
  await type('From a repository', {}, [{ repository: null, ...found }])
  const [added] = (await type('Adding a repository', { PUBLIC_KEY: publicKey }, [{ repository: { enabled: true }, ...found }])) as [
    { repository: { id: string } },
  ]
  const REPOSITORY = added.repository.id
  const [, , echo] = (await type('Installing from it', { REPOSITORY }, [
    { total: 1 },
    { plugins: [{ id: 'org.example.echo', version: '1.1.0', installedVersion: null }] },
    { version: '1.0.0', waitsFor: ['runs for the first time'] },
    { id: REPOSITORY, error: null },
  ])) as [unknown, unknown, { pluginId: string; sha256: string }]
  const ECHO = echo.pluginId
  await services.pluginLifecycle.consent(ECHO, { sha256: echo.sha256 })

  await type('Configuration', { ID }, [{ config: { language: 'en' } }, /language/, /baseUrl = not set\n *language = "en"/])
  await type('Credentials', { ID }, [{ hasCredentials: true }, { hasCredentials: false }, /Stored token of org\.example\.catalog/])
  await type('A service in your own network', { ID }, [{ privateHosts: true, config: { baseUrl: 'http://192.168.1.20:8080' } }])

  const settingsOf = (called: { words: string[]; key?: string }) =>
    readSettings({ argv: called.words, env: called.key ? { CARREL_SECRET_KEY: called.key } : {}, cwd: folder })
  const called = { words: [] }
  const [grouped, hardened] = (await type('Processes', {}, [called, called])) as { words: string[] }[]
  const [local] = (await type('A service on your own machine', {}, [called])) as { words: string[] }[]
  const [safe] = (await type('Safe mode', {}, [called])) as { words: string[] }[]
  t.match(
    [grouped, hardened, safe, local].map((one) => one && settingsOf(one).plugins),
    [{ isolation: 'grouped' }, { hardened: true }, { enabled: false }, { allowLocal: ['localhost:8600'] }],
  )

  await services.pluginLifecycle.install(two, { userId: null, repository: REPOSITORY_URL })
  await type('Versions', { ID: ECHO }, [
    [
      { version: '1.1.0', running: true },
      { version: '1.0.0', running: false },
    ],
  ])
  await type('Rolling back', { ID: ECHO }, [{ plugin: { version: '1.0.0', state: 'enabled' } }])

  const ask = async (query: string) =>
    await request('POST', `/api/v1/plugins/${ID}/execute`, {
      token: adminToken,
      body: { action: { metadata: { action: 'search', contentType: 'series', params: { query } } } },
    })
  await ask('Dune')
  await ask('nonsense')
  await type('Plugin health', { ID }, [
    { health: { healthStatus: 'healthy' } },
    { success: true },
    { summary: { totalRequests: Number } },
    /\d ms/,
  ])
  const [last] = services.pluginLogs.calls(ID)
  await type('Failures, logs and calls', { ID, CALL: last?.callId ?? '' }, [
    { total: 1, failures: [{ errorCode: 'thrown', errorMessage: /nonsense/ }] },
    { lines: [{ message: /asked for Dune/ }, { message: /asked for nonsense/ }] },
    { calls: [{ code: 'thrown' }, { code: 'ok' }] },
    { input: { query: 'nonsense' } },
    { method: 'metadata.series.search', input: { query: 'nonsense' }, config: { baseUrl: String } },
    /asked for Dune[\s\S]*asked for nonsense/,
  ])
  await type('Paused and quarantined plugins', { ID }, [
    /Deleted the failures of \S+; it is enabled\./,
    { plugin: { failureCount: 0 } },
    { plugin: { state: 'enabled' } },
  ])
  await type('Disabling and uninstalling', { ID, REPOSITORY }, [
    /carrel\.echo is disabled/,
    /carrel\.echo is enabled/,
    { plugin: { state: 'disabled' } },
    { totalFileCount: Number },
    { filesDeleted: 1 },
    '',
    '',
  ])

  await type('Backups', {}, [''])
  const kept = (await readFile(path.join(folder, 'backup', 'credential.key'), 'utf8')).trim()
  const [renewed] = (await type('Changing the key', {}, [{ key: String }])) as { words: string[]; key: string }[]
  const keys = renewed ? settingsOf(renewed).plugins.secretKeys : []
  t.equal(keys.length, 2)
  t.equal(keys[1], kept, 'the old one stands behind the new one')
  await checkComplete()
})
