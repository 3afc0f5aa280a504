import os from 'node:os'
import t from 'tap'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { checkAddress, type EgressRule } from '#plugins/network/request.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import { covers } from '#plugins/packages/permissions.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(60_000)

t.test('a wildcard covers subdomains, but not the domain itself', (t) => {
  t.ok(covers('a.example.org', 'a.example.org'))
  t.ok(covers('*.example.org', 'a.b.example.org'))
  for (const host of ['example.org', 'xexample.org', 'example.org.evil.com', 'b.a.example.org.', ''])
    t.notOk(covers('*.example.org', host), host)
  t.notOk(covers('a.example.org', 'b.a.example.org'))
  t.end()
})

t.test('a configured URL makes a rule, or returns its error', (t) => {
  const of = (address: unknown, isPrivate: boolean) =>
    ruleOfAddress(address, { privateOrigins: isPrivate && URL.canParse(String(address)) ? [new URL(String(address)).origin] : [] })
  t.same(of('https://API.example.org/base?x#y', false), {
    rule: { host: 'api.example.org', methods: ['GET', 'POST'], origin: 'https://api.example.org' },
  })
  t.match(of('https://api.example.org:443/', false), { rule: { origin: 'https://api.example.org' } })
  for (const [address, rule] of [
    ['http://nas.lan:8080/books', { host: 'nas.lan', origin: 'http://nas.lan:8080' }],
    ['https://nas.lan', { host: 'nas.lan', origin: 'https://nas.lan' }],
    ['http://kavita:5000', { host: 'kavita', origin: 'http://kavita:5000' }],
    ['http://192.168.1.10:5000', { host: '192.168.1.10', origin: 'http://192.168.1.10:5000' }],
    ['http://0xc0a8010a/', { host: '192.168.1.10', origin: 'http://192.168.1.10' }],
    ['http://[fd00::10]:80/', { host: 'fd00::10', origin: 'http://[fd00::10]' }],
    ['https://api.example.org:8443', { host: 'api.example.org', origin: 'https://api.example.org:8443' }],
  ] as const) {
    t.same(of(address, true), { rule: { ...rule, methods: ['GET', 'POST'], private: true } }, address)
    const isPublic = address === 'https://nas.lan'
    t.match(of(address, false), isPublic ? { rule: { host: 'nas.lan' } } : { error: /only for a host that is granted/ }, address)
  }
  for (const isPrivate of [false, true])
    for (const address of [
      ...[undefined, null, 7, {}, '', 'nas.lan', 'nas.lan:8080', '//nas.lan', 'ftp://nas.lan', 'file:///etc/passwd', 'javascript:alert(1)'],
      ...['https://user:pass@nas.lan/', 'https://user@nas.lan/', 'http+unix://x/', `https://nas.lan/${'x'.repeat(4_000)}`],
      ...[
        'http://localhost:8080',
        'http://LOCALHOST',
        'http://a.localhost/',
        'http://localhost./',
        'http://127.0.0.1:5432',
        'http://127.1/',
      ],
      ...['http://2130706433/', 'http://0/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://169.254.169.254/', 'http://[fe80::1]/'],
      ...['http://100.100.100.200/', 'http://168.63.129.16/', 'http://[fd00:ec2::254]/', 'http://224.0.0.1/', 'http://255.255.255.255/'],
    ])
      t.match(of(address, isPrivate), { error: /^.{20,300}$/ }, String(address).slice(0, 60))
  t.end()
})

