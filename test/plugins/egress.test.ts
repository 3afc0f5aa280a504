import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import { type EgressPolicy, type EgressResponse, isPublicAddress, openEgress } from '#plugins/egress.ts'
import { openCallerSlots, openHostTurns } from '#plugins/egress-turns.ts'
import { GuestError } from '#plugins/guest-error.ts'
import { type Loopback, openLoopback } from '#test/support/plugins.ts'

t.setTimeout(120_000)

const POLICY: EgressPolicy = {
  caller: 'org.example.one',
  rules: [
    { host: 'api.example.org', methods: ['GET', 'HEAD', 'POST', 'PUT'] },
    { host: 'other.example.org', methods: ['GET', 'POST'] },
    { host: '*.wide.example.org', methods: ['GET'] },
    { host: 'xn--bcher-kva.example', methods: ['GET'] },
  ],
  userAgent: 'Carrel (plugin org.example.one 1.0.0)',
}
const forever = () => new AbortController().signal

/** What a guest is told, which is never more than it should know. */
async function refusal(work: Promise<unknown>): Promise<{ own: string | null; message: string }> {
  const error = await work.then(
    (value) => new Error(`It was answered: ${JSON.stringify(value ?? null).slice(0, 200)}`),
    (error: unknown) => error,
  )
  if (!(error instanceof GuestError) || error.code !== 'thrown') throw error
  // Where a guest wrote an address itself it may read it again.
  const own = error.message.replace(/^\S+ (is an address and no name|is not https)/, '')
  if (/127\.0\.0|10\.0\.0\.|node:|\.ts\b|[A-Z]{3,}_[A-Z]|ECONN|ESERV|secret/.test(own) || own.length > 1_000)
    throw new Error(`This says too much: ${error.message}`)
  return { own: error.own, message: error.message }
}

async function openHouse(t: Test, answer: RequestListener = (_request, response) => response.end('fine'), change: Partial<Loopback> = {}) {
  const way = { ...(await openLoopback(t, answer)), ...change }
  const egress = openEgress(way)
  const fetch = (given: unknown, policy: Partial<EgressPolicy> = {}, signal: AbortSignal = forever()): Promise<EgressResponse> =>
    egress.fetch(typeof given === 'string' ? { url: given } : given, { ...POLICY, ...policy }, signal)
  /** Closing takes a moment on both sides. */
  const closed = async () => {
    for (let times = 0; way.open() > 0 && times < 100; times++) await sleep(10)
    return way.open() === 0
  }
  return { way, egress, fetch, closed }
}

