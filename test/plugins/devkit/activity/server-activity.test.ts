import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Services } from '#api/http/services.ts'
import { Server } from '#api/server.ts'
import { silentLog } from '#core/foundation/log.ts'
import { readLevel, readNodes } from '#plugins/devkit/activity/server-activity.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { runDev } from '#test/support/dev-process.ts'
import { freePort } from '#test/support/free-port.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

/** Longer than the interval at which the tool asks whether the server answers again, which is then refused once. */
const RESTART_MS = 1_500

const MAIN = `export default {
  metadata: {
    series: {
      async search({ query }, ctx) {
        if (query === 'many') for (let line = 0; line < 100_000; line += 1) ctx.log.info('line ' + line)
        if (query === 'fail') throw new Error('No such title\\n✔ http://example.org runs 9.9.9')
        if (query === 'away') throw Object.assign(new Error('The service rests'), { code: 'upstream' })
        if (query === 'memory') { const kept = []; while (true) kept.push(new Array(100_000).fill(kept.length)) }
        ctx.log.debug('asks', { query })
        await ctx.http.json('https://api.example.org/titles')
        return { results: [{ externalId: '1', title: 'Echo', relevance: 1 }] }
      },
      get: async ({ externalId }) => ({ externalId, title: 'Echo' }),
    },
  },
}
`

async function openDevServer(t: Test) {
  const supervisor = new Supervisor({ log: silentLog })
  const way = await openLoopback(t, (_, response) => response.end('{}'))
  const server = await openTestServer(t, { services: ({ database }) => openServedPlugins(t, database, supervisor, new HttpsEgress(way)) })
  t.teardown(() => supervisor.close())
  const made = await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token: server.adminToken, body: { name: 'dev' } })
  const search = (query: string) =>
    server.request('POST', '/api/v1/plugins/org.example.echo/execute', {
      token: server.adminToken,
      body: { action: { metadata: { action: 'search', contentType: 'series', params: { query, limit: 5 } } } },
    })
  const dev = (folder: string, given: string[] = [], url = server.url) =>
    runDev(t, folder, ['--server', url, '--token', made.json.key, '--no-types', ...given])
  return { server, search, dev, origin: new URL(server.url).origin }
}

t.test('the terminal shows calls and lines of the server as they happen', async (t) => {
  const { search, dev } = await openDevServer(t)
  const { says, said, clear, end } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }))
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  clear()
  t.match(await search('echo'), { status: 200 })
  await says(
    /^\d\d:\d\d:\d\d info {2}metadata\.series\.search ok, \d+ ms, \d+ ms cpu\n +requests api\.example\.org 200, 2 bytes\n +→ \{"results":/gm,
  )
  t.match(said(), /^\d\d:\d\d:\d\d debug metadata\.series\.search: asks \{"query":"echo"\}$/m)
  clear()
  await search('fail')
  await says(/^\S+ error metadata\.series\.search failed \(thrown\)[^\n]*\n +No such title/gm)
  await says(/^ +at src\/main\.ts:6:\d+$/gm)
  t.notMatch(said(), /^✔/m, 'words of the plugin never begin a line')
  clear()
  // Twice the interval at which the server is asked.
  await sleep(1_200)
  t.equal(said(), '', 'nothing is printed twice')
  t.equal(await end(), 0)
})

t.test('a call that fails without the plugin being to blame is shown once', async (t) => {
  const { search, dev } = await openDevServer(t)
  const { says, said, clear } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }))
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  clear()
  await search('away')
  await says(/^\S+ error metadata\.series\.search failed \(upstream\)[^\n]*\n +The service rests/gm)
  await search('echo')
  // What came before the next call has been printed by then.
  await says(/metadata\.series\.search ok/g)
  t.equal(said().match(/The\s+service\s+rests/g)?.length, 1, said())
})