t.test('a configured URL names its one host as a person reads it', (t) => {
  const of = (address: string) => ruleOfAddress(address, { privateOrigins: [] })
  for (const address of ['https://api.example.org', 'https://API.EXAMPLE.org:443/a/b?c=https://x#d', 'HTTPS://api.example.org:0443'])
    t.match(of(address), { rule: { host: 'api.example.org', origin: 'https://api.example.org' } }, address)
  t.match(of('https://xn--bcher-kva.example'), { rule: { host: 'xn--bcher-kva.example' } })
  const long = Array.from({ length: 5 }, () => 'a'.repeat(60)).join('.')
  for (const [address, error] of [
    ...['https://*.com', 'https://*.example.org', 'https://%2a.co.uk', 'https://api.*.org', 'https://*'].map((one) => [
      one,
      /is not one host/,
    ]),
    ...[
      'https://api.example.org.',
      'https://api..example.org',
      'https://.example.org',
      'https://-a.example.org',
      'https://a-.example.org',
    ].map((one) => [one, /is not the name of a host/]),
    ...[`https://${'a'.repeat(64)}.org`, `https://${long}`, 'https://a!b.example.org'].map((one) => [one, /is not the name of a host/]),
    ...[
      'https://b\u00fccher.example',
      'https://\u0430pple.com',
      'https://\uff45vil.com',
      'https://evil\u3002com',
      'https://%65vil.com',
    ].map((one) => [one, /stands for the host (xn--|evil\.com).*enter https:/]),
    ...['https:\\\\evil.com', 'https://evil.com\\@api.example.org', ' https://evil.com', 'https://evil.com ', 'ht\ntps://evil.com'].map(
      (one) => [one, /stands for the host evil\.com/],
    ),
    ...['https:evil.com', 'https:///evil.com', 'https://ev\til.com', 'https://evil\u00ad.com'].map((one) => [
      one,
      /stands for the host evil/,
    ]),
    ...['https://api.example.org@evil.com', 'https://api.example.org:443@evil.com/', 'https://:x@evil.com'].map((one) => [
      one,
      /credentials/,
    ]),
    ...['wss://a.example.org', 'data:text/plain,x', 'blob:https://a.example.org/x', 'HTTPX://a.example.org'].map((one) => [
      one,
      /must start/,
    ]),
  ] as [string, RegExp][])
    t.match(of(address), { error }, JSON.stringify(address))
  t.end()
})

t.test('a grant in the own network is for one origin in any of its spellings, and for no other', (t) => {
  const privateOrigins = ['http://nas.lan:8080', 'http://192.168.1.10', 'http://[fd00::10]:81', 'https://api.example.org']
  for (const [address, host] of [
    ...[['http://nas.lan:8080/x', 'nas.lan'] as const, ['HTTP://NAS.lan:8080', 'nas.lan'] as const],
    ...['http://192.168.1.10:80', 'http://3232235786', 'http://0300.0250.1.10', 'http://0xc0a8010a/'].map(
      (one) => [one, '192.168.1.10'] as const,
    ),
    ...[['http://[FD00:0:0::0010]:81/', 'fd00::10'] as const, ['https://api.example.org:443', 'api.example.org'] as const],
  ])
    t.match(ruleOfAddress(address, { privateOrigins }), { rule: { host, private: true } }, address)
  for (const address of [
    ...[
      'http://nas.lan',
      'http://nas.lan:8081',
      'https://nas.lan:8080',
      'http://nas.lan.:8080',
      'http://a.nas.lan:8080',
      'http://192.168.1.11',
    ],
    ...[
      'https://192.168.1.10',
      'http://[fd00::11]:81',
      'http://[fd00::10]',
      'http://[::ffff:192.168.1.10]',
      'http://127.0.0.1',
      'http://nas',
    ],
  ])
    t.match(ruleOfAddress(address, { privateOrigins }), { error: String }, address)
  // What is stored is checked again when it is used.
  for (const origin of ['http://127.0.0.1', 'http://localhost:8080', 'http://169.254.169.254', 'http://*.lan', 'http://nas.lan.'])
    t.match(ruleOfAddress(origin, { privateOrigins: [origin] }), { error: String }, origin)
  const many = Array.from({ length: 10_000 }, (_, index) => `http://10.0.${index >> 8}.${index & 255}`)
  t.match(ruleOfAddress('http://10.0.3.7', { privateOrigins: many }), { rule: { host: '10.0.3.7' } })
  t.match(ruleOfAddress('http://10.1.3.7', { privateOrigins: many }), { error: String })
  t.end()
})

