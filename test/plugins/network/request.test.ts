import t from 'tap'
import type { EgressPolicy } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

t.test('hosts are compared in the normalized form of the request', async (t) => {
  const { way, egress, fetch } = await openTestEgress(t)
  const lookedUp: string[] = []
  const listening = new HttpsEgress({
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
    t.match(way.asked.at(-1)?.host, new RegExp(`^${host.replaceAll('.', '\\.')}(:|$)`), 'the request goes to that host')
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

t.test('IP addresses are refused in every spelling, even when a rule names them', async (t) => {
  const { way, fetch } = await openTestEgress(t)
  const rules = ['127.0.0.1', '[::1]', '*.0.0.1', '169.254.169.254', '8.8.8.8', '0.0.0.0'].map((host) => ({ host, methods: ['GET'] }))
  for (const host of [
    ...['127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.1', '127.0.1', '0', '0.0.0.0', '127.0.0.1.'],
    ...['１２７.０.０.１', '127。0。0。1', '%31%32%37.0.0.1', '①②⑦.0.0.1', '169.254.169.254', '2852039166', '8.8.8.8', '255.255.255.255'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fd00::1]', '[fe80::1]'],
    ...['[ff02::1]', '[::127.0.0.1]', '[2606:4700:4700::1111]', '10.0.0.1', '100.64.0.1', '224.0.0.1'],
  ])
    t.match(await refusal(fetch(`https://${host}/`, { rules })), { own: 'permission', message: /is an IP address, not a name/ }, host)
  t.same(way.asked, [])
})

t.test('redirects are new requests under the same rules, and reveal nothing to other hosts', async (t) => {
  const bodies: string[] = []
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const [, status, to] = /^\/(\d+)\?(.*)$/.exec(request.url ?? '') ?? []
      bodies.push(body)
      if (request.url === '/long') response.writeHead(302, { location: `/${'x'.repeat(5_000)}` }).end()
      else if (request.url === '/loop') response.writeHead(302, { location: '/loop' }).end()
      else if (status === undefined) response.end('arrived')
      else response.writeHead(Number(status), { location: decodeURIComponent(to as string) }).end('x'.repeat(1_000))
    })
  })
  let count = 0
  const go = async (status: number, to: string, more: Record<string, unknown> = {}, policy: Partial<EgressPolicy> = {}) => {
    way.asked.length = 0
    bodies.length = 0
    const url = `https://api.example.org/${status}?${encodeURIComponent(to)}`
    // Each with its own limiter, to avoid waiting for the rate limit.
    count += 1
    return await new HttpsEgress(way).fetch({ url, ...more }, { ...POLICY, ...policy }, forever())
  }
  for (const to of [
    ...['https://127.0.0.1/', 'https://169.254.169.254/latest/meta-data/', 'https://[::1]/', 'https://2130706433/', 'https://evil.com/'],
    ...['http://api.example.org/', 'file:///etc/passwd', 'ftp://api.example.org/', 'data:text/plain,x', 'gopher://api.example.org/'],
    ...['javascript:alert(1)', 'https://user:pass@api.example.org/', 'https://api.example.org:22/', '//evil.com/', '\\\\evil.com\\'],
  ]) {
    t.equal((await refusal(go(302, to))).own, 'permission', to)
    t.equal(way.asked.length, 1)
  }
  for (const to of ['https://', 'http://[']) t.equal((await refusal(go(302, to))).own, 'upstream', to)
  t.match(await refusal(fetch('https://api.example.org/long')), { own: 'upstream', message: /to an invalid URL/ })
  t.match(await refusal(fetch('https://api.example.org/loop')), { own: 'upstream', message: /redirects more than 5 times/ })
  t.equal(way.asked.filter(({ url }) => url === '/loop').length, 6)

  const credential = { host: 'api.example.org', place: 'header', name: 'X-Key', value: 'secret-of-the-server' } as const
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
  t.notMatch(JSON.stringify(way.asked[2]), /secret/, 'a redirect cannot use the credentials')

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
  t.match(await go(304, '/there'), { status: 304, body: '' }, 'a response that is not a redirect is not followed')
  t.ok(count > 20 && (await closed()))
})

t.test('invalid methods, headers and bodies are refused', async (t) => {
  const { way, fetch } = await openTestEgress(t)
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