t.test('hosts are compared as the request will name them, whatever spelling the plugin uses', async (t) => {
  const { way, egress, fetch } = await openHouse(t)
  const lookedUp: string[] = []
  const listening = openEgress({
    ...way,
    resolve: async (host) => {
      lookedUp.push(host)
      return ['127.0.0.1']
    },
  })
  for (const [url, host] of [
    ['https://api.example.org/', 'api.example.org'],
    ['https://API.Example.ORG/', 'api.example.org'],
    ['https://api.example.org:443/', 'api.example.org'],
    ['https:\\\\api.example.org\\@evil.com', 'api.example.org'],
    ['https://api.exam\tple.org\n/', 'api.example.org'],
    ['https://ａｐｉ.example。org/', 'api.example.org'],
    ['https://%61pi.example.org/', 'api.example.org'],
    ['https://api.example.org#@evil.com', 'api.example.org'],
    ['https://a.b.wide.example.org/', 'a.b.wide.example.org'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
  ] as const) {
    lookedUp.length = 0
    await listening.fetch({ url }, POLICY, forever())
    t.same(lookedUp, [host], url)
    t.match(way.asked.at(-1)?.host, new RegExp(`^${host.replaceAll('.', '\\.')}(:|$)`), 'and that is who is asked')
  }
  const asked = way.asked.length
  for (const url of [
    'https://evil.com/',
    'https://api.example.org@evil.com/',
    'https://api.example.org:x@evil.com/',
    'https://user@api.example.org/',
    'https://user:secret@api.example.org/',
    'https://evil.com\\@api.example.org/',
    'https://evil.com#@api.example.org/',
    'https://evil.com/api.example.org',
    'https://evil.com?api.example.org',
    'https://api.example.org.evil.com/',
    'https://evilapi.example.org/',
    'https://sub.api.example.org/',
    'https://example.org/',
    'https://api.example.org./',
    'https://wide.example.org/',
    'https://evilwide.example.org/',
    'https://a.wide.example.org.evil.com/',
    'https://аpi.example.org/',
    'https://bucher.example/',
    'https://api.example.org:22/',
    'https://api.example.org:80/',
    'https://api.example.org:5432/',
    'https://api.example.org:8443/',
    'http://api.example.org/',
    'ftp://api.example.org/',
    'ws://api.example.org/',
    'wss://api.example.org/',
    'http+unix://api.example.org/',
    'unix:/var/run/docker.sock',
    'file:///etc/passwd',
    'file://api.example.org/etc/passwd',
    'data:text/plain,api.example.org',
    'blob:https://api.example.org/1',
    'gopher://api.example.org/',
    'javascript:alert(1)',
    'https://localhost/',
  ])
    t.equal((await refusal(fetch(url))).own, 'permission', url)
  for (const url of [
    '',
    'api.example.org',
    '//api.example.org/',
    '/path',
    'https://',
    'https://api.example.org%2f@evil.com%2f/',
    'https://api.example.org%00.evil.com/',
    'https://api.example.org:99999/',
    'https://[::1',
    'https://[fe80::1%25eth0]/',
    'https://api.exam ple.org/',
    `https://api.example.org/${'x'.repeat(4_000)}`,
    17,
    null,
    {},
    ['https://api.example.org/'],
  ]) {
    const { own } = await refusal(egress.fetch({ url }, POLICY, forever()))
    t.ok(own === 'invalid_argument' || own === 'permission', `${String(url).slice(0, 60)} ${own}`)
  }
  for (const given of [null, undefined, 'https://api.example.org/', 5, []])
    t.equal((await refusal(egress.fetch(given, POLICY, forever()))).own, 'invalid_argument', 'no request')
  t.equal(way.asked.length, asked, 'nobody was asked')
})

t.test('addresses in place of names are refused in every spelling, even where a rule names them', async (t) => {
  const { way, fetch } = await openHouse(t)
  const rules = ['127.0.0.1', '[::1]', '*.0.0.1', '169.254.169.254', '8.8.8.8', '0.0.0.0'].map((host) => ({ host, methods: ['GET'] }))
  for (const host of [
    ...['127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.1', '127.0.1', '0', '0.0.0.0', '127.0.0.1.'],
    ...['１２７.０.０.１', '127。0。0。1', '%31%32%37.0.0.1', '①②⑦.0.0.1', '169.254.169.254', '2852039166', '8.8.8.8', '255.255.255.255'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fd00::1]', '[fe80::1]'],
    ...['[ff02::1]', '[::127.0.0.1]', '[2606:4700:4700::1111]', '10.0.0.1', '100.64.0.1', '224.0.0.1'],
  ])
    t.match(await refusal(fetch(`https://${host}/`, { rules })), { own: 'permission', message: /is an address and no name/ }, host)
  t.same(way.asked, [])
})

t.test('only addresses of the public internet are public', (t) => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])
    t.ok(isPublicAddress(address), address)
  for (const address of [
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.170', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['192.31.196.1', '192.52.193.1', '192.175.48.1'],
    ...[
      '::',
      '::1',
      '::127.0.0.1',
      '::7f00:1',
      '::a00:1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::ffff:0:127.0.0.1',
      '0:0:0:0:0:ffff:a00:1',
    ],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b::8.8.8.8',
      '64:ff9b:1::a00:1',
      '100::1',
      '2001::1',
      '2001:2::1',
      '2001:10::1',
      '2001:20::1',
      '2001:db8::1',
    ],
    ...['2002:7f00:1::', '2002:a00:1::', '3fff::1', '5f00::1', '4000::1', '8000::1', 'fc00::1', 'fd00::1', 'fdff:ffff::1'],
    ...['fe80::1', 'fe80::1%eth0', '2606:4700:4700::1111%eth0', 'febf::1', 'fec0::1', 'ff00::1', 'ff02::1', 'ff0e::1', 'FE80::1'],
    ...[
      '',
      'localhost',
      '2130706433',
      '0x7f000001',
      '127.1',
      '010.0.0.1',
      '1.1.1',
      '1.1.1.1/8',
      '1.1.1.1:80',
      ' 1.1.1.1',
      '1.1.1.1\0',
      '[::1]',
    ],
  ])
    t.notOk(isPublicAddress(address), address)
  t.end()
})

