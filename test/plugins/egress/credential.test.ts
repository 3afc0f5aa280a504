import t from 'tap'
import { type Credential, isFor, withoutCredential } from '#plugins/egress/credential.ts'
import { type EgressPolicy, openEgress } from '#plugins/egress/egress.ts'
import { forever, openWayOut, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

const credential: Credential = { host: 'api.example.org', header: 'Authorization', value: 'Bearer secret-of-a-reader' }

t.test('credentials go to their host, whatever the plugin sets, and to no other', async (t) => {
  const { way, fetch } = await openWayOut(t, (request, response) => response.setHeader('set-cookie', 'a=b').end(request.url))
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
    const { body } = await openEgress(way).fetch({ url }, { ...POLICY, credential, rules }, forever())
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
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret|a=b/, 'nothing is remembered from one request to the next')
})

t.test('of one host, credentials go to the scheme and the port that they are for', async (t) => {
  const { way, fetch, closed } = await openWayOut(t)
  const origin = `http://api.example.org:${way.port}`
  const rules = [...POLICY.rules, { host: 'api.example.org', methods: ['GET'], origin, private: true }]
  await fetch(`${origin}/`, { credential, rules })
  t.notMatch(JSON.stringify(way.asked.at(-1)), /secret/, 'the name alone is not enough where it is also one of the house')
  await fetch('https://api.example.org/', { credential, rules })
  t.equal(way.asked.at(-1)?.headers.authorization, credential.value)
  const housed = { ...credential, origin }
  await fetch(`${origin}/`, { credential: housed, rules })
  t.equal(way.asked.at(-1)?.headers.authorization, credential.value, 'where they are for the house')
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
  t.notOk(isFor(credential, hop('https://api.example.org/', true)), 'nor after a redirect from elsewhere')
  t.notOk(isFor({ ...credential, host: '*.example.org' }, hop('https://api.example.org/')), 'nor to all below a name')
  t.ok(await closed())
})

t.test('plugins are not told credentials: not by errors, not by what services repeat, not by answers that are kept', async (t) => {
  const { way, fetch, closed } = await openWayOut(t, (request, response) => {
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
  t.equal((await refusal(get('/', { credential: broken }))).own, 'upstream', 'one that no header can hold')
  t.equal(way.asked.length, asked)

  const kept = { cacheScope: 'plugin/reader', cacheSeconds: 60 }
  t.notMatch(JSON.stringify(await get('/kept', kept)), /secret/)
  t.match(await get('/kept', kept), { cached: true })
  const other = await get('/kept', { ...kept, credential: { ...credential, value: 'Bearer another-reader' } })
  t.equal(other.cached, undefined, 'though the scope were the same')
  t.equal((await get('/kept', { ...kept, credential: undefined })).cached, undefined)
  t.ok(await closed())
})

t.test('what is taken out of texts is the credential, and no word that is like it', (t) => {
  const of = (value: string, text: string) => withoutCredential(text, { ...credential, value })
  t.equal(of('Bearer abcdefgh', 'abcdefgh Bearer abcdefgh! Bearer'), '[credential] [credential]! Bearer')
  t.equal(of('abcdefgh', 'xabcdefghx'), 'x[credential]x')
  t.equal(of('a+b/c=d&e', 'a%2Bb%2Fc%3Dd%26e'), '[credential]')
  t.equal(of('$&$1$`x.*', '$&$1$`x.* and x'), '[credential] and x', 'as it stands there')
  t.equal(of('short', 'a short text'), 'a short text')
  t.equal(of('Token short', 'a short text, Token short'), 'a short text, [credential]')
  t.equal(of('', 'a text'), 'a text')
  t.end()
})
