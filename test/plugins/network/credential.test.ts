import t from 'tap'
import { bodyWithoutCredential, type Credential, isFor, withoutCredential } from '#plugins/network/credential.ts'
import type { EgressPolicy } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'
import { onlyCost } from '#test/support/lane-size.ts'

t.setTimeout(60_000)

const credential: Credential = { host: 'api.example.org', place: 'header', name: 'Authorization', value: 'Bearer secret-of-a-reader' }

t.test('credentials go only to their host, whatever the plugin sets', async (t) => {
  const { way, fetch } = await openTestEgress(t, (request, response) => response.setHeader('set-cookie', 'a=b').end(request.url))
  const first = await fetch({ url: 'https://API.example.org:443/a', headers: { authorization: 'mine' } }, { credential })
  t.notOk(first.headers.some(([name]) => name === 'set-cookie'))
  t.equal(way.asked[0]?.headers.authorization, credential.value)
  const rules = [...POLICY.rules, { host: '*.api.example.org', methods: ['GET'] }, { host: 'xn--pi-6kc.example.org', methods: ['GET'] }]
  for (const url of [
    'https://other.example.org/',
    'https://other.example.org/https://api.example.org/',
    'https://other.example.org/?api.example.org#@api.example.org/',
    'https://api.example.org.wide.example.org/',
    'https://xapi.example.org.wide.example.org/',
    'https://sub.api.example.org/',
    'https://аpi.example.org/',
  ]) {
    const { body } = await new HttpsEgress(way).fetch({ url }, { ...POLICY, credential, rules }, forever())
    t.notMatch(JSON.stringify([way.asked.at(-1), body]), /secret/, url)
  }
  t.notMatch(JSON.stringify(await fetch('https://api.example.org/', { credential })), /secret/)
  const asked = way.asked.length
  for (const url of [
    'http://api.example.org/',
    'https://api.example.org:8443/',
    'https://api.example.org./',
    'https://api.example.org@evil.com/',
  ])
    t.equal((await refusal(fetch(url, { credential }))).own, 'permission', url)
  t.equal(way.asked.length, asked)
  await fetch('https://api.example.org/')
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret|a=b/, 'no state remains from one request to the next')
})

t.test('credentials go only to their scheme and port', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t)
  const origin = `http://api.example.org:${way.port}`
  const rules = [...POLICY.rules, { host: 'api.example.org', methods: ['GET'], origin, private: true }]
  await fetch(`${origin}/`, { credential, rules })
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret/, 'the host name alone is not enough for a private host')
  await fetch('https://api.example.org/', { credential, rules })
  t.equal(way.asked.at(-1)?.headers.authorization, credential.value)
  const housed = { ...credential, origin }
  await fetch(`${origin}/`, { credential: housed, rules })
  t.equal(way.asked.at(-1)?.headers.authorization, credential.value, 'at the granted origin')
  await fetch('https://api.example.org/', { credential: housed, rules })
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret/)

  const hop = (url: string, strayed = false) => ({ url: new URL(url), method: 'GET', headers: {}, body: undefined, strayed })
  t.ok(isFor(credential, hop('https://api.example.org/path')))
  for (const url of [
    'https://api.example.org:444/',
    'http://api.example.org/',
    'https://api.example.org.evil.com/',
    'https://xapi.example.org/',
  ])
    t.notOk(isFor(credential, hop(url)), url)
  t.notOk(isFor(credential, hop('https://api.example.org/', true)), 'nor after a redirect from another host')
  t.notOk(isFor({ ...credential, host: '*.example.org' }, hop('https://api.example.org/')), 'nor to all subdomains')
  t.ok(await closed())
})