t.test('names that lead into the house, to no place, or are never found', async (t) => {
  const { way, fetch, closed } = await openHouse(t)
  const answering = (addresses: string[]) =>
    openEgress({ ...way, resolve: async () => addresses }).fetch({ url: 'https://api.example.org/' }, POLICY, forever())
  for (const addresses of [['10.0.0.1'], ['::1'], ['127.0.0.1', '10.0.0.1'], ['10.0.0.1', '127.0.0.1'], ['127.0.0.1', 'rubbish'], ['']])
    t.match(await refusal(answering(addresses)), { own: 'permission', message: /not on the public internet/ }, JSON.stringify(addresses))
  for (const addresses of [[], Array.from({ length: 51 }, () => '127.0.0.1')])
    t.match(await refusal(answering(addresses)), { own: 'upstream', message: 'There is no host api.example.org.' })
  const failing = openEgress({ ...way, resolve: () => Promise.reject(new Error('queryA ESERVFAIL 10.0.0.53')) })
  t.match(await refusal(failing.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'upstream' })
  t.same(way.asked, [])

  const never = openEgress({ ...way, resolve: () => new Promise(() => {}) })
  const before = performance.now()
  t.match(await refusal(never.fetch({ url: 'https://api.example.org/', timeoutMs: 100 }, POLICY, forever())), { own: 'timeout' })
  t.ok(performance.now() - before < 1_000)
  const call = new AbortController()
  const waiting = refusal(never.fetch({ url: 'https://api.example.org/' }, POLICY, call.signal))
  call.abort()
  t.match(await waiting, { own: 'closed' })

  let told: AbortSignal | undefined
  const watched = openEgress({
    ...way,
    resolve: async (_host, signal) => {
      told = signal
      return ['127.0.0.1']
    },
  })
  await watched.fetch({ url: 'https://api.example.org/' }, POLICY, forever())
  t.equal(told?.aborted, true, 'whoever still looks is told that it is over')
  await fetch('https://api.example.org/')
  t.ok(await closed())
})

