import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { readSettings } from '#core/settings/read-settings.ts'
import { runCommandLine } from '#plugins/devkit/command-line.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { spawnCarrel } from '#test/support/carrel-process.ts'
import { freePort } from '#test/support/free-port.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { commandsOf, filesOf, placeSdk, succeeds, writeFiles } from '#test/support/sdk-install.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

const README = 'plugin-sdk/README.md'
const PATIENCE_MS = 60_000

/** A port that is free at the moment. */
t.test('the tutorial works with a local service and reloads every change', async (t) => {
  const port = await freePort()
  // As in the README, with a free port.
  const here = (text: string) => text.replaceAll('8600', String(port))
  const folder = await placeSdk(t)
  const files = await filesOf(README)
  await writeFiles(
    folder,
    [...files].map(([name, text]) => [name, here(text)]),
  )
  const commands = (await commandsOf(README, '8. Develop against a local service')).map(here)
  const [service = '', start = '', configure = '', dev = ''] = commands
  t.equal(commands.length, 4)

  const running = spawnCarrel([], { run: service.replace(/^node/, process.execPath).split(' '), cwd: folder })
  t.teardown(() => running.child.kill())
  await running.said(new RegExp(`http://localhost:${port}`))
  const { plugins } = readSettings({ argv: start.replace('npm start -- ', '').split(' '), env: {}, cwd: folder })
  const supervisor = new Supervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const egress = new HttpsEgress(undefined, new Set(plugins.allowLocal))
  const server = await openTestServer(t, {
    services: ({ database }) => openServedPlugins(t, database, supervisor, egress),
  })
  const { json: made } = await server.request<{ key: string }>('POST', '/api/v1/api-keys', {
    token: server.adminToken,
    body: { name: 'tutorial', permissions: ['plugins-manage', 'system-admin', 'series-write', 'books-write'] },
  })

  let said = ''
  const hear = (text = '') => {
    said += `${text}\n`
  }
  const stop = new AbortController()
  const [, variable = ''] = /^(\w+)=\$KEY /.exec(dev) ?? []
  process.env[variable] = made.key
  t.teardown(() => delete process.env[variable])
  const given = dev
    .replace(/^.*\bdev\b/, 'dev')
    .replace(' -- ', ' ')
    .replace('$URL', server.url)
  const ended = runCommandLine(given.split(' '), {
    cwd: folder,
    out: { line: hear, paint: (_style, text) => text },
    printError: hear,
    stop: stop.signal,
  })
  t.teardown(async () => {
    stop.abort()
    await ended
  })
  const says = async (wanted: RegExp) => {
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(20)) if (wanted.test(said)) return
    throw new Error(`It did not say ${wanted}, but:\n${said}`)
  }
  await says(/Local +localhost:\d+ may be requested/)
  await says(/runs 1\.0\.1-dev\.\d+/)
  const curl = async (command: string) =>
    JSON.parse(await succeeds('bash', ['-c', `KEY=${made.key}; URL=${server.url}; ${command}`], folder))
  t.match(await curl(configure), { config: { site: `http://localhost:${port}` } })
  const [, , execute = ''] = await commandsOf(README, '7. Install and call it')
  t.match(await curl(execute), { success: true, result: { results: [{ title: 'Dune', year: 1965 }] } })

  const main = path.join(folder, 'src/main.ts')
  const code = await readFile(main, 'utf8')
  said = ''
  await writeFile(main, code.replace('    title,\n', "    title: title + '!',\n"))
  await says(/runs 1\.0\.1-dev\.\d+/)
  t.match(await curl(execute), { result: { results: [{ title: 'Dune!' }] } })

  said = ''
  const broken = code.replace('return docs.slice', 'docs[7]!.title.trim()\n  return docs.slice')
  const line = broken.split('\n').findIndex((text) => text.includes('docs[7]')) + 1
  await writeFile(main, broken)
  await says(/runs 1\.0\.1-dev\.\d+/)
  t.match(await curl(execute), { success: false, code: 'thrown' })
  t.match(await curl('curl -H "X-API-Key: $KEY" $URL/api/v1/admin/plugins/org.example.library-books/failures'), {
    failures: [{ errorMessage: /reading 'title'/, source: new RegExp(`^src/main\\.ts:${line}:\\d+$`) }],
  })
})
