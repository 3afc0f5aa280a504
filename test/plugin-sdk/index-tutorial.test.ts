import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { commandsOf, filesOf, installPrograms, placeSdk, ROOT, succeeds, writeFiles } from '#test/support/sdk-install.ts'
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
    const curl = async (command: string) => JSON.parse(await type(`KEY=${made.key}; URL=${server.url}; ${command}`))

    const [upload = '', consent = '', execute = ''] = await commandsOf(README, '7. Install and call it')
    const first = await curl(upload)
    t.match(first, { plugin: { version: '1.0.0', state: 'waiting', asksFor: { network: [{ host: 'openlibrary.org' }] } } })
    t.match(await curl(consent), { plugin: { state: 'enabled', version: '1.0.0' } })
    t.match(await curl(execute), { success: true, result: { results: [{ externalId: 'OL893415W', title: 'Dune' }] } })

    const manifest = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8'))
    await writeFile(path.join(folder, 'manifest.json'), JSON.stringify({ ...manifest, version: '1.0.1-rc.1' }))
    const code = await readFile(path.join(folder, 'src/main.ts'), 'utf8')
    await writeFile(path.join(folder, 'src/main.ts'), code.replace('    title,\n', "    title: title + '!',\n"))
    t.match(await runTool(folder, ['pack']), { code: 0 })
    t.match(
      await curl(upload.replace('1.0.0', '1.0.1-rc.1')),
      { version: '1.0.1-rc.1', plugin: { state: 'enabled', version: '1.0.1-rc.1' } },
      'it requests no more permissions',
    )
    t.match(await curl(execute), { success: true, result: { results: [{ externalId: 'OL893415W', title: 'Dune!' }] } })

    // Its own tests expect the title without the change above, and a release runs them.
    await writeFile(path.join(folder, 'src/main.ts'), code)
    const steps = await commandsOf(README, '9. Release an update')
    t.equal(steps.length, 12)
    for (const command of steps.slice(0, 5)) await type(command)
    const [, , , , , publish = '', trust = '', write = '', release = '', update = '', agree = '', back = ''] = steps
    const signed = await curl(publish)
    t.match(signed, { version: '1.0.1', waitsFor: [/is signed with/] })
    t.match(await curl(trust), { plugin: { version: '1.0.1', state: 'enabled' } })
    const page = await readFile(path.join(ROOT, README), 'utf8')
    const [, host = ''] = /^Add a host to `permissions\.network` in the manifest:\n\n```json\n(.*)\n```$/m.exec(page) ?? []
    const { permissions, ...own } = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8'))
    const wider = { ...permissions, network: [...permissions.network, JSON.parse(host)] }
    await writeFile(path.join(folder, 'manifest.json'), JSON.stringify({ ...own, permissions: wider }))
    await type(write)
    const released = await type(release)
    t.match(released, /\+ connects to www\.gutenberg\.org[\s\S]*✔ releases\/org\.example\.library-books-1\.1\.0\.plugin/)
    const second = await curl(update)
    t.match(second, { version: '1.1.0', waitsFor: ['connects to www.gutenberg.org (GET)'] })
    t.match(await curl(agree), { plugin: { version: '1.1.0', state: 'enabled' } })
    t.match(await curl(execute), { success: true })
    t.match(await curl(back), { plugin: { version: '1.0.1', state: 'enabled' } })
    t.match(await curl(execute), { success: true })
  },
)

t.test('no command of the README has a part that its reader has to replace', async (t) => {
  const text = await readFile(path.join(ROOT, README), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = '']) => commands)
  t.ok(blocks.length >= 10, 'the commands were found')
  for (const commands of blocks) t.notMatch(commands, /<[\w-]+>|…|\.\.\.|\b(FILE|NAME|TOKEN)\b/)
})

t.test('the commands of the first steps work as printed, in an empty folder beside the checkout', async (t) => {
  const folder = path.join(path.dirname(await placeSdk(t)), 'empty')
  await mkdir(folder)
  const text = await readFile(path.join(ROOT, README), 'utf8')
  const [, commands = ''] = /## Getting started\n[\s\S]*?^```sh\n([\s\S]*?)^```$/m.exec(text) ?? []
  const said = await succeeds('bash', ['-ec', commands], folder)
  t.match(said, /My Plugin was created in my-plugin\.[\s\S]*✔ \d+ passed[\s\S]*✔ org\.example\.my-plugin-1\.0\.0\.plugin/)
})