t.test('a name is looked up once for each request, and the address that was looked at is the one that is talked to', async (t) => {
  const { way } = await openHouse(t)
  let times = 0
  const looked: string[] = []
  const rebound = openEgress({
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
  const between = openEgress({ ...redirecting, resolve: async () => (times++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']) })
  t.match(await refusal(between.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'permission' }, 'nor between hops')
  t.equal(redirecting.asked.length, 1)

  const second = openEgress({ ...way, resolve: async () => ['127.0.0.2', '127.0.0.1'], permits: () => true })
  t.match(
    await second.fetch({ url: 'https://api.example.org/' }, POLICY, forever()),
    { status: 200 },
    'one address that is down is not the end',
  )
})

t.test('redirects are new requests, under the same rules, and tell other hosts nothing', async (t) => {
  const bodies: string[] = []
  const { way, fetch, closed } = await openHouse(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const [, status, to] = /^\/(\d+)\?(.*)$/.exec(request.url ?? '') ?? []
      bodies.push(body)
      if (request.url === '/loop') response.writeHead(302, { location: '/loop' }).end()
      else if (status === undefined) response.end('arrived')
      else response.writeHead(Number(status), { location: decodeURIComponent(to as string) }).end('x'.repeat(1_000))
    })
  })
  let count = 0
  const go = async (status: number, to: string, more: Record<string, unknown> = {}, policy: Partial<EgressPolicy> = {}) => {
    way.asked.length = 0
    bodies.length = 0
    const url = `https://api.example.org/${status}?${encodeURIComponent(to)}`
    // Each in a house of its own, for they would have to wait for their turns.
    count += 1
    return await openEgress(way).fetch({ url, ...more }, { ...POLICY, ...policy }, forever())
  }
  for (const to of [
    ...['https://127.0.0.1/', 'https://169.254.169.254/latest/meta-data/', 'https://[::1]/', 'https://2130706433/', 'https://evil.com/'],
    ...['http://api.example.org/', 'file:///etc/passwd', 'ftp://api.example.org/', 'data:text/plain,x', 'gopher://api.example.org/'],
    ...['javascript:alert(1)', 'https://user:pass@api.example.org/', 'https://api.example.org:22/', '//evil.com/', '\\\\evil.com\\'],
  ]) {
    t.equal((await refusal(go(302, to))).own, 'permission', to)
    t.equal(way.asked.length, 1)
  }
  for (const to of ['https://', 'http://[', `/${'x'.repeat(5_000)}`]) t.equal((await refusal(go(302, to))).own, 'upstream', to.slice(0, 50))
  t.match(await refusal(fetch('https://api.example.org/loop')), { own: 'upstream', message: /redirects more than 5 times/ })
  t.equal(way.asked.filter(({ url }) => url === '/loop').length, 6)

  const credential = { host: 'api.example.org', header: 'X-Key', value: 'secret-of-the-server' }
  const mine = { headers: { Authorization: 'secret-of-the-plugin', 'X-Token': 'secret-too', Accept: 'application/json' } }
  t.match(await go(301, '/there', mine, { credential }), { status: 200, url: 'https://api.example.org/there', body: 'arrived' })
  t.match(way.asked[1]?.headers, { authorization: 'secret-of-the-plugin', 'x-token': 'secret-too', 'x-key': 'secret-of-the-server' })
  t.match(await go(302, 'https://other.example.org/there', mine, { credential }), { url: 'https://other.example.org/there' })
  t.match(way.asked[0]?.headers, { 'x-key': 'secret-of-the-server' })
  t.match(way.asked[1]?.headers, { accept: 'application/json' })
  t.notMatch(JSON.stringify(way.asked[1]), /secret/)
  const back = `https://other.example.org/302?${encodeURIComponent('https://api.example.org/account/delete')}`
  await go(302, back, mine, { credential })
  t.equal(way.asked.length, 3)
  t.notMatch(JSON.stringify(way.asked[2]), /secret/, 'a stranger does not choose what credentials are used for')

  const form = { method: 'POST', body: 'the form', headers: { 'content-type': 'text/plain' } }
  for (const status of [301, 302, 303]) {
    await go(status, '/there', form)
    t.match([way.asked[1]?.method, ...bodies], ['GET', 'the form', ''])
    t.notOk(way.asked[1]?.headers['content-type'])
  }
  await go(303, '/there', { ...form, method: 'PUT' })
  t.equal(way.asked[1]?.method, 'GET')
  for (const [status, method] of [
    [307, 'POST'],
    [308, 'POST'],
    [302, 'PUT'],
  ] as const) {
    await go(status, '/there', { ...form, method })
    t.same([way.asked[1]?.method, ...bodies], [method, 'the form', 'the form'])
    t.equal((await refusal(go(status, 'https://other.example.org/', { ...form, method }))).own, 'permission', `${status} to another host`)
    t.equal(way.asked.length, 1)
  }
  await go(302, '/there', { method: 'HEAD' })
  t.equal(way.asked[1]?.method, 'HEAD')
  t.match(await go(304, '/there'), { status: 304, body: '' }, 'what is none is not followed')
  t.ok(count > 20 && (await closed()))
})

t.test('methods, headers and bodies that a plugin may not choose', async (t) => {
  const { way, fetch } = await openHouse(t)
  const url = 'https://api.example.org/'
  for (const method of ['CONNECT', 'TRACE', 'trace', 'OPTIONS', 'GET\r\nX: y', 'GET /', '', 'G ET', 7, null, 'x'.repeat(1_000)])
    t.equal(
      (await refusal(fetch({ url, method }, { rules: [{ host: 'api.example.org', methods: ['CONNECT', 'TRACE', ''] }] }))).own,
      'invalid_argument',
      String(method).slice(0, 20),
    )
  t.equal((await refusal(fetch({ url, method: 'DELETE' }))).own, 'permission', 'a method that was not granted')
  const both = [
    { host: 'api.example.org', methods: ['GET'] },
    { host: '*.example.org', methods: ['POST'] },
  ]
  t.match(await fetch({ url, method: 'post', body: 'é' }, { rules: both }), { status: 200 }, 'granted by another rule')
  t.match(way.asked[0], { method: 'POST', headers: { 'content-length': '2' } })
  for (const name of [
    ...['Host', 'host', 'HOST', 'Connection', 'Keep-Alive', 'Transfer-Encoding', 'transfer-encoding', 'Content-Length', 'TE', 'Trailer'],
    ...[
      'Upgrade',
      'Expect',
      'Cookie',
      'Cookie2',
      'User-Agent',
      'Accept-Encoding',
      'Proxy-Authorization',
      'proxy-connection',
      'Sec-Fetch-Site',
    ],
    ...[
      'Via',
      'Forwarded',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Real-IP',
      'X-HTTP-Method-Override',
      'X-Method-Override',
      'HTTP2-Settings',
    ],
    ...['', ' ', 'a b', 'a:', 'a\r\nb', 'a\0', 'é', 'x'.repeat(65), ':authority', 'Host ', ' host', 'ho\tst'],
  ])
    t.equal((await refusal(fetch({ url, headers: { [name]: 'x' } }))).own, 'invalid_argument', JSON.stringify(name.slice(0, 30)))
  for (const value of ['a\r\nX: y', 'a\nb', 'a\rb', 'a\0b', '\u0100', '😀', '\x7f', 'x'.repeat(8_193), 7, null, {}, ['x']])
    t.equal((await refusal(fetch({ url, headers: { accept: value } }))).own, 'invalid_argument', JSON.stringify(value).slice(0, 30))
  for (const headers of [null, 'accept: x', 7, ['x'], Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, 'x']))])
    t.equal((await refusal(fetch({ url, headers }))).own, 'invalid_argument')
  for (const body of [7, {}, ['x'], true, 'x'.repeat(1024 * 1024 + 1), 'é'.repeat(600_000)])
    t.equal((await refusal(fetch({ url, method: 'POST', body }))).own, 'invalid_argument')
  for (const method of ['GET', 'HEAD']) t.equal((await refusal(fetch({ url, method, body: 'x' }))).own, 'invalid_argument')
  for (const timeoutMs of [0, -1, '5', {}, true]) t.equal((await refusal(fetch({ url, timeoutMs }))).own, 'invalid_argument')
  t.equal(way.asked.length, 1)

  const headers = JSON.parse('{"Accept":"text/plain","X-É":"x"}')
  await refusal(fetch({ url, headers }))
  await fetch({ url: `${url}a%0d%0ab?q=\r\nx y#part`, headers: JSON.parse('{"Accept":"text/plain","accept":"text/html","__proto__":"x"}') })
  t.match(way.asked[1], {
    url: '/a%0d%0ab?q=x%20y',
    headers: { accept: 'text/html', 'user-agent': POLICY.userAgent, 'accept-encoding': 'gzip, br', connection: 'close' },
  })
})