t.test('a private host gets requests only at the granted origin', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'https://api.example.org/there' }).end()
    else if (request.url === '/on') response.writeHead(302, { location: '/there' }).end()
    else if (request.url === '/other-port') response.writeHead(302, { location: 'http://nas.lan:1/' }).end()
    else if (request.url === '/in') response.writeHead(302, { location: `http://nas.lan:${way.port}/there` }).end()
    else response.end(request.headers.host)
  })
  const origin = `http://nas.lan:${way.port}`
  const nas: EgressRule = { host: 'nas.lan', methods: ['GET'], origin, private: true }
  const rules = [...POLICY.rules, nas]
  const get = (url: string, more: Partial<EgressRule> = {}, method = 'GET') =>
    fetch({ url, method }, { rules: [...POLICY.rules, { ...nas, ...more }] })
  t.match(await get(`${origin}/books`), { status: 200, body: `nas.lan:${way.port}`, url: `${origin}/books` })
  t.match(await get(`${origin}/on`), { url: `${origin}/there` })
  t.match(await get(`${origin}/away`), { url: 'https://api.example.org/there' }, 'it may redirect to a public host')
  const literal = `http://127.0.0.1:${way.port}`
  t.match(await get(`${literal}/`, { host: '127.0.0.1', origin: literal }), { body: `127.0.0.1:${way.port}` }, 'a granted IP address')
  t.match(
    await get(`http://nas.lan:${way.port}/?@x`, { origin: `HTTP://NAS.LAN:${way.port}/path` }),
    { status: 200 },
    'URLs are compared in normalized form',
  )
  const asked = way.asked.length
  for (const url of [
    ...['http://nas.lan/', 'https://nas.lan/', `https://nas.lan:${way.port}/`, 'http://nas.lan:1/', `http://nas.lan.:${way.port}/`],
    ...[`http://user@nas.lan:${way.port}/`, `http://sub.nas.lan:${way.port}/`, `${literal}/`, `ftp://nas.lan:${way.port}/`],
    ...[
      `ws://nas.lan:${way.port}/`,
      `http://api.example.org:${way.port}/`,
      'http://api.example.org/',
      `https://api.example.org:${way.port}/`,
    ],
  ])
    t.equal((await refusal(get(url))).own, 'permission', url)
  t.equal((await refusal(get(`${origin}/`, {}, 'POST'))).own, 'permission', 'nor with another method')
  for (const without of [{ private: undefined }, { private: false }, { origin: undefined }, { origin: 'no address' }, { origin: 'null' }])
    t.equal((await refusal(get(`${origin}/`, without))).own, 'permission', JSON.stringify(without))
  t.equal(
    (await refusal(get('https://nas.lan/', { origin: 'https://nas.lan:444' }))).own,
    'permission',
    'a grant for one port does not cover another',
  )
  t.equal(way.asked.length, asked)
  t.equal((await refusal(get(`${origin}/other-port`))).own, 'permission')

  t.match(await refusal(get('https://api.example.org/in')), { own: 'permission', message: /other hosts may not redirect/ })
  t.equal(way.asked.at(-1)?.url, '/in')
  // By any kind of redirect, and back again.
  const strayed = { url: new URL(`${origin}/`), method: 'GET', headers: {}, body: undefined, strayed: true }
  t.throws(() => checkAddress(strayed, rules), { message: /other hosts may not redirect/ })
  t.same(checkAddress({ ...strayed, strayed: false }, rules), { host: 'nas.lan', group: undefined, isPrivate: true, isLocal: false })
  t.throws(() => checkAddress({ ...strayed, strayed: false }, 'public'), { message: /is not https/ })
  t.ok(await closed())
})

t.test('private addresses are allowed only for the granted host, and this server for none', async (t) => {
  const way = await openLoopback(t, (_request, response) => response.end('fine'))
  const origin = `http://nas.lan:${way.port}`
  const rules: EgressRule[] = [...POLICY.rules, { host: 'nas.lan', methods: ['GET'], origin, private: true }]
  const looked: [string, boolean][] = []
  const egress = new HttpsEgress({
    ...way,
    resolve: async (host) => (host === 'mixed.wide.example.org' ? ['127.0.0.1', '10.0.0.5'] : ['127.0.0.1']),
    permits: (address, isPrivate) => looked.push([address, isPrivate]) > 0 && isPrivate,
  })
  const get = (url: string) => egress.fetch({ url }, { ...POLICY, rules }, forever())
  t.match(await get(`${origin}/`), { body: 'fine' })
  for (const url of ['https://api.example.org/', 'https://mixed.wide.example.org/'])
    t.match(await refusal(get(url)), { own: 'permission', message: /not on the public internet/ })
  t.same(looked, [
    ['127.0.0.1', true],
    ['127.0.0.1', false],
    ['127.0.0.1', false],
  ])
  t.equal(way.asked.length, 1)

  // With the real network checks; nothing is connected.
  const real = new HttpsEgress()
  const own = Object.values(os.networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
  t.ok(own.includes('127.0.0.1'))
  for (const host of [...own, '127.0.0.2', '169.254.169.254', '[::1]', '[fe80::1]', '100.100.100.200', '0.0.0.0']) {
    const address = `http://${host}:${way.port}`
    const rule = { host, methods: ['GET'], origin: address, private: true }
    const refused = real.fetch({ url: address }, { ...POLICY, rules: [rule] }, forever())
    await t.rejects(refused, { own: 'permission', message: /resolves to this server, or to a network that cannot be granted/ }, host)
  }
  t.equal(way.asked.length, 1)
})
