import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import type { EgressRule } from '#plugins/network/request.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { forever, POLICY } from '#test/support/egress.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(60_000)

/** A service on this machine, by default only at `127.0.0.1`. */
async function openService(t: Test, answer: http.RequestListener, host = '127.0.0.1') {
  const asked: string[] = []
  const server = http.createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, port: (server.address() as AddressInfo).port }
}

const own = async (work: Promise<unknown>) => {
  const error = await work.catch((error: unknown) => error)
  return error instanceof GuestError ? error.own : `answered ${JSON.stringify(error)}`
}

/** The rule for a configured URL, as for plugins. */
function ruleOf(address: string, local?: ReadonlySet<string>): EgressRule {
  const ruled = ruleOfAddress(address, { privateOrigins: [], local })
  if ('error' in ruled) throw new Error(ruled.error)
  return ruled.rule
}

t.test('without the setting, no rule allows this machine', async (t) => {
  const { asked, port } = await openService(t, (_request, response) => response.end('fine'))
  for (const address of [`http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`])
    for (const privateOrigins of [[], [address]])
      t.same(
        ruleOfAddress(`${address}/books`, { privateOrigins }),
        {
          error:
            `${new URL(address).hostname} is this server itself, or in a network that plugins may not access. ` +
            `If it is a service of yours for development, start the server with --plugin-allow-local ${new URL(address).host}; ` +
            'commands follow a running server, or take the same flag.',
        },
        address,
      )
  t.same(ruleOfAddress('http://169.254.1.1', { privateOrigins: [] }), {
    error: '169.254.1.1 is this server itself, or in a network that plugins may not access.',
  })
  const origin = `http://127.0.0.1:${port}`
  const forged = { host: '127.0.0.1', methods: ['GET'], origin, private: true, local: true }
  t.equal(await own(new HttpsEgress().fetch({ url: `${origin}/` }, { ...POLICY, rules: [forged] }, forever())), 'permission')
  t.same(asked, [])
})

t.test('with the setting, exactly the named host is allowed, if the configuration names it too', async (t) => {
  const { asked, port } = await openService(t, (_request, response) => response.end('fine'))
  const other = await openService(t, (_request, response) => response.end('other'))
  const local = new Set([`localhost:${port}`])
  const egress = new HttpsEgress(undefined, local)
  const base = `http://localhost:${port}`
  const get = (url: string, rules = [...POLICY.rules, ruleOf(base, local)]) => egress.fetch({ url }, { ...POLICY, rules }, forever())
  t.match(await get(`${base}/books`), { status: 200, body: 'fine', url: `${base}/books` })
  t.same(asked, [`localhost:${port}/books`])

  for (const url of [
    ...[
      `http://127.0.0.1:${port}/`,
      `http://[::1]:${port}/`,
      `http://localhost:${other.port}/`,
      'http://localhost/',
      `https://localhost:${port}/`,
    ],
    ...[`http://localhost.:${port}/`, `http://a.localhost:${port}/`, `http://user@localhost:${port}/`, `http://127.1:${port}/`],
    ...[`http://[::ffff:127.0.0.1]:${port}/`, `http://0.0.0.0:${port}/`, 'http://192.168.1.1/', 'http://169.254.169.254/'],
  ])
    t.equal(await own(get(url)), 'permission', url)
  t.equal(await own(get(`${base}/`, [...POLICY.rules])), 'permission', 'the setting alone grants a plugin nothing')
  for (const address of [`http://127.0.0.1:${port}`, `http://localhost:${other.port}`, 'http://192.168.1.20:80'])
    t.match(ruleOfAddress(address, { privateOrigins: [], local }), { error: String }, address)
  // A rule that nobody could have created, for the host of another service.
  const forged = { host: 'localhost', methods: ['GET'], origin: `http://localhost:${other.port}`, private: true, local: true }
  t.equal(await own(get(`http://localhost:${other.port}/`, [forged])), 'permission')
  t.equal(
    await own(egress.fetch({ url: `${base}/`, method: 'DELETE' }, { ...POLICY, rules: [ruleOf(base, local)] }, forever())),
    'permission',
  )
  t.equal(asked.length, 1)
  t.same(other.asked, [])
})

