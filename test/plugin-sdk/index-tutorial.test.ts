import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { commandsOf, filesOf, installPrograms, placeSdk, succeeds, writeFiles } from '#test/support/sdk-install.ts'
import { openTestServer } from '#test/support/server.ts'
import { bodyOf, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'

t.setTimeout(240_000)

const README = 'plugin-sdk/README.md'

t.test(
  'following the README creates a plugin, installs it on a running server, grants its permissions, calls it and updates it',
  async (t) => {
    const folder = await placeSdk(t)
    const files = await filesOf(README)
    await writeFiles(folder, files)
    await installPrograms(folder)
    const type = (command: string) => succeeds('bash', ['-c', command], folder)
    // The first step's packages are installed already.
    for (const heading of ['5. Test it', '6. Pack it']) for (const command of await commandsOf(README, heading)) await type(command)

    const supervisor = new Supervisor({ log: silentLog })
    t.teardown(() => supervisor.close())
    const replay = openReplay(readFixtures(JSON.parse(files.get('fixtures/dune.json') as string)))
    const way = await openLoopback(t, (request, response) => {
      // The server requests ten results by default.
      const url = `https://openlibrary.org${request.url}`.replace(/limit=\d+/, 'limit=5')
      const found = replay.next({ method: request.method ?? 'GET', url })
      // Not writeHead: the server in this process has replaced it.
      response.statusCode = found === null ? 404 : 200
      response.end(bodyOf(found?.response ?? {}))
    })
    const server = await openTestServer(t, {
      services: ({ database }) => openServedPlugins(t, database, supervisor, new HttpsEgress(way)),
    })
    const { json: made } = await server.request<{ key: string }>('POST', '/api/v1/api-keys', {
      token: server.adminToken,
      body: { name: 'tutorial', permissions: ['plugins-manage', 'system-admin', 'series-write', 'books-write'] },
    })
    const curl = async (command: string) =>
      JSON.parse(await type(`KEY=${made.key}; URL=${server.url}; ${command.replace(/^curl/, 'curl --silent --show-error')}`))

    const [upload = '', consent = '', execute = ''] = await commandsOf(README, '7. Install and call it')
    const first = await curl(upload)
    t.match(first, { plugin: { version: '1.0.0', state: 'waiting', asksFor: { network: [{ host: 'openlibrary.org' }] } } })
    const filled = (command: string, { plugin, sha256 }: { plugin: { id: string }; sha256: string }) =>
      command.replaceAll('<id>', plugin.id).replace('…', sha256)
    t.match(await curl(filled(consent, first)), { plugin: { state: 'enabled', version: '1.0.0' } })
    t.match(await curl(filled(execute, first)), { success: true, result: { results: [{ externalId: 'OL893415W', title: 'Dune' }] } })

    const manifest = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8'))
    await writeFile(path.join(folder, 'manifest.json'), JSON.stringify({ ...manifest, version: '1.0.1' }))
    const code = await readFile(path.join(folder, 'src/main.ts'), 'utf8')
    await writeFile(path.join(folder, 'src/main.ts'), code.replace('    title,\n', "    title: title + '!',\n"))
    t.match(await runTool(folder, ['pack']), { code: 0 })
    t.match(
      await curl(upload.replace('1.0.0', '1.0.1')),
      { version: '1.0.1', plugin: { state: 'enabled', version: '1.0.1' } },
      'it requests no more permissions',
    )
    t.match(await curl(filled(execute, first)), { success: true, result: { results: [{ externalId: 'OL893415W', title: 'Dune!' }] } })
  },
)
