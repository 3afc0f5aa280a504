import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { type Credential, withCredential, withoutCredential } from '#plugins/network/credential.ts'
import { readRequest } from '#plugins/network/request.ts'
import { openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

const HOST = 'api.example.org'
const SECRET = 'se cret/of+the&server="1"'
const inQuery: Credential = { host: HOST, place: 'query', name: 'api_key', value: SECRET }
const inBody: Credential = { ...inQuery, place: 'body' }
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

t.test('a query parameter with a credential is added by the server, only for its host, and never revealed', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    if (request.url?.startsWith('/hang-up')) response.socket?.destroy()
    else if (request.url?.startsWith('/moved')) response.writeHead(302, { location: `/there?${request.url.split('?')[1]}` }).end()
    else if (request.url?.startsWith('/astray'))
      response.writeHead(302, { location: `https://other.example.org/?${request.url.split('?')[1]}` }).end()
    else if (request.url?.startsWith('/away')) response.writeHead(302, { location: 'https://other.example.org/plain' }).end()
    else response.setHeader('link', `<${request.url}>; rel="next"`).end(JSON.stringify({ url: request.url, asked: request.url }))
  })
  const get = (url: string) => fetch(`https://${url}`, { credential: inQuery })
  const asked = () => new URL(way.asked.at(-1)?.url ?? '', 'https://x').searchParams.getAll('api_key')

  const answer = await get(`${HOST}/search?q=a%20b&api_key=mine&page=2`)
  t.same(asked(), [SECRET], 'replaces the value of the plugin')
  t.match(way.asked.at(-1)?.url, /q=a\+b&page=2&api_key=/)
  t.equal(answer.url, `https://${HOST}/search?q=a%20b&api_key=mine&page=2`, 'the plugin sees the URL that it sent')
  t.notMatch(JSON.stringify(answer), /cret|%2Fof|%2Bthe/i)
  t.match(JSON.parse(answer.body).url, /page=2&\[credential\]$/)
  await get(`${HOST}/plain?q=a%20b`)
  t.match(way.asked.at(-1)?.url, /^\/plain\?q=a%20b&api_key=/, 'the rest is unchanged')
  await get(`${HOST}/none`)
  t.same(asked(), [SECRET])
  await get('other.example.org/search?q=1')
  t.same(asked(), [], 'another host')
  t.same(way.asked.at(-1)?.url, '/search?q=1')

  const moved = await get(`${HOST}/moved?q=1`)
  t.same(asked(), [SECRET], 'once, although the service repeated it')
  t.notMatch(JSON.stringify(moved), /cret|%2Fof/i)
  t.match(moved.url, /\/there\?q=1&\[credential\]$/)
  await get(`${HOST}/away`)
  t.same([way.asked.at(-1)?.url, asked()], ['/plain', []])
  way.asked.length = 0
  const astray = await refusal(get(`${HOST}/astray?q=1`))
  t.match(astray, { own: 'permission', message: /redirects to another host with the credentials in the address/ })
  t.equal(way.asked.length, 1, 'the other host gets no request')
  t.same((await refusal(get(`${HOST}/hang-up`))).message, `${HOST} closed the connection before its response was complete.`)
  t.notMatch((await refusal(get(`evil.com/?q=1`))).message, /cret|api_key/)
  t.ok(await closed())
})

t.test('a credential can be a member of a form or of a JSON object', async (t) => {
  const bodies: string[] = []
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    bodyOf(request).then((body) => {
      bodies.push(body)
      response.end(request.url === '/again' ? '' : `You sent: ${body}`)
    })
  })
  const post = (headers: Record<string, string>, body?: string, host = HOST) =>
    fetch({ url: `https://${host}/`, ...(body !== undefined && { method: 'POST', body }), headers }, { credential: inBody })
  const sent = async (headers: Record<string, string>, body: string) => {
    const answer = await post(headers, body)
    t.notMatch(answer.body, /cret/, body)
    return bodies.at(-1) ?? ''
  }
  t.same(JSON.parse(await sent(JSON_TYPE, '{"q":"a"}')), { api_key: SECRET, q: 'a' })
  t.same(JSON.parse(await sent(JSON_TYPE, ' { } ')), { api_key: SECRET })
  t.same(JSON.parse(await sent({ 'content-type': 'application/vnd.api+json' }, '{"a":[1]}')), { api_key: SECRET, a: [1] })
  t.match(await sent(JSON_TYPE, '{"id":123456789012345678901234567890}'), '"id":123456789012345678901234567890', 'letter by letter')
  t.same(JSON.parse(await sent(JSON_TYPE, '{"q":1,"api\\u005fkey":"mine"}')), { q: 1, api_key: SECRET })
  t.same(
    [...new URLSearchParams(await sent(FORM_TYPE, 'q=a+b&api_key=mine'))],
    [
      ['q', 'a b'],
      ['api_key', SECRET],
    ],
  )
  t.equal(Number(way.asked.at(-1)?.headers['content-length']), Buffer.byteLength(bodies.at(-1) ?? ''))
  await post(JSON_TYPE, '{"q":1}', 'other.example.org')
  t.equal(bodies.at(-1), '{"q":1}', 'another host')
  await post({})
  t.same(bodies.at(-1), '', 'a request without a body gets no credential')
  const before = bodies.length
  for (const [headers, body, why] of [
    [JSON_TYPE, '[1]', /must be a JSON object/],
    [JSON_TYPE, '{"q":', /must be a JSON object/],
    [{}, '{"q":1}', /Content-Type must be application\/json or/],
    [{ 'content-type': 'text/xml' }, '<q/>', /Content-Type must be/],
    [JSON_TYPE, `{"q":"${'x'.repeat(65_536)}"}`, /65536 characters/],
  ] as const) {
    const { own, message } = await refusal(post({ ...headers }, body))
    t.equal(own, 'invalid_argument')
    t.match(message, why)
    t.notMatch(message, /cret/)
  }
  t.equal(bodies.length, before, 'no request is sent')
  t.ok(await closed())
})

