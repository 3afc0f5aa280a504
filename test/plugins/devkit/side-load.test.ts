import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import compare from 'semver/functions/compare.js'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { runCommandLine } from '#plugins/devkit/command-line.ts'
import { checkAdministrator, setUp, sideLoad, tryVersion } from '#plugins/devkit/side-load.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openServedPlugins } from '#test/support/plugin-hosts.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf, openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

const PERMISSIONS = manifestOf()['permissions'] as Record<string, unknown>

t.test('a development version is between the last and the next', async (t) => {
  const early = new Date('2026-11-21T10:00:00Z')
  const late = new Date('2026-11-21T10:00:00.001Z')
  t.equal(tryVersion('1.4.0', early), '1.4.1-dev.1795255200000')
  t.equal(tryVersion('1.4.0-beta.1', early), '1.4.0-beta.1.dev.1795255200000')
  for (const [version, next] of [
    ['1.4.0', '1.4.1'],
    ['1.4.0-beta.1', '1.4.0-beta.2'],
  ] as const) {
    const order = [version, tryVersion(version, early), tryVersion(version, late), next]
    t.same([...order].reverse().sort(compare), order)
  }
})

t.test('development builds and releases replace each other, and configuration and credentials stay', async (t) => {
  const supervisor = new Supervisor({ log: silentLog })
  const way = await openLoopback(t, (_, response) => response.end('{}'))
  const server = await openTestServer(t, {
    services: ({ database }) => openServedPlugins(t, database, supervisor, new HttpsEgress(way)),
  })
  t.teardown(() => supervisor.close())
  const made = await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token: server.adminToken, body: { name: 'dev' } })
  const to = { url: server.url, token: made.json.key }
  const stop = new AbortController().signal
  const author = generateKeyPairSync('ed25519').privateKey
  const other = generateKeyPairSync('ed25519').privateKey
  const members = {
    config: { type: 'object', properties: { pages: { type: 'integer' } } },
    auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'x-key' } },
  }
  const MAIN = `export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: '1' }) } } }`
  const of = (version: string, keys = [author]) => pluginOf(MAIN, { ...members, version }, keys)
  const loaded = (bytes: Buffer, more = {}) => sideLoad({ ...to, ...more }, bytes, stop)
  const state = async () => {
    const { json } = await server.request<Record<string, unknown>>('GET', '/api/v1/admin/plugins/org.example.echo', {
      token: server.adminToken,
    })
    return json
  }
  t.same(await loaded(of('1.0.0')), ['runs for the first time'])
  await setUp(to, 'org.example.echo', { config: { pages: 4 }, credentials: { token: 's3cret' } }, stop)
  await t.rejects(setUp(to, 'org.example.echo', { config: { page: 4 } }, stop), { message: /answered 422: .*page/ })

  const now = Date.now()
  const dev = (version: string, at: number) => tryVersion(version, new Date(now + at))
  await t.rejects(loaded(of(dev('1.0.0', 1), [])), { message: /A package without a signature.*sign your builds: --key-file KEY\.pem\.$/ })
  t.same(await loaded(of(dev('1.0.0', 2))), [], 'with the key of the release')
  t.match(await state(), { runningVersion: dev('1.0.0', 2), config: { pages: 4 }, hasCredentials: true })
  const refusal = await loaded(of(dev('1.0.0', 3), [other])).catch((error: Error) => error.message)
  const [, fingerprint] = /confirm the key: --trust-key (SHA256:\S+?)\.$/.exec(String(refusal)) ?? []
  t.ok(fingerprint, String(refusal))
  t.match(await loaded(of(dev('1.0.0', 4), [other]), { trustKey: fingerprint }), [/sign/], 'another key is confirmed as the message says')
  const dayBefore = dev('1.0.0', -24 * 60 * 60_000)
  t.same(await loaded(of(dayBefore, [other])), [], 'a build of a machine whose clock is a day behind')
  t.match(await state(), { runningVersion: dayBefore })
  t.match(await loaded(of('1.0.0', [author]), {}).catch((error: Error) => error.message), /1\.0\.0/)

  t.match(await loaded(of('0.9.0', [other])), [], 'a release over a development build, whose number is higher')
  t.match(await state(), { runningVersion: '0.9.0', config: { pages: 4 }, hasCredentials: true })
  await t.rejects(loaded(of('0.8.0', [other])), { message: /is older than 0\.9\.0, which runs\. To run an older version/ })
  await t.rejects(loaded(of(dev('0.8.0', 5), [other])), {
    message:
      /is older than 0\.9\.0, which runs\. It was built from earlier sources\. Get the latest ones, and raise "version" in manifest\.json to 0\.9\.0/,
  })
})