t.test('credentials go to their host, whatever the plugin sets, and to no other', async (t) => {
  const { way, fetch } = await openHouse(t, (request, response) => response.setHeader('set-cookie', 'a=b').end(request.url))
  const credential = { host: 'api.example.org', header: 'Authorization', value: 'Bearer secret' }
  t.same(
    (await fetch({ url: 'https://API.example.org/a', headers: { authorization: 'mine' } }, { credential })).headers
      .map(([name]) => name)
      .includes('set-cookie'),
    false,
  )
  t.equal(way.asked[0]?.headers.authorization, 'Bearer secret')
  for (const url of [
    'https://other.example.org/',
    'https://other.example.org/https://api.example.org/',
    'https://api.example.org.wide.example.org/',
  ]) {
    await fetch(url, { credential })
    t.notMatch(JSON.stringify(way.asked.at(-1)), /secret/, url)
  }
  t.notMatch(JSON.stringify(await fetch('https://api.example.org/', { credential })), /secret/)
  await fetch('https://api.example.org/')
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret|a=b/, 'nothing is remembered from one request to the next')
})

t.test('answers that are larger than they look, or never end', async (t) => {
  const zeros = Buffer.alloc(100 * 1024 * 1024)
  const bombs: Record<string, Buffer> = {
    gzip: zlib.gzipSync(zeros, { level: 9 }),
    br: zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  }
  const emptyMembers = Buffer.concat(Array.from({ length: 5_000 }, () => zlib.gzipSync('')))
  const { fetch, closed } = await openHouse(t, (request, response) => {
    const kind = (request.url ?? '').slice(1)
    const flood = (chunk: Buffer | string) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    }
    if (Object.hasOwn(bombs, kind)) response.setHeader('content-encoding', kind).end(bombs[kind])
    else if (kind === 'nested') response.setHeader('content-encoding', 'gzip, gzip').end(zlib.gzipSync(bombs['gzip'] as Buffer))
    else if (kind === 'twice') response.writeHead(200, ['content-encoding', 'gzip', 'content-encoding', 'br']).end(bombs['gzip'])
    else if (kind === 'zstd' || kind === 'deflate' || kind === '__proto__') response.setHeader('content-encoding', kind).end('x')
    else if (kind === 'rubbish') response.setHeader('content-encoding', 'gzip').end('no gzip at all')
    else if (kind === 'cut') response.setHeader('content-encoding', 'br').end(zlib.brotliCompressSync('x'.repeat(10_000)).subarray(0, 8))
    else if (kind === 'endless') flood(Buffer.alloc(64 * 1024, 'x'))
    else if (kind === 'nothing') flood(response.setHeader('content-encoding', 'gzip') && emptyMembers)
    else if (kind === 'drip') setInterval(() => response.write('x'), 20).unref()
    else if (kind === 'silent') return
    else if (kind === 'headers') response.socket?.end(`HTTP/1.1 200 OK\r\n${'x-x: y\r\n'.repeat(100_000)}\r\n`)
    else if (kind === 'header') response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)
    else if (kind === 'no-http') response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n')
    else if (kind === 'both') response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')
    else if (kind === 'hang-up') response.socket?.destroy()
    else if (kind === 'short') response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc')
    else if (kind === 'upgrade') response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    else if (kind === 'hints') {
      const hint = setInterval(() => response.socket?.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'), 5)
      response.socket?.on('close', () => clearInterval(hint))
    } else if (kind === 'fits') response.end('x'.repeat(5 * 1024 * 1024))
    else if (kind === 'packed') response.setHeader('content-encoding', 'BR').end(zlib.brotliCompressSync('packed'))
    else if (kind === 'members')
      response.setHeader('content-encoding', 'x-gzip').end(Buffer.concat([zlib.gzipSync('a'), zlib.gzipSync('b')]))
    else if (kind === 'empty') response.writeHead(204, { 'content-encoding': 'gzip' }).end()
    else response.setHeader('content-encoding', 'gzip').end(request.method === 'HEAD' ? undefined : zlib.gzipSync('x'))
  })
  // Each host has its own rate.
  let hosts = 0
  const get = (kind: string, more: Record<string, unknown> = {}) => {
    hosts += 1
    const host = `api${hosts}.example.org`
    return fetch({ url: `https://${host}/${kind}`, ...more }, { rules: [{ host, methods: ['GET', 'HEAD'] }] })
  }
  const before = process.memoryUsage().rss
  for (const [kind, own] of [
    ['gzip', 'too_large'],
    ['br', 'too_large'],
    ['endless', 'too_large'],
    ['nothing', 'too_large'],
    ...[
      'nested',
      'twice',
      'zstd',
      'deflate',
      '__proto__',
      'rubbish',
      'cut',
      'headers',
      'header',
      'no-http',
      'both',
      'hang-up',
      'short',
      'upgrade',
    ].map((kind) => [kind, 'upstream'] as const),
  ] as const) {
    const { own: found, message } = await refusal(get(kind, { timeoutMs: 10_000 }))
    t.equal(found, own, `${kind}: ${message}`)
  }
  t.ok(process.memoryUsage().rss - before < 150 * 1024 * 1024, 'and no memory')
  for (const kind of ['drip', 'silent', 'hints']) {
    const at = performance.now()
    t.equal((await refusal(get(kind, { timeoutMs: 300 }))).own, 'timeout', kind)
    t.ok(performance.now() - at < 2_000)
  }
  t.equal((await get('fits')).body.length, 5 * 1024 * 1024)
  t.equal((await get('packed')).body, 'packed')
  t.equal((await get('members')).body, 'ab')
  t.match(await get('empty'), { status: 204, body: '' })
  t.match(await get('', { method: 'HEAD' }), { status: 200, body: '' })
  t.ok(await closed(), 'no connection is left')
})