t.test('plugins never see credentials: not in errors, echoed responses or cached responses', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    const { authorization = 'nothing', 'x-key': key = 'nothing' } = request.headers
    if (request.url === '/hang-up') response.socket?.destroy()
    else if (request.url === '/redirect') response.writeHead(302, { location: `/?token=${encodeURIComponent(authorization)}` }).end()
    else if (request.url === '/astray')
      response.writeHead(302, { location: `https://evil.com/?token=${encodeURIComponent(authorization)}` }).end()
    else response.setHeader('x-sent', authorization).end(JSON.stringify({ authorization, key, token: authorization.split(' ')[1] }))
  })
  const get = (path: string, policy: Partial<EgressPolicy> = {}) => fetch(`https://api.example.org${path}`, { credential, ...policy })
  const echoed = await get('/')
  t.equal(way.asked[0]?.headers.authorization, credential.value)
  t.match(JSON.parse(echoed.body), { authorization: '[credential]', token: '[credential]' })
  t.same(
    echoed.headers.find(([name]) => name === 'x-sent'),
    ['x-sent', '[credential]'],
  )
  const redirected = await get('/redirect')
  t.equal(redirected.url, 'https://api.example.org/?token=[credential]')
  t.notMatch(JSON.stringify([echoed, redirected]), /secret/)
  t.equal((await refusal(get('/hang-up'))).own, 'upstream')
  const { own, message } = await refusal(get('/astray'))
  t.equal(own, 'permission')
  t.notMatch(message, /token|Bearer/)
  const broken = { ...credential, value: 'Bearer secret\r\nx: y' }
  const asked = way.asked.length
  t.equal((await refusal(get('/', { credential: broken }))).own, 'upstream', 'a credential that is not a valid header value')
  t.equal(way.asked.length, asked)

  const kept = { cacheScope: 'plugin/reader', cacheSeconds: 60 }
  t.notMatch(JSON.stringify(await get('/kept', kept)), /secret/)
  t.match(await get('/kept', kept), { cached: true })
  const other = await get('/kept', { ...kept, credential: { ...credential, value: 'Bearer another-reader' } })
  t.equal(other.cached, undefined, 'although the scope is the same')
  t.equal((await get('/kept', { ...kept, credential: undefined })).cached, undefined)
  t.ok(await closed())
})

t.test('masking removes the credential, and no similar word', (t) => {
  const of = (value: string, text: string) => withoutCredential(text, { ...credential, value })
  t.equal(of('Bearer abcdefgh', 'abcdefgh Bearer abcdefgh! Bearer'), '[credential] [credential]! Bearer')
  t.equal(of('abcdefgh', 'xabcdefghx'), 'x[credential]x')
  t.equal(of('a+b/c=d&e', 'a%2Bb%2Fc%3Dd%26e'), '[credential]')
  t.equal(of('$&$1$`x.*', '$&$1$`x.* and x'), '[credential] and x', 'literally, not as a pattern')
  t.equal(of('short', 'a short text'), 'a short text')
  t.equal(of('Token short', 'a short text, Token short'), 'a short text, [credential]')
  t.equal(of('', 'a text'), 'a text')
  t.end()
})