t.test('redirects may leave it by the same rules, and never lead to it', async (t) => {
  const there = await openService(t, (_request, response) => response.end('there'))
  const service = await openService(t, (request, response) => {
    const to = { '/on': '/end', '/beside': `http://localhost:${there.port}/`, '/by-number': `http://127.0.0.1:${service.port}/end` }[
      request.url ?? ''
    ]
    if (to === undefined) response.end('fine')
    else response.writeHead(302, { location: to }).end()
  })
  const base = `http://localhost:${service.port}`
  const local = new Set([`localhost:${service.port}`])
  const outside = await openLoopback(t, (_request, response) => response.writeHead(302, { location: `${base}/secret` }).end())
  const egress = new HttpsEgress(outside, local)
  const get = (url: string) => egress.fetch({ url }, { ...POLICY, rules: [...POLICY.rules, ruleOf(base, local)] }, forever())
  t.match(await get(`${base}/on`), { body: 'fine', url: `${base}/end` })
  for (const way of ['beside', 'by-number']) t.equal(await own(get(`${base}/${way}`)), 'permission', way)
  t.equal(await own(get('https://api.example.org/')), 'permission', 'no public service sends a plugin here')
  t.same(there.asked, [])
  t.notOk(service.asked.some((url) => url.endsWith('/secret')))
  const covers = { caller: 'x', userAgent: 'x', accept: '*/*', bytesMax: 100, deadlineMs: 5_000 }
  t.equal(await own(egress.download({ ...covers, url: `${base}/` }, forever())), 'permission', 'nor does the server download from it')
  t.match(await egress.download({ ...covers, url: `${base}/`, mayBeLocal: true }, forever()), { status: 200 })
  t.equal(await own(egress.download({ ...covers, url: `${base}/beside`, mayBeLocal: true }, forever())), 'permission')
  t.equal(await own(egress.download({ ...covers, url: 'https://api.example.org/', mayBeLocal: true }, forever())), 'permission')
})

t.test('its name is not resolved, so DNS cannot redirect it', async (t) => {
  const { asked, port } = await openService(t, (_request, response) => response.end('fine'))
  const looked: string[] = []
  const local = new Set([
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    `rebound.example.org:${port}`,
    '169.254.169.254:80',
    '100.100.100.200:80',
  ])
  const way = {
    request: http.request as never,
    port,
    permits: () => false,
    resolve: async (host: string) => {
      looked.push(host)
      return ['127.0.0.1']
    },
  }
  const egress = new HttpsEgress(way, local)
  const get = (url: string, rules: EgressRule[]) => egress.fetch({ url }, { ...POLICY, rules }, forever())
  for (const host of ['localhost', '127.0.0.1']) {
    const base = `http://${host}:${port}`
    t.match(await get(`${base}/`, [ruleOf(base, local)]), { body: 'fine' }, host)
  }
  t.same(looked, [], 'no name server was queried')
  t.equal(asked.length, 2)

  const named = `http://rebound.example.org:${port}`
  t.match(ruleOfAddress(named, { privateOrigins: [], local }), { error: String }, 'a name without a port is not an allowed host')
  const forged = { methods: ['GET'], private: true, local: true }
  t.equal(await own(get(named, [{ ...forged, host: 'rebound.example.org', origin: named }])), 'permission')
  t.equal(await own(get('https://api.example.org/', [...POLICY.rules])), 'permission', 'a public name that resolves to this machine')
  for (const host of ['169.254.169.254', '100.100.100.200'])
    t.equal(await own(get(`http://${host}/`, [{ ...forged, host, origin: `http://${host}` }])), 'permission', 'a metadata service')
  t.equal(asked.length, 2)
  t.same(looked, ['api.example.org'])
})