t.test('when the call ends, so does everything that it has asked for', async (t) => {
  const { way, fetch, closed } = await openHouse(t, (request, response) => {
    if (request.url === '/drip') response.write('x')
    else if (request.url === '/later') response.writeHead(429, { 'retry-after': '5' }).end()
  })
  const call = new AbortController()
  const rules = ['a', 'b', 'c'].map((name) => ({ host: `${name}.example.org`, methods: ['GET'] }))
  const asked = ['a', 'b', 'c'].flatMap((name) =>
    ['drip', 'silent', 'later', 'drip'].map((path) => refusal(fetch(`https://${name}.example.org/${path}`, { rules }, call.signal))),
  )
  for (let times = 0; way.asked.length < 6 && times < 200; times++) await sleep(5)
  t.equal(way.asked.length, 6, 'as many as one plugin may have under way')
  call.abort()
  for (const one of await Promise.all(asked)) t.equal(one.own, 'closed')
  t.ok(await closed())
  const before = way.asked.length
  t.match(await refusal(fetch('https://a.example.org/', { rules }, call.signal)), { own: 'closed' }, 'nor does anything begin')
  t.equal(way.asked.length, before)
  const listeners = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  t.ok(listeners < 10, 'no timers are left')
})

t.test('a service that asks to come again later is asked once again, where there is time', async (t) => {
  const { way, fetch, closed } = await openHouse(t, (request, response) => {
    const [, path, status, after] = /^\/(\w+)\/(\d+)\/(.*)$/.exec(request.url ?? '') ?? []
    const times = way.asked.filter(({ url }) => url === request.url).length
    if (path === 'once' && times > 1) response.end('now')
    else {
      if (after !== '')
        response.setHeader(
          'retry-after',
          after === 'date' ? new Date(Date.now() + 1_500).toUTCString() : decodeURIComponent(after as string),
        )
      response.writeHead(Number(status)).end('busy')
    }
  })
  const get = async (path: string, more: Record<string, unknown> = {}) => {
    way.asked.length = 0
    const at = performance.now()
    const { status, body } = await openEgress(way).fetch({ url: `https://api.example.org/${path}`, ...more }, POLICY, forever())
    return { status, body, times: way.asked.length, waited: performance.now() - at }
  }
  const once = await get('once/429/1')
  t.match(once, { status: 200, body: 'now', times: 2 })
  t.ok(once.waited >= 990)
  t.match(await get('once/503/0', { method: 'POST', body: 'x' }), { status: 200, times: 2 })
  t.match(await get('once/429/date'), { status: 200, times: 2 })
  t.match(await get('always/429/0'), { status: 429, body: 'busy', times: 2 }, 'once')
  for (const path of [
    'always/429/',
    'always/429/60',
    'always/429/soon',
    'always/429/-1x',
    'always/429/99999999999',
    'always/500/1',
    'always/200/1',
  ])
    t.match(await get(path), { times: 1 }, path)
  t.match(await get('once/429/1', { timeoutMs: 1_200 }), { status: 429, times: 1 }, 'it would be too late')
  await fetch('https://api.example.org/once/429/0')
  t.ok(await closed())
})

