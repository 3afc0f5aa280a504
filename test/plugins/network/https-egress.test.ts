import { execFile, execFileSync } from 'node:child_process'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import type { EgressNetwork } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(120_000)

t.test('names that resolve to private addresses, to nothing, or never, are refused', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t)
  const answering = (addresses: string[]) =>
    new HttpsEgress({ ...way, resolve: async () => addresses }).fetch({ url: 'https://api.example.org/' }, POLICY, forever())
  for (const addresses of [['10.0.0.1'], ['::1'], ['127.0.0.1', '10.0.0.1'], ['10.0.0.1', '127.0.0.1'], ['127.0.0.1', 'rubbish'], ['']])
    t.match(await refusal(answering(addresses)), { own: 'permission', message: /not on the public internet/ }, JSON.stringify(addresses))
  for (const addresses of [[], Array.from({ length: 51 }, () => '127.0.0.1')])
    t.match(await refusal(answering(addresses)), { own: 'upstream', message: 'The host api.example.org was not found.' })
  const failing = new HttpsEgress({ ...way, resolve: () => Promise.reject(new Error('queryA ESERVFAIL 10.0.0.53')) })
  t.match(await refusal(failing.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'upstream' })
  t.same(way.asked, [])

  const never = new HttpsEgress({ ...way, resolve: () => new Promise(() => {}) })
  const before = performance.now()
  t.match(await refusal(never.fetch({ url: 'https://api.example.org/', timeoutMs: 100 }, POLICY, forever())), { own: 'timeout' })
  t.ok(performance.now() - before < 20_000)
  const call = new AbortController()
  const waiting = refusal(never.fetch({ url: 'https://api.example.org/' }, POLICY, call.signal))
  call.abort()
  t.match(await waiting, { own: 'closed' })

  let told: AbortSignal | undefined
  const watched = new HttpsEgress({
    ...way,
    resolve: async (_host, signal) => {
      told = signal
      return ['127.0.0.1']
    },
  })
  await watched.fetch({ url: 'https://api.example.org/' }, POLICY, forever())
  t.equal(told?.aborted, true, 'the pending lookup is aborted')
  await fetch('https://api.example.org/')
  t.ok(await closed())
})