t.test('what is no Carrel server at the address is said with what it answered, and a redirect with where it leads', async (t) => {
  const html = '<!doctype html><title>Vite</title>'
  const json = (value: unknown) => JSON.stringify(value)
  const away = 'is no Carrel server: it answered'
  const check = 'Check the address, and what is between.'
  const cases: [status: number, body: string, headers: Record<string, string>, said: string][] = [
    [200, html, {}, `${away} HTML. ${check}`],
    [404, html, {}, `${away} 404: HTML. ${check}`],
    [404, 'page not found', {}, `${away} 404: page not found. ${check}`],
    [200, '', {}, `${away} nothing. ${check}`],
    [200, json([]), {}, `${away} other JSON. ${check}`],
    [200, json({ status: 'up' }), {}, `${away} other JSON. ${check}`],
    [502, html, {}, 'answered 502: HTML'],
    [301, '', { location: 'https://books.example.org/api/v1/admin/plugins' }, 'redirects to https://books.example.org; give that address.'],
    [302, '', { location: '/in' }, 'redirects to ADDRESS/in, as no Carrel server does. Give the address of the Carrel server itself.'],
  ]
  let [status, body, headers] = cases[0] as (typeof cases)[number]
  const server = http.createServer((_, response) => {
    response.writeHead(status, headers)
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = await openPluginFolder(t)
  for (const one of cases) {
    ;[status, body, headers] = one
    const said = `${url} ${one[3].replace('ADDRESS', url)}`
    await t.rejects(checkAdministrator({ url, token: 'k' }, new AbortController().signal), { message: said }, said)
    const ran = await runTool(folder, ['dev', '--server', url, '--token', 'k'])
    t.same([ran.code, ran.stdout, ran.stderr.includes(said)], [1, '', true], ran.stderr)
    t.notMatch(ran.stderr, /\n\s+at /, 'without a stack')
  }
})

t.test('every successful build is installed on a running server', onlyFull, async (t) => {
  const supervisor = new Supervisor({ log: silentLog })
  const way = await openLoopback(t, (_, response) => response.end('{"titles":["Echo"]}'))
  const server = await openTestServer(t, {
    services: ({ database }) => openServedPlugins(t, database, supervisor, new HttpsEgress(way)),
  })
  t.teardown(() => supervisor.close())
  const made = await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token: server.adminToken, body: { name: 'dev' } })
  t.equal(made.status, 201, made.text)
  const { key } = made.json

  const folder = await openPluginFolder(t)
  const stop = new AbortController()
  let said = ''
  const hear = (text = '') => {
    said += `${text}\n`
  }
  const ended = runCommandLine(['dev', '--server', server.url, '--token', key], {
    cwd: folder,
    out: { line: hear, paint: (_style, text) => text },
    printError: hear,
    stop: stop.signal,
    readLine: async (question) => {
      hear(question)
      return said.includes('64 KB') ? 'yes' : 'no'
    },
  })
  const runs = async (word: string) => {
    for (const until = performance.now() + 30_000; performance.now() < until; await sleep(50)) if (said.includes(word)) return
    throw new Error(`It did not say ${word}, but:\n${said}`)
  }
  const origin = new URL(server.url).origin
  await runs(`${origin} runs 1.0.1-dev.`)
  t.match(said, /consented, because it\s+runs for the first time/)
  const granted = said.indexOf(`On ${origin} you grant what follows`)
  const hosts = said.indexOf('  connects to api.example.org (GET, POST)\n  > the author says: "The service"')
  t.ok(granted > -1 && granted < hosts && hosts < said.indexOf(`${origin} runs`), 'what is granted is printed before it is installed')
  const { plugins } = (
    await server.request<{ plugins: { id: string; state: string; version: string }[] }>('GET', '/api/v1/admin/plugins', {
      token: server.adminToken,
    })
  ).json
  t.match(plugins, [{ name: 'org.example.echo', state: 'enabled', version: /^1\.0\.1-dev\.\d+$/ }])
  const body = { action: { metadata: { action: 'search', contentType: 'series', params: { query: 'echo', limit: 5 } } } }
  t.match(await server.request('POST', `/api/v1/plugins/${plugins[0]?.id}/execute`, { token: server.adminToken, body }), {
    status: 200,
    json: { result: { results: [{ title: 'Echo' }] } },
  })

  said = ''
  // The next change of the file has another time.
  await sleep(1_000)
  await writeFile(
    path.join(folder, 'src/main.ts'),
    `export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: 'new' }) } } }`,
  )
  await runs(`${origin} runs 1.0.1-dev.`)
  t.match(await server.request('POST', `/api/v1/plugins/${plugins[0]?.id}/execute`, { token: server.adminToken, body }), {
    json: { result: { results: [] } },
  })
  t.notMatch(said, /you grant/, 'nothing else is granted')

  const storing = async (quotaKB: number) => {
    said = ''
    const permissions = { ...PERMISSIONS, storage: { quotaKB } }
    await writeFile(path.join(folder, 'manifest.json'), JSON.stringify(manifestOf({ license: 'MIT', permissions })))
  }
  await storing(32)
  await runs('plugin consent org.example.echo --sha256')
  t.match(said, /Do you grant this on \S+ Type yes or no/)
  t.notMatch(said, / runs 1\.0\.1-dev\./, 'a no installs nothing that runs')
  // The next change of the file has another time.
  await sleep(1_000)
  await storing(64)
  await runs(`${origin} runs 1.0.1-dev.`)
  t.match(said, /What you grant on \S+ differs: \+ is new[\s\S]*\n- stores up to 16 KB[^\n]*\n\+ stores up to 64 KB/)
  t.ok(
    said.split('\n').every((line) => line.length <= 80 || line.startsWith('To grant it')),
    said,
  )
  stop.abort()
  t.equal(await ended, 0)

  const never = new AbortController().signal
  const { token: reader } = await server.signUp({ username: 'rita' })
  const { json: own } = await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token: reader, body: { name: 'dev' } })
  await t.rejects(checkAdministrator({ url: server.url, token: own.key }, never), {
    message: /answered 403: .* Give --token the API key of an administrator/,
  })
  await t.rejects(sideLoad({ url: server.url, token: 'wrong' }, pluginOf('export default {}'), never), {
    name: 'ToolProblem',
    message: /answered 401: /,
  })
  await t.rejects(sideLoad({ url: server.url, token: key }, Buffer.from('no package'), never), { message: /answered 4\d\d: / })
  await t.rejects(sideLoad({ url: 'http://127.0.0.1:1', token: key }, Buffer.from(''), never), { message: /could not be reached/ })
})