t.test('the rate of a host is one for all, however its name is spelled, and shared evenly', async (t) => {
  const { way, fetch, closed } = await openHouse(t)
  const done: string[] = []
  const ask = async (url: string, caller: string, timeoutMs = 15_000) => {
    await fetch({ url, timeoutMs }, { caller })
    done.push(caller)
  }
  await Promise.all(
    ['api.example.org', 'API.example.org', 'api.example.org:443'].flatMap((host) => [1, 2, 3].map(() => ask(`https://${host}/`, host))),
  )
  await ask('https://api.example.org/', 'ten')
  t.equal(way.asked.length, 10, 'so many at once')
  t.match(await refusal(fetch({ url: 'https://API.EXAMPLE.org/', timeoutMs: 50 })), { own: 'rate_limited' }, 'it could not come in time')
  t.equal(way.asked.length, 10)

  done.length = 0
  const at = performance.now()
  const greedy = Array.from({ length: 12 }, () => ask('https://api.example.org/', 'greedy'))
  await sleep(20)
  const modest = Promise.all([ask('https://api.example.org/', 'modest'), ask('https://api.example.org/', 'modest')])
  await modest
  t.ok(done.filter((caller) => caller === 'greedy').length <= 4, `who asks much does not go first: ${done}`)
  await Promise.all(greedy)
  t.ok(performance.now() - at > (14 / 5) * 1_000 - 400, 'five a second')

  const wide = openEgress(way)
  const names = Array.from({ length: 12 }, (_, n) =>
    wide.fetch({ url: `https://n${n}.wide.example.org/`, timeoutMs: 300 }, { ...POLICY, caller: `c${n}` }, forever()),
  )
  const results = await Promise.allSettled(names)
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 11, 'many names below one are one')
  t.ok(await closed())
})