t.test('a page of a proxy in place of an answer is said, and what the plugin does is shown when the server answers again', async (t) => {
  const { server, search, dev } = await openDevServer(t)
  let isDown = false
  const way = http.createServer((request, response) => {
    if (isDown) return void response.end('<!doctype html><title>Maintenance</title>')
    const { method, url = '/', headers } = request
    const onward = http.request(new URL(url, server.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    way.closeAllConnections()
    way.close()
  })
  const address = `http://127.0.0.1:${(way.address() as AddressInfo).port}`
  const { says, clear, end } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }), [], address)
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  clear()
  isDown = true
  await says(/^! What the plugin does on the server cannot be shown[^✔]*is\s+no\s+Carrel\s+server:\s+it\s+answered\s+HTML\./gm)
  isDown = false
  t.match(await search('echo'), { status: 200 })
  await says(/metadata\.series\.search ok/g)
  t.equal(await end(), 0)
})

t.test('a plugin that writes without end neither floods nor stops the terminal', async (t) => {
  const { search, dev } = await openDevServer(t)
  const { says, said, clear } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }))
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  clear()
  await search('many')
  await says(/metadata\.series\.search (ok|failed)/g)
  await says(/^! \d+ lines left out/gm)
  // Several intervals, in which more lines would come.
  await sleep(2_000)
  t.ok(said().split('\n').length < 1_000, `${said().split('\n').length} lines`)
  clear()
  await search('echo')
  await says(/metadata\.series\.search ok/g)
})

t.test('calls on another node of the same server are shown with its address', async (t) => {
  const { server, search, dev } = await openDevServer(t)
  const supervisor = new Supervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const way = await openLoopback(t, (_, response) => response.end('{}'))
  const own: Partial<Services> = openServedPlugins(t, server.database, supervisor, new HttpsEgress(way))
  const services = new Proxy(server.services, { get: (target, name) => Reflect.get(name in own ? own : target, name) })
  const other = new Server(services)
  const { url } = await other.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => other.close({ deadlineMs: 500 }))
  const lost = 'http://127.0.0.1:9'

  const { says, said, clear } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }), ['--node', url, '--node', lost])
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  await says(/^! What the plugin does on http:\/\/127\.0\.0\.1:9 cannot be\s+shown/gm)
  clear()
  t.match(await search('echo'), { status: 200 })
  await says(new RegExp(`info {2}${new URL(server.url).host}: metadata\\.series\\.search ok`, 'g'))
  const answered = await fetch(`${url}/api/v1/plugins/org.example.echo/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: { metadata: { action: 'search', contentType: 'series', params: { query: 'fail', limit: 5 } } } }),
  })
  t.match(await answered.json(), { success: false })
  await says(new RegExp(`error ${new URL(url).host}: metadata\\.series\\.search failed \\(thrown\\)`, 'g'))
  t.notMatch(said(), /cannot be/, 'what is wrong with a node is said once')
  t.throws(() => readNodes({ all: () => ['localhost'] }), {
    message: '--node must be a URL such as http://127.0.0.1:8081, not "localhost".',
  })
})

t.test('two authors of one plugin read whose build runs', async (t) => {
  const { dev, origin } = await openDevServer(t)
  const ada = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }))
  const [, ofAda = ''] = await ada.says(/✔ \S+ runs (1\.0\.1-dev\.\d+)/g)
  const ben = dev(await openPluginFolder(t, { files: { 'src/main.ts': `${MAIN}// Of Ben` } }))
  const [, ofBen = ''] = await ben.says(/✔ \S+ runs (1\.0\.1-dev\.\d+)/g)
  const [said] = await ada.says(/^✖ [^✔✖]*chosen\s+it\./gm)
  t.equal(said.replace(/\s+/g, ' '), `✖ ${origin} runs ${ofBen} instead of ${ofAda}. Somebody else has installed or chosen it.`)
})