t.test('a user name and a password can be two fields', async (t) => {
  const username = { name: 'login', value: 'ada & co' }
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    bodyOf(request).then((body) => response.end(`You sent: ${request.url} ${body}`))
  })
  const send = async (place: 'query' | 'body', headers: Record<string, string>, body: string, host = HOST) => {
    const given = { url: `https://${host}/x?login=mine&q=1`, method: 'POST', headers, body }
    const { body: said } = await fetch(given, { credential: { ...inQuery, place, username, secrets: [SECRET] } })
    t.notMatch(said, /cret%2Fof|cret\/of/i)
    const { searchParams } = new URL(way.asked.at(-1)?.url ?? '', 'https://x')
    return { query: Object.fromEntries(searchParams), said }
  }
  const both = { login: username.value, api_key: SECRET }
  t.same((await send('query', JSON_TYPE, '{"login":"mine"}')).query, { q: '1', ...both })
  const form = await send('body', FORM_TYPE, 'login=mine&p=2')
  t.same(form.query, { login: 'mine', q: '1' })
  t.match(form.said, /p=2&login=ada%20%26%20co&\[credential\]/)
  t.match((await send('body', JSON_TYPE, '{"p":2}')).said, /\{\[credential\],"login":"ada & co","p":2\}/)
  const other = await send('body', JSON_TYPE, '{"p":2}', 'other.example.org')
  t.match([other.query, other.said], [{ login: 'mine', q: '1' }, /\{"p":2\}$/], 'another host')
  t.ok(await closed())
})

t.test('a credential is masked in each spelling, even when it is short', (t) => {
  const short: Credential = { ...inQuery, value: 'k7' }
  const told = (text: string, credential: Credential = inQuery) => withoutCredential(text, credential)
  for (const text of [
    SECRET,
    encodeURIComponent(SECRET),
    encodeURIComponent(SECRET).toLowerCase(),
    new URLSearchParams({ api_key: SECRET }).toString(),
    JSON.stringify({ api_key: SECRET }),
    JSON.stringify({ url: `/x?api_key=${encodeURIComponent(SECRET)}` }).replaceAll('/', '\\/'),
    Buffer.from(`xx api_key=${SECRET} yy`).toString('base64'),
    Buffer.from(SECRET).toString('hex'),
  ]) {
    const shown = told(text)
    const plain = [
      shown,
      decodeURIComponent(shown),
      Buffer.from(shown, 'base64').toString('latin1'),
      Buffer.from(shown, 'hex').toString('latin1'),
    ]
    t.notMatch(JSON.stringify(plain), /of.the.server|of%2Bthe/, text)
    t.match(shown, /\[credential\]/, text)
  }
  t.equal(told('/x?q=k7&api_key=k7&p=1', short), '/x?q=k7&[credential]&p=1')
  t.equal(told('{"api_key": "k7", "q": "k7"}', { ...short, place: 'body' }), '{[credential], "q": "k7"}')
  t.equal(told('{\\"api_key\\":\\"k7\\"}', { ...short, place: 'body' }), '{[credential]}')
  t.end()
})

t.test('adding it changes nothing else in the request', (t) => {
  const { hop } = readRequest({ url: `https://${HOST}/?a=%41`, method: 'POST', body: '{"a":1}', headers: JSON_TYPE })
  for (const credential of [inQuery, inBody]) {
    const before = JSON.stringify(hop)
    t.notSame(JSON.stringify(withCredential(hop, credential)), before)
    t.equal(JSON.stringify(hop), before)
  }
  t.ok(POLICY.credential === undefined)
  t.end()
})