t.test('a name is resolved once for each request, and the checked address is the one that is used', async (t) => {
  const { way } = await openTestEgress(t)
  let times = 0
  const looked: string[] = []
  const rebound = new HttpsEgress({
    ...way,
    resolve: async () => (times++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']),
    permits: (address) => {
      looked.push(address)
      return address === '127.0.0.1'
    },
  })
  t.match(await rebound.fetch({ url: 'https://api.example.org/' }, POLICY, forever()), { status: 200, body: 'fine' })
  t.equal(times, 1)
  t.same(looked, ['127.0.0.1'])
  t.match(await refusal(rebound.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'permission' })
  t.equal(way.asked.length, 1)

  const redirecting = await openLoopback(t, (_request, response) => response.writeHead(302, { location: '/again' }).end())
  times = 0
  const between = new HttpsEgress({ ...redirecting, resolve: async () => (times++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']) })
  t.match(await refusal(between.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'permission' }, 'nor between hops')
  t.equal(redirecting.asked.length, 1)

  const second = new HttpsEgress({ ...way, resolve: async () => ['127.0.0.2', '127.0.0.1'], permits: () => true })
  t.match(await second.fetch({ url: 'https://api.example.org/' }, POLICY, forever()), { status: 200 }, 'the next address is tried')
})

t.test('certificates must match the requested name and have a trusted signature', async (t) => {
  let pem: string
  try {
    pem = execFileSync(
      'openssl',
      [
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -keyout - -out -'.split(' '),
        '-addext',
        'subjectAltName=DNS:api.example.org',
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    )
  } catch {
    t.pass('skipped: this machine has no openssl to create a certificate')
    return
  }
  const names: (string | false | null)[] = []
  const server = https.createServer({ key: pem, cert: pem }, (request, response) => response.end(request.headers.host))
  server.on('secureConnection', ({ servername }) => names.push(servername))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const way = {
    resolve: async () => ['127.0.0.1'],
    permits: () => true,
    port: (server.address() as AddressInfo).port,
    request: https.request,
  }
  const trusting = {
    ...way,
    request: ((options: https.RequestOptions, done: never) => https.request({ ...options, ca: pem }, done)) as EgressNetwork['request'],
  }
  const get = (through: EgressNetwork, url: string) => new HttpsEgress(through).fetch({ url }, POLICY, forever())
  t.match(await get(trusting, 'https://api.example.org/'), { status: 200, body: `api.example.org:${way.port}` })
  t.same(names, ['api.example.org'])
  t.match(await refusal(get(trusting, 'https://other.example.org/')), { own: 'upstream' }, 'for another name')
  t.match(await refusal(get(way, 'https://api.example.org/')), { own: 'upstream' }, 'signed by nobody')
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.teardown(() => {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  })
  t.match(await refusal(get(way, 'https://api.example.org/')), { own: 'upstream' }, 'regardless of the environment')
})

t.test('when the call ends, its requests are aborted', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    if (request.url === '/drip') response.write('x')
    else if (request.url === '/later') response.writeHead(429, { 'retry-after': '5' }).end()
  })
  const call = new AbortController()
  const rules = ['a', 'b', 'c'].map((name) => ({ host: `${name}.example.org`, methods: ['GET'] }))
  const asked = ['a', 'b', 'c'].flatMap((name) =>
    ['drip', 'silent', 'later', 'drip'].map((path) => refusal(fetch(`https://${name}.example.org/${path}`, { rules }, call.signal))),
  )
  for (let times = 0; way.asked.length < 6 && times < 200; times++) await sleep(5)
  t.equal(way.asked.length, 6, 'the maximum of one plugin in flight')
  call.abort()
  for (const one of await Promise.all(asked)) t.equal(one.own, 'closed')
  t.ok(await closed())
  const before = way.asked.length
  t.match(await refusal(fetch('https://a.example.org/', { rules }, call.signal)), { own: 'closed' }, 'no request starts')
  t.equal(way.asked.length, before)
  const listeners = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  t.ok(listeners < 10, 'no timers are left')
})

t.test('proxies in the environment are ignored', async (t) => {
  const proxied: string[] = []
  const proxy = net.createServer((socket) => {
    const hear = (data: Buffer) => {
      proxied.push(data.toString('latin1'))
      socket.destroy()
    }
    socket.on('data', hear).on('error', () => {})
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  const { way, closed } = await openTestEgress(t)
  const address = `http://user:proxy-secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`
  // A separate process, because the environment is read at its start; the plain request shows that it would use the proxy.
  const program = `
    import http from 'node:http'
    import https from 'node:https'
    import { HttpsEgress } from '#plugins/network/https-egress.ts'
    const POLICY = ${JSON.stringify(POLICY)}
    const way = (request) => ({ resolve: async () => ['127.0.0.1'], permits: () => true, request, port: ${way.port} })
    const get = (request) => new HttpsEgress(way(request)).fetch({ url: 'https://api.example.org/', timeoutMs: 3000 }, POLICY, new AbortController().signal)
    const { body } = await get(http.request)
    const own = await get(https.request).catch((error) => error.own)
    // The proxy hangs up when it has the request.
    const believed = await new Promise((resolve) => http.get('http://api.example.org/', () => resolve({})).on('error', resolve))
    console.log(JSON.stringify([body, own, believed.code]))
  `
  const names = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()])
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...Object.fromEntries(names.map((name) => [name, address])), NODE_USE_ENV_PROXY: '1' },
    timeout: 60_000,
  })
  t.same(JSON.parse(stdout), ['fine', 'upstream', 'ECONNRESET'])
  t.match(way.asked, [{ url: '/', headers: { 'user-agent': POLICY.userAgent } }])
  t.notMatch(JSON.stringify(way.asked), /proxy/i)
  t.equal(proxied.length, 1, 'other requests use the proxy')
  t.match(proxied[0], /^GET http:\/\/api\.example\.org\//)
  t.notMatch(proxied.join(), /plugin/)
  t.ok(await closed())
})
