import { writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { describeLine, pluginLogs, readEvents } from '#api/cli/plugin-logs.ts'
import { Terminal } from '#api/cli/terminal.ts'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import { pluginDiagnosticsRoutes } from '#api/rest/plugins/plugin-diagnostics.ts'
import { pluginRoutes } from '#api/rest/plugins/plugins.ts'
import { openDataFolder } from '#core/embedded/data-folder.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { SECRETS } from '#test/support/plugin-hosts.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer, testSettings } from '#test/support/server.ts'

t.setTimeout(60_000)

const MAIN = `export default { metadata: { series: {
  search: ({ query }, ctx) => { ctx.log.info('asked for ' + query, { query }); ctx.log.debug('\\u001b[2Jdone'); return { results: [] } },
  get: () => ({ externalId: '1' }) } } }`

/** The command as main.ts calls it. */
function run(words: string[], flags: Record<string, string>, cwd = '/', settings = testSettings({ port: 1 })) {
  const stop = new AbortController()
  let output = ''
  const out = new Terminal({ write: (text: string) => (output += text) })
  /** With each line of a log in one line. */
  const unwrapped = () => output.replaceAll(/\n {4}/g, ' ')
  const ended = pluginLogs.run({
    ...{
      settings,
      words,
      flag: (name: string) => flags[name],
      env: {},
      cwd,
      out,
      log: silentLog,
      stop: stop.signal,
    },
  })
  ended.catch(() => {})
  return {
    ended,
    stop: () => stop.abort(),
    output: unwrapped,
    async said(pattern: RegExp) {
      for (let waited = 0; waited < 20_000 && !pattern.test(unwrapped()); waited += 10) await sleep(10)
      if (!pattern.test(unwrapped())) throw new Error(`It never said ${pattern}:\n${output}`)
    },
  }
}

/** A line to a server, which can be cut. */
async function openLine(t: Test, port: number) {
  const sockets = new Set<Socket>()
  const line = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.once('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    cut()
    line.close()
  })
  return { url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`, cut }
}

t.test('without an address, the server of the data folder is asked', async (t) => {
  const settings = testSettings({ port: 1, dataFolder: t.testdir() })
  const held = await openDataFolder(settings.dataFolder, 'server', { port: 2 })
  const asked = () => run(['org.example.echo'], { key: 'k' }, '/', settings).ended
  await t.rejects(asked(), { message: /^http:\/\/127\.0\.0\.1:2 does not answer/ })
  await held.close()
  await t.rejects(asked(), { message: /^http:\/\/127\.0\.0\.1:1 does not answer/ }, 'else the port of the settings')
})

t.test('the lines of a plugin of a running server', onlyFull, async (t) => {
  const supervisor = new Supervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const way = await openLoopback(t, (_, response) => response.end('{}'))
  const known = new Set(pluginDiagnosticsRoutes.map(({ method, path }) => `${method} ${path}`))
  const server = await openTestServer(t, {
    routes: [...pluginRoutes.filter(({ method, path }) => !known.has(`${method} ${path}`)), ...pluginDiagnosticsRoutes],
    services: ({ database }) => openPluginHost({ database, supervisor, egress: new HttpsEgress(way), log: silentLog, secrets: SECRETS }),
  })
  const host = server.services
  t.teardown(() => host.pluginCalls.close())
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(MAIN), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const search = (query: string) =>
    host.pluginCalls.call({ pluginId: plugin.id, method: 'metadata.series.search', input: { query }, userId: null })
  const admin = (await server.accounts.callers.ofToken(server.adminToken, 'token'))!
  const { key } = await server.accounts.createApiKey({ name: 'logs' }, admin)
  const name = 'org.example.echo'
  const flags = { server: server.url, key }

  const empty = run([name], flags)
  t.equal(await empty.ended, 0)
  t.match(empty.output(), /has written no log lines/)
  await search('dune')
  const lines = run([plugin.id], flags)
  t.equal(await lines.ended, 0)
  t.match(
    lines.output(),
    /^\d{4}-\d\d-\d\dT\S+Z info {2}metadata\.series\.search: asked for dune \{"query":"dune"\}\n\S+ debug metadata\.series\.search: \\x1b\[2Jdone\n$/,
  )
  const cwd = t.testdir({ key: `${key}\nmore` })
  const some = run([name], { server: `${server.url}/`, 'key-file': 'key', level: 'info', lines: '1' }, cwd)
  t.equal(await some.ended, 0)
  t.match(some.output(), /^\S+ info .*\n$/)

  const line = await openLine(t, server.port)
  const following = run([name], { server: line.url, key, follow: 'true' })
  await following.said(/asked for dune/)
  // It must not depend on when the next line comes.
  await sleep(300)
  await search('emma')
  await following.said(/asked for emma/)
  line.cut()
  await search('while nobody listens')
  await following.said(/asked for while nobody listens/)
  t.match(following.output(), /connection was lost; reconnecting in 1 s/)
  await search('last')
  await following.said(/asked for last/)
  for (const query of ['dune', 'emma', 'while nobody listens', 'last'])
    t.equal(following.output().split(`asked for ${query} `).length, 2, `${query}: once`)
  following.stop()
  t.equal(await following.ended, 0)

  const leaving = run([name], { ...flags, follow: 'true' })
  await leaving.said(/asked for last/)
  await host.pluginLifecycle.uninstall(plugin.id)
  await t.rejects(leaving.ended, { message: /404: There is no plugin/ }, 'the plugin has gone')
  await t.rejects(run([name], flags).ended, { message: /no plugin "org\.example\.echo"/ })
  await t.rejects(run([name], { ...flags, key: 'wrong' }).ended, { message: /answers 401/ })
  const reader = await server.signUp({ username: 'rita' })
  await t.rejects(run([name], { ...flags, key: reader.token }).ended, { message: /answers 403: / })
})

t.test('what cannot work is said', async (t) => {
  const folder = t.testdir()
  writeFileSync(path.join(folder, 'empty'), '')
  const cases: [flags: Record<string, string>, message: RegExp][] = [
    [{}, /requires an API key/],
    [{ key: 'a b' }, /requires an API key/],
    [{ 'key-file': 'empty' }, /requires an API key/],
    [{ 'key-file': 'nothing' }, /nothing cannot be read \(ENOENT\)/],
    [{ key: 'k', server: 'books' }, /--server must be an address/],
    [{ key: 'k', server: 'ftp://books' }, /--server must be an address/],
    [{ key: 'k' }, /http:\/\/127\.0\.0\.1:1 does not answer/],
    [{ key: 'k', lines: '0' }, /--lines must be a number from 1 to 500/],
    [{ key: 'k', lines: 'all' }, /--lines/],
    [{ key: 'k', level: 'loud' }, /--level must be debug/],
  ]
  for (const [flags, message] of cases) await t.rejects(run(['x'], flags, folder).ended, { message }, JSON.stringify(flags))
})

t.test('a server of another sort', async (t) => {
  const answers: Record<string, http.RequestListener> = {
    // The key must not go where this leads.
    redirect: (_, response) => {
      response.statusCode = 302
      response.setHeader('location', 'https://example.org/')
      response.end()
    },
    moved: (request, response) => {
      response.writeHead(308, { location: `https://example.org${request.url}` })
      response.end()
    },
    text: (_, response) => response.end('hello'),
    lines: (request, response) =>
      response.end(request.url?.endsWith('/plugins') ? '{"plugins":[{"id":"1","name":"x"}]}' : '{"lines":[{"id":"one"}],"lastId":1}'),
  }
  const server = http.createServer((request, response) => answers[request.headers.authorization?.slice(7) ?? '']?.(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await t.rejects(run(['x'], { server: url, key: 'redirect' }).ended, {
    message: /redirects\s+to\s+https:\/\/example\.org\/,\s+as\s+no\s+Carrel\s+server\s+does\./,
  })
  await t.rejects(run(['x'], { server: url, key: 'moved' }).ended, {
    message: /redirects\s+to\s+https:\/\/example\.org;\s+give\s+that\s+address\./,
  })
  await t.rejects(run(['x'], { server: url, key: 'text' }).ended, { message: /did not send log lines/ })
  await t.rejects(run(['x'], { server: url, key: 'lines' }).ended, { message: /did not send log lines/ })
})

t.test('events come in whatever pieces', async (t) => {
  const text =
    'retry: 3000\n\n:\n\nid: 1\ndata: {"ä":1}\n\nid: 2\r\ndata:[1,\r\ndata: 2]\r\n\r\nevent: none\n\ndata: 3\n\ndata: "unfinished"'
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, 1_000]) {
    const chunks = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    })()
    const seen: unknown[] = []
    for await (const event of readEvents(chunks)) seen.push(event)
    t.same(seen, [{ ä: 1 }, [1, 2], 3], `pieces of ${size}`)
  }
  const endless = (async function* () {
    for (;;) yield Buffer.alloc(100_000, 'x')
  })()
  const read = async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const event of readEvents(chunks)) t.fail(`nothing was sent: ${event}`)
  }
  await t.rejects(read(endless), { message: /did not send log lines/ })
  await t.rejects(
    read(
      (async function* () {
        yield Buffer.from('data: nothing\n\n')
      })(),
    ),
    { message: /did not send log lines/ },
  )
  const hostile = { id: 1, at: '2026', level: 'info', message: '\u001b[2J\nx', data: null, method: null }
  t.equal(describeLine(hostile), '2026 info  \\x1b[2J\\nx')
})
