import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { describePermissions } from '#api/cli/plugin.ts'
import { DEFAULT_ORIGIN_MAX } from '#plugins/packages/permissions.ts'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const main = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'

t.test('plugins from the command line', async (t) => {
  const room = await makeRoom(t)
  const file = (name: string, bytes: Buffer) => {
    writeFileSync(path.join(room, name), bytes)
    return path.join(room, name)
  }
  const { url } = await openTestDatabase(t)
  const typed = (words: string[]) => ['plugin', ...words, '--data-dir', path.join(room, 'data')]
  const run = async (...words: string[]) => await runInProcess(typed(words), { env: { DATABASE_URL: url } })
  t.match(await runInProcess(typed(['list'])), { code: 1, output: /data does not exist/ })
  const one = file('one.plugin', pluginOf(main))
  t.match(await run('install', one), { code: 0, output: /connects to api\.example\.org[\s\S]*waits for consent[\s\S]*--yes/ })
  t.match(await run('list'), { output: /org\.example\.echo 1\.0\.0 {2}waiting/ })
  t.match(await run('install', one, '--yes'), { code: 0, output: /You have consented; it runs/ })
  t.match(await run('disable', 'org.example.echo'), { code: 0, output: /is disabled/ })
  t.match(await run('enable', 'org.exmple.echo'), { code: 1, output: /Did you mean org\.example\.echo/ })
  t.match(await run('install', file('bad.plugin', Buffer.from('x'))), { code: 1, output: /not a ZIP file/ })
  t.match(await run('install', path.join(room, 'nothing')), { code: 1, output: /cannot be read \(ENOENT\)/ })
})

t.test('what a plugin asks for, in words', async (t) => {
  const asked = {
    network: [],
    networkFromConfig: ['baseUrl'],
    library: ['series.titles', 'ratings'],
    storageKB: 0,
    auth: { type: 'apiKey', scope: 'user', host: 'a.example.org', loginHost: null, tokenHost: null },
    heapMB: 64,
    cpuMs: 500,
    wallMs: 20_000,
  }
  t.same(describePermissions(asked), [
    'connects to the host that an administrator enters as baseUrl',
    "reads each user's library: series.titles, ratings",
    'uses credentials of the user, only for a.example.org',
    'uses up to 64 MB of memory, 500 ms of CPU time and 20 s per call',
  ])
  const hostDefaults = { baseUrl: 'https://collect.example.net' }
  const auth = { ...asked.auth, host: null, hostFromConfig: 'baseUrl' }
  const host = "https://collect.example.net (the author's default), or the host that an administrator enters as baseUrl"
  t.match(describePermissions({ ...asked, hostDefaults, auth }), [
    `connects to ${host}`,
    /^reads/,
    `uses credentials of the user, only for ${host}`,
  ])
  const longest = { baseUrl: `https://${'a'.repeat(DEFAULT_ORIGIN_MAX - 8)}` }
  for (const line of describePermissions({ ...asked, hostDefaults: longest, auth }).filter((one) => one.includes('baseUrl')))
    t.match(line, `${longest.baseUrl} (the author's default)`, 'the host of a default is shown whole')
})