t.test('a whole secret is masked in each spelling, and a part of it is not', (t) => {
  const secret = 'tok_7Qz+/=9fA"x~Lm2-Wv81kE_yP0s'
  const bearer = { ...credential, value: `Bearer ${secret}` }
  const bytes = Buffer.from(secret)
  const escaped = (write: (code: string) => string) => [...secret].map((char) => write(char.charCodeAt(0).toString(16))).join('')
  const json = JSON.stringify(secret).slice(1, -1)
  const ways: Record<string, string> = {
    plain: secret,
    json,
    'json with slashes': json.replaceAll('/', '\\/'),
    'json by numbers': escaped((hex) => `\\u${hex.padStart(4, '0')}`),
    'json by large numbers': escaped((hex) => `\\u${hex.padStart(4, '0').toUpperCase()}`),
    url: encodeURIComponent(secret),
    'url, small':
      encodeURIComponent(secret).toLowerCase() === secret ? secret : encodeURIComponent(secret).replace(/%../g, (one) => one.toLowerCase()),
    'url, each letter': escaped((hex) => `%${hex}`),
    hex: bytes.toString('hex'),
    'large hex': bytes.toString('hex').toUpperCase(),
  }
  for (let before = 0; before < 4; before++)
    for (const after of [0, 1, 2, 3]) {
      const packed = Buffer.concat([Buffer.alloc(before, 0xa5), bytes, Buffer.alloc(after, 0x5a)])
      for (const how of ['base64', 'base64url'] as const) {
        ways[`${how} with ${before} before and ${after} behind`] = packed.toString(how)
        ways[`${how} without padding, ${before} before and ${after} behind`] = packed.toString(how).replace(/=+$/, '')
      }
    }
  for (const [name, written] of Object.entries(ways))
    for (const [left, right] of [
      ['', ''],
      ['{"echo":"', '"}'],
      ['x'.repeat(7), ' '.repeat(9)],
    ] as const) {
      const told = withoutCredential(left + written + right, bearer)
      t.match(told, '[credential]', name)
      t.ok(told.length <= left.length + right.length + '[credential]'.length + 12, `${name}: ${told}`)
      t.ok(told.startsWith(left.slice(0, -1)) && told.endsWith(right), `${name}: the text around it stays`)
    }

  const long = { ...credential, value: `Bearer ${secret}${secret.split('').reverse().join('')}` }
  const whole = long.value.slice('Bearer '.length)
  for (const part of [whole.slice(0, 47), whole.slice(5), whole.slice(0, -1), Buffer.from(whole).toString('hex').slice(2)])
    t.equal(withoutCredential(part, long), part, part)
  t.equal(withoutCredential(`${whole.slice(0, 47)}${whole}${whole.slice(5)}`, long), `${whole.slice(0, 47)}[credential]${whole.slice(5)}`)
  t.equal(withoutCredential('a'.repeat(11), { ...credential, value: 'a'.repeat(10) }), '[credential]a')
  t.equal(withoutCredential('aaaaaaaaaabaaaaaaaaab', { ...credential, value: 'aaaaaaaaab' }), 'a[credential][credential]')

  const pair = Buffer.from('ada@example.org:correct horse').toString('base64')
  const basic = { ...credential, value: `Basic ${pair}` }
  t.equal(withoutCredential(`sent ${pair}, that is ada@example.org:correct horse`, basic), 'sent [credential], that is [credential]')
  t.equal(
    withoutCredential('ada@example.org knows "correct horse"', basic),
    'ada@example.org knows "[credential]"',
    'a user name is not masked',
  )
  const other = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJvdGhlciJ9.c29tZXRoaW5nIGVsc2U'
  const signed = { ...credential, value: 'Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJtaW5lIn0.bXkgc2lnbmF0dXJlIGlz' }
  t.equal(withoutCredential(other, signed), other, 'the common beginning of tokens is not masked')
  t.equal(withoutCredential(`a ${signed.value} b`, signed), 'a [credential] b')
  t.end()
})

t.test('masking takes linear time for any text, and yields the thread', onlyCost, async (t) => {
  const secret = `${'a'.repeat(5_000)}b${'ab'.repeat(2_000)}`
  const large = { ...credential, value: `Bearer ${secret}` }
  const texts = [
    'a'.repeat(1_000_000),
    'ab'.repeat(500_000),
    `${secret.slice(0, 15)}!`.repeat(60_000),
    '%61'.repeat(300_000),
    '\\\\u0061'.repeat(150_000),
  ]
  const turns = watchTurns()
  for (const text of texts) {
    const begun = threadCpuMs()
    await bodyWithoutCredential(text, large)
    t.ok(threadCpuMs() - begun < 40_000, `${text.slice(0, 12)}… took ${Math.round(threadCpuMs() - begun)} ms`)
  }
  turns.close()
  t.ok(turns.longestMs() < 3_000, `the longest that others waited is ${Math.round(turns.longestMs())} ms`)
})