t.test('lines for turns and slots: bounded, in order, left when the request ends', async (t) => {
  const turns = openHostTurns()
  const take = (caller: string, deadlineMs: number, signal = forever(), host = 'h') =>
    turns.take({ host, caller, deadline: performance.now() + deadlineMs, signal })
  for (let n = 0; n < 10; n++) await take('a', 0)
  const order: string[] = []
  const leaving = new AbortController()
  const left = refusal(take('a', 5_000, leaving.signal))
  const lines = ['a1', 'a2', 'b1', 'a3', 'b2'].map(async (name) => {
    await take(name.slice(0, 1), 5_000)
    order.push(name)
  })
  leaving.abort()
  t.match(await left, { own: 'rate_limited' })
  t.match(await refusal(take('a', 500)), { own: 'rate_limited' }, 'three wait before it')
  await Promise.all(lines)
  t.same(order, ['a1', 'b1', 'a2', 'b2', 'a3'], 'turn and turn about, and nobody waits behind one who left')
  await t.rejects(take('a', 5_000, AbortSignal.abort()))
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `many${n}`)
  await sleep(2_100)
  for (let n = 0; n < 10; n++) await take('a', 0)
  for (let n = 0; n < 1_500; n++) await take('a', 0, forever(), `others${n}`)
  t.match(await refusal(take('a', 0)), { own: 'rate_limited' }, 'others in numbers do not make a host forget')

  const slots = openCallerSlots()
  const inside = await Promise.all(Array.from({ length: 6 }, () => slots.enter('a', forever())))
  const gone = new AbortController()
  const first = refusal(slots.enter('a', gone.signal))
  const entered: number[] = []
  const waiting = Array.from({ length: 63 }, async (_, n) => {
    const leave = await slots.enter('a', forever())
    entered.push(n)
    leave()
  })
  t.match(await refusal(slots.enter('a', forever())), { own: 'rate_limited' }, 'so many wait and no more')
  ;(await slots.enter('b', forever()))()
  gone.abort()
  t.match(await first, { own: 'rate_limited' })
  t.same(entered, [])
  inside[0]?.()
  await Promise.all(waiting)
  t.same(
    entered,
    Array.from({ length: 63 }, (_, n) => n),
  )
  for (const leave of inside.slice(1)) leave()
  const again = await Promise.all(Array.from({ length: 6 }, () => slots.enter('a', forever())))
  t.equal(again.length, 6, 'none was lost')
})