t.test('a build is installed although the server ends in the middle of its upload', async (t) => {
  const { server, dev } = await openDevServer(t)
  const real = Number(new URL(server.url).port)
  const port = await freePort()
  let uploads = 0
  const way = createServer((client) => {
    const upstream = connect(real, '127.0.0.1')
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    client.on('error', end).on('close', end)
    upstream.on('error', end).on('close', end).pipe(client)
    client.on('data', (bytes: Buffer) => {
      // The head of the upload has arrived, and some of its body.
      if (bytes.includes('POST /api/v1/admin/plugins HTTP') && ++uploads === 1) {
        upstream.write(bytes.subarray(0, bytes.length / 2))
        end()
        way.close()
        setTimeout(() => way.listen(port, '127.0.0.1'), RESTART_MS)
      } else upstream.write(bytes)
    })
  })
  await new Promise<void>((resolve) => way.listen(port, '127.0.0.1', resolve))
  t.teardown(() => way.close())
  const { says, said } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }), [], `http://127.0.0.1:${port}`)
  await says(/^! \S+ could not be reached \(\w+\)\. The build is\s+installed when it answers again\./gm)
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  t.equal(uploads, 2)
  t.notMatch(said(), /^✖/m)
})

t.test('the level leaves out what is below it', async (t) => {
  const { search, dev } = await openDevServer(t)
  const { says, said } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }), ['--level', 'error'])
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  await search('echo')
  await search('fail')
  await says(/failed \(thrown\)/g)
  t.notMatch(said(), /asks|search ok/)
  t.equal(readLevel({ flag: () => undefined }), 'debug')
  t.throws(() => readLevel({ flag: () => 'loud' }), { message: '--level must be debug, info, warn, error, not "loud".' })
})

t.test('the terminal says which build runs instead, and why', async (t) => {
  const { search, dev, server, origin } = await openDevServer(t)
  const folder = await openPluginFolder(t, { files: { 'src/main.ts': MAIN.replaceAll("=== 'memory'", "=== 'never'") } })
  const { says, clear } = dev(folder, ['--level', 'error'])
  const [, before = ''] = await says(/✔ \S+ runs (1\.0\.1-dev\.\d+)/g)
  clear()
  // The next change of the file has another time.
  await sleep(1_000)
  await writeFile(path.join(folder, 'src/main.ts'), MAIN)
  const [, after = ''] = await says(/✔ \S+ runs (1\.0\.1-dev\.\d+)/g)
  for (let time = 0; time < 3; time += 1) await search('memory')
  // Between the two builds, the terminal may say that the failed one is quarantined.
  const [said] = await says(/^✖ [^✔✖]*runs\s+again\./gm)
  const [, what, why] =
    /^✖ (\S+ runs \S+ instead of .*) \(the plugin says: "(.*)"\); \S+ runs again\.$/.exec(said.replace(/\s+/g, ' ')) ?? []
  t.equal(what, `${origin} runs ${before} instead of ${after}. ${after} failed right after the update`)
  t.match(why, /^memory: The code exceeded its memory limit of 64 MB\./)

  clear()
  // The next change of the file has another time.
  await sleep(1_000)
  await writeFile(path.join(folder, 'src/main.ts'), `${MAIN}// Changed`)
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  const ask = (method: string, place: string) =>
    server.request(method, `/api/v1/admin/plugins/org.example.echo${place}`, { token: server.adminToken })
  await ask('POST', '/disable')
  await says(/✖ \S+ runs no build: 1\.0\.1-dev\.\d+ is\s+disabled\./g)
  await ask('POST', '/enable')
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+ again/g)
  await ask('DELETE', '')
  await says(/✖ \S+ no longer has the plugin\./g)
})

t.test('a build that the server stops is said with the reason', async (t) => {
  const { search, dev } = await openDevServer(t)
  const { says } = dev(await openPluginFolder(t, { files: { 'src/main.ts': MAIN } }))
  await says(/✔ \S+ runs 1\.0\.1-dev\.\d+/g)
  for (let time = 0; time < 3; time += 1) await search('memory')
  await says(/✖ \S+ runs no build: 1\.0\.1-dev\.\d+ is\s+quarantined\.\s+It\s+broke\s+its\s+sandbox\s+3\s+times/g)
})
