import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import t from 'tap'
import { type EgressWay, isPublicAddress, openEgress, resolveName } from '#plugins/egress.ts'
import { forever, openWayOut, POLICY, refusal } from '#test/support/egress.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(120_000)

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
    t.notOk(isPublicAddress(address), JSON.stringify(address))
  t.end()
})

t.test('names that lead into the house, to no place, or are never found', async (t) => {
  const { way, fetch, closed } = await openWayOut(t)
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
  const { way } = await openWayOut(t)
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

t.test('name servers: all addresses of both kinds, and no waiting for those that are silent', async (t) => {
  const server = createSocket('udp4')
  const queries: string[] = []
  server.on('message', (query, { port }) => {
    const labels: string[] = []
    let at = 12
    for (; query[at] !== 0; at += 1 + (query[at] as number)) labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] as number)))
    const name = labels.join('.')
    const type = query.readUInt16BE(at + 1)
    queries.push(name)
    if (name.startsWith('silent')) return
    const found: Buffer[] = name.startsWith('nobody')
      ? []
      : type === 1
        ? [Buffer.from([10, 0, 0, 1]), Buffer.from([1, 1, 1, 1])]
        : [Buffer.from([...[0xfd, 0], ...Array.from({ length: 13 }, () => 0), 1])]
    const records = found.map((data) => {
      const record = Buffer.alloc(12)
      record.writeUInt16BE(0xc00c, 0)
      record.writeUInt16BE(type, 2)
      record.writeUInt16BE(1, 4)
      record.writeUInt16BE(data.length, 10)
      return Buffer.concat([record, data])
    })
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(found.length > 0 ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(found.length, 6)
    head.writeUInt32BE(0, 8)
    server.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), port, '127.0.0.1')
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const servers = [`127.0.0.1:${server.address().port}`]
  t.same(await resolveName('api.example.org', forever(), servers), ['10.0.0.1', '1.1.1.1', 'fd00::1'])
  t.same(await resolveName('nobody.example.org', forever(), servers), [])
  t.same([...new Set(queries)], ['api.example.org', 'nobody.example.org'], 'names are asked for as they are')
  const call = new AbortController()
  const at = performance.now()
  setTimeout(() => call.abort(), 50)
  t.same(await resolveName('silent.example.org', call.signal, servers), [])
  t.ok(performance.now() - at < 1_000)
  await resolveName('silent.example.org', forever(), servers)
  t.ok(performance.now() - at < 12_000, 'nor for ever where nobody says when to stop')
  const { way } = await openWayOut(t)
  const egress = openEgress({ ...way, permits: isPublicAddress, resolve: (host, signal) => resolveName(host, signal, servers) })
  t.match(await refusal(egress.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'permission' }, 'mixed')
})

t.test('certificates are for the name that was asked for, and signed by somebody', async (t) => {
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
    t.pass('skipped: openssl is not here to make a certificate')
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
    request: ((options: https.RequestOptions, done: never) => https.request({ ...options, ca: pem }, done)) as EgressWay['request'],
  }
  const get = (through: EgressWay, url: string) => openEgress(through).fetch({ url }, POLICY, forever())
  t.match(await get(trusting, 'https://api.example.org/'), { status: 200, body: `api.example.org:${way.port}` })
  t.same(names, ['api.example.org'])
  t.match(await refusal(get(trusting, 'https://other.example.org/')), { own: 'upstream' }, 'for another name')
  t.match(await refusal(get(way, 'https://api.example.org/')), { own: 'upstream' }, 'signed by nobody')
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.teardown(() => {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  })
  t.match(await refusal(get(way, 'https://api.example.org/')), { own: 'upstream' }, 'whatever the environment says')
})

t.test('answers that are larger than they look, or never end', async (t) => {
  const zeros = Buffer.alloc(100 * 1024 * 1024)
  const bombs: Record<string, Buffer> = {
    gzip: zlib.gzipSync(zeros, { level: 9 }),
    br: zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  }
  const emptyMembers = Buffer.concat(Array.from({ length: 5_000 }, () => zlib.gzipSync('')))
  const { fetch, closed } = await openWayOut(t, (request, response) => {
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
  const { way, fetch, closed } = await openWayOut(t, (request, response) => {
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
  const { way, fetch, closed } = await openWayOut(t, (request, response) => {
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
