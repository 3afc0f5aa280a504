import http from 'node:http'
import net from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { silentLog } from '#core/foundation/log.ts'
import { Nullable, OneOf, Uuid } from '#core/foundation/schema.ts'
import { endpoint, stream } from '#test/support/route.ts'
import { type Answer, openTestServer } from '#test/support/server.ts'

interface Failure {
  error: string
  message: string
  requestId: string
  details?: { path: string; message: string }[]
}

const Body = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 10 }),
  count: Type.Optional(Nullable(Type.Integer({ minimum: 1 }))),
  kind: Type.Optional(OneOf(['red', 'blue'])),
  tags: Type.Optional(Type.Array(Type.Object({ label: Type.String() }))),
  free: Type.Optional(Type.Unknown()),
})

const routes = [
  endpoint({
    method: 'POST',
    changes: null,
    path: '/things',
    summary: 'echo',
    tag: 'test',
    allow: { who: 'public' },
    status: 201,
    body: Body,
    reply: Body,
    run: async (_call, { body }) => body,
  }),
  endpoint({
    method: 'GET',
    path: '/things/:thingId',
    summary: 'parameters',
    tag: 'test',
    allow: { who: 'public' },
    params: Type.Object({ thingId: Uuid }),
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      full: Type.Optional(Type.Boolean()),
      ratio: Type.Optional(Type.Number()),
      kind: Type.Optional(OneOf(['red', 'blue'])),
      words: Type.Optional(Type.Array(Type.String())),
    }),
    reply: Type.Object({ query: Type.Unknown() }),
    run: async (_call, { query }) => ({ query }),
  }),
  ...(['POST', 'PUT'] as const).map((method) =>
    endpoint({
      method,
      path: '/small',
      changes: null,
      summary: 'a limit of its own; nothing is required',
      tag: 'test',
      allow: { who: 'public' },
      bodyBytesMax: 50,
      ...(method === 'POST' && { bodyOptional: true }),
      body: Type.Object({ text: Type.Optional(Type.String()) }),
      reply: Type.Object({ text: Type.Optional(Type.String()) }),
      run: async (_call, { body }) => body,
    }),
  ),
  ...['/api/v1/shelf', '/api/v1/anything'].map((path) =>
    endpoint({
      method: 'GET',
      path,
      summary: 'query parameters',
      tag: 'test',
      allow: { who: 'public' },
      ...(path === '/api/v1/anything' && { takesAnyQuery: true }),
      query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1 })), pageSize: Type.Optional(Type.Integer()) }),
      reply: Type.Object({ query: Type.Unknown() }),
      run: async (_call, { query }) => ({ query }),
    }),
  ),
  endpoint({
    method: 'GET',
    path: '/broken',
    summary: 'throws what nobody expected',
    tag: 'test',
    allow: { who: 'public' },
    run: async () => {
      throw new Error('the secret of the house')
    },
  }),
  endpoint({
    method: 'GET',
    path: '/stranger',
    summary: 'throws what is no error',
    tag: 'test',
    allow: { who: 'public' },
    run: async () => {
      throw 'a text'
    },
  }),
  endpoint({
    method: 'GET',
    path: '/protected',
    summary: 'needs a permission',
    tag: 'test',
    allow: { who: 'system-admin' },
    run: async () => undefined,
  }),
  endpoint({
    method: 'GET',
    path: '/slow',
    summary: 'answers when it is asked no more',
    tag: 'test',
    allow: { who: 'public' },
    reply: Type.Object({ left: Type.Boolean() }),
    run: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({ left: true }))),
  }),
  stream({
    path: '/late',
    summary: 'fails after the client has gone',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['text/plain'],
    run: ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('too late')))),
  }),
]

const ID = '6f1c1a52-94a4-4c38-8a5f-0123456789ab'
/** @param server a short deadline only where bodies do not come: others may arrive slowly on a busy machine */
const open = (t: Test, server: { bodyDeadlineMs?: number } = {}) => openTestServer(t, { routes, server })

t.test('bodies that are wrong', async (t) => {
  const server = await open(t)
  const post = (
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = { 'content-type': 'application/json' },
    path = '/things',
  ): Promise<Answer<Failure>> =>
    fetch(server.url + path, { method: 'POST', body, headers }).then(async (answer) => {
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) }
    })
  const json = { 'content-type': 'application/json' }
  const table: [
    name: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string>,
    status: number,
    error: string,
    path?: string,
  ][] = [
    ['not JSON', '{"name": ', json, 400, 'invalid_request'],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), json, 400, 'invalid_request'],
    ['an array', '[]', json, 400, 'invalid_request', ''],
    ['null', 'null', json, 400, 'invalid_request', ''],
    ['missing member', '{}', json, 400, 'invalid_request', '/name'],
    ['wrong type', '{"name":7}', json, 400, 'invalid_request', '/name'],
    ['wrong type of a nullable', '{"name":"abc","count":"3"}', json, 400, 'invalid_request', '/count'],
    ['fraction for integer', '{"name":"abc","count":1.5}', json, 400, 'invalid_request', '/count'],
    ['unknown member', '{"name":"abc","nmae":1}', json, 400, 'invalid_request', '/nmae'],
    ['unknown member below', '{"name":"abc","tags":[{"label":"x"},{"label":"y","a/b":1}]}', json, 400, 'invalid_request', '/tags/1/a/b'],
    ['prototype member', '{"name":"abc","__proto__":{"x":1}}', json, 400, 'invalid_request', '/__proto__'],
    ['too short', '{"name":"a"}', json, 422, 'invalid_value', '/name'],
    ['too long', '{"name":"abcdefghijk"}', json, 422, 'invalid_value', '/name'],
    ['out of range', '{"name":"abc","count":0}', json, 422, 'invalid_value', '/count'],
    ['not of the list', '{"name":"abc","kind":"green"}', json, 422, 'invalid_value', '/kind'],
    ['list and type', '{"name":"abc","kind":3}', json, 400, 'invalid_request', '/kind'],
    ['NUL', '{"name":"a\\u0000b"}', json, 400, 'invalid_request', '/name'],
    ['lone surrogate', '{"name":"a\\ud800b"}', json, 400, 'invalid_request', '/name'],
    ['number beyond a double', '{"name":"abc","free":[1e400]}', json, 400, 'invalid_request', '/free/0'],
    ['NUL in a name', '{"name":"abc","free":{"a\\u0000":1}}', json, 400, 'invalid_request'],
    ['too deep', `{"name":"abc","free":${'['.repeat(100)}${']'.repeat(100)}}`, json, 400, 'invalid_request'],
    ['much too deep', '['.repeat(500_000), json, 400, 'invalid_request'],
    ['no type', new Uint8Array([0x7b, 0x7d]), {}, 415, 'unsupported_media_type'],
    ['form', 'name=abc', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    ['another charset', '{"name":"abc"}', { 'content-type': 'application/json; charset=latin1' }, 415, 'unsupported_media_type'],
    ['gzip', new Uint8Array(gzipSync('{"name":"abc"}')), { ...json, 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['a lie of gzip', 'garbage', { ...json, 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['huge', `{"name":"${'x'.repeat(2_000_000)}"}`, json, 413, 'payload_too_large'],
  ]
  for (const [name, body, headers, status, error, path] of table) {
    const answer = await post(body, headers)
    t.match([answer.status, answer.json.error, answer.json.requestId], [status, error, answer.headers.get('x-request-id')], name)
    if (path !== undefined)
      t.ok(
        answer.json.details?.some((fault) => fault.path === path),
        `${name} names ${path}`,
      )
  }
  const wrongType = await post('{"name":"abc","count":[]}', json)
  t.same(wrongType.json.details, [{ path: '/count', message: 'must be integer or null' }], 'one error for one value')
  t.equal((await post('{"text":"0123456789012345678901234567890123456789"}', json, '/small')).status, 413, 'a route has its own limit')
  t.equal((await post('{"name":"abc"}', { 'content-type': 'application/vnd.api+json; charset="UTF-8"' })).status, 201)
  t.equal((await post(JSON.stringify({ name: 'abc', free: '["{\\'.repeat(40) }))).status, 201, 'brackets in a text are text')
  t.same((await server.request('POST', '/small')).json, {}, 'no body where the route says that none means an empty one')
  t.equal((await server.request('PUT', '/small')).status, 400, 'else a body that was forgotten would change everything')
  t.same((await server.request('PUT', '/small', { body: {} })).json, {})
  t.match((await server.request<Failure>('POST', '/things')).json, { error: 'invalid_request', message: /needs a JSON body/ })
})

t.test('parameters that are wrong, and that are right', async (t) => {
  const server = await open(t)
  const table: [query: string, status: number, value?: object][] = [
    ['', 200, {}],
    [
      '?page=2&full=true&ratio=-0.5&kind=red&words=a&words=b%20c&unknown=1',
      200,
      { page: 2, full: true, ratio: -0.5, kind: 'red', words: ['a', 'b c'] },
    ],
    ['?page=0', 400],
    ['?page=1.5', 400],
    ['?page=1e3', 400],
    ['?page=', 400],
    ['?page=abc', 400],
    ['?page=1&page=2', 400],
    ['?full=yes', 400],
    ['?kind=green', 400],
    ['?kind=red%00', 400],
    ['?unknown=%ff%zz', 200, {}],
  ]
  for (const [query, status, value] of table) {
    const answer = await server.request<Failure & { query?: unknown }>('GET', `/things/${ID}${query}`)
    t.equal(answer.status, status, `"${query}"`)
    if (value) t.same(answer.json.query, value, `"${query}"`)
    else t.equal(answer.json.error, 'invalid_request')
  }
  for (const id of ['abc', '123', `${ID}0`, '%00', `${ID}%00`]) t.equal((await server.request('GET', `/things/${id}`)).status, 400, id)
})

t.test('a query parameter that a route does not know', async (t) => {
  const strict = await open(t)
  const table: [query: string, message: string | null][] = [
    ['?page=2&pageSize=3', null],
    ['?pagesize=3', 'The query parameter pagesize is unknown. Did you mean pageSize? The known ones are page, pageSize.'],
    ['?page=1&limit=1', 'The query parameter limit is unknown. The known ones are page, pageSize.'],
    [`?${'n'.repeat(5_000)}=1`, `The query parameter ${'n'.repeat(60)} is unknown. The known ones are page, pageSize.`],
    ['?__proto__=1', 'The query parameter __proto__ is unknown. The known ones are page, pageSize.'],
  ]
  for (const [query, message] of table) {
    const answer = await strict.request<Failure>('GET', `/api/v1/shelf${query}`)
    if (message === null) t.equal(answer.status, 200)
    else t.match([answer.status, answer.json], [400, { error: 'invalid_request', message }], query)
  }
  const { json } = await strict.request<Failure>('GET', '/api/v1/shelf?a=1&b=2&page=1&a=3')
  t.same(json.details, [
    { path: '/a', message: 'is unknown' },
    { path: '/b', message: 'is unknown' },
  ])
  t.equal((await strict.request('GET', '/api/v1/anything?iss=https://a.example&page=1')).status, 200, 'services add their own')

  const lines: unknown[][] = []
  const log = { ...silentLog, debug: (...line: unknown[]) => lines.push(line) }
  const lenient = await openTestServer(t, { routes, log, admin: false, settings: { compatibility: { legacyNames: true } } })
  t.same((await lenient.request('GET', '/api/v1/shelf?limit=1&page=2')).json, { query: { page: 2 } })
  t.same((await lenient.request('GET', '/api/v1/shelf?page=0')).json, { query: { page: 1 } }, 'older clients count pages from 0')
  t.equal((await lenient.request('GET', '/api/v1/shelf?page=-1')).status, 400)
  t.equal((await lenient.request('GET', '/api/v1/shelf?page=0&page=0')).status, 400)
  t.equal((await strict.request('GET', '/api/v1/shelf?page=0')).status, 400)
  t.match(lines, [[{ names: ['limit'] }, 'Ignored unknown query parameters']])
})

t.test('one shape for every refusal', async (t) => {
  const server = await open(t)
  const table: [method: string, path: string, status: number, error: string][] = [
    ['GET', '/nowhere', 404, 'not_found'],
    ['GET', '/things/%ff', 404, 'not_found'],
    ['GET', '/%2e%2e/%2e%2e/etc/passwd', 404, 'not_found'],
    ['GET', '//things', 404, 'not_found'],
    ['DELETE', '/things', 405, 'method_not_allowed'],
    ['POST', `/things/${ID}`, 405, 'method_not_allowed'],
    ['OPTIONS', '/things', 405, 'method_not_allowed'],
    ['GET', '/protected', 401, 'unauthorized'],
    ['GET', '/broken', 500, 'internal'],
    ['GET', '/stranger', 500, 'internal'],
  ]
  for (const [method, path, status, error] of table) {
    const answer = await server.request<Failure>(method, path)
    t.equal(answer.status, status, `${method} ${path}`)
    t.same({ ...answer.json, message: '' }, { error, message: '', requestId: answer.headers.get('x-request-id') }, `${method} ${path}`)
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.notMatch(answer.text, /secret/)
  }
  const wrong = await server.request('DELETE', `/things/${ID}`)
  t.equal(wrong.headers.get('allow'), 'GET, HEAD')
  const reader = await server.signUp({ username: 'rita' })
  const forbidden = await server.request<Failure>('GET', '/protected', { token: reader.token })
  t.match([forbidden.status, forbidden.json.error], [403, 'forbidden'])
  const head = await server.request('HEAD', '/nowhere')
  t.match([head.status, head.text], [404, ''])
})

t.test('raw requests that Node or restify would answer in another way, or die of', async (t) => {
  const server = await open(t, { bodyDeadlineMs: 300 })
  const host = 'Host: x\r\n'
  const end = 'Connection: close\r\n\r\n'
  const table: [name: string, request: string | Buffer, status: number][] = [
    ['no host', `GET /nowhere HTTP/1.1\r\n${end}`, 400],
    ['no host, 1.0', `GET /nowhere HTTP/1.0\r\n\r\n`, 404],
    ['bad host', `GET / HTTP/1.1\r\nHost: ]\r\n${end}`, 400],
    ['host with a path', `GET / HTTP/1.1\r\nHost: a/protected?\r\n${end}`, 400],
    ['absolute target', `GET http://[ HTTP/1.1\r\n${host}${end}`, 400],
    ['garbage', 'nonsense\r\n\r\n', 400],
    ['header overflow', `GET / HTTP/1.1\r\n${host}X: ${'a'.repeat(20_000)}\r\n${end}`, 431],
    ['header injection', `GET / HTTP/1.1\r\n${host}X-Request-Id: a\rb\r\n${end}`, 400],
    ['raw bytes in the path', Buffer.from(`GET /\xff\xfe HTTP/1.1\r\n${host}${end}`, 'latin1'), 400],
    ['the server as a whole', `OPTIONS * HTTP/1.1\r\n${host}${end}`, 404],
    ['upgrade', `GET /nowhere HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n`, 404],
    ['unknown expectation', `GET /nowhere HTTP/1.1\r\n${host}Expect: miracles\r\n${end}`, 404],
    ['smuggling', `POST /things HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n${end}`, 400],
    ['body cut short', `POST /things HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: 10\r\n${end}{"na`, 408],
  ]
  for (const [name, request, status] of table) {
    const answer = await server.raw(request, { waitMs: 30_000 })
    t.equal(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), status, name)
    t.match(answer, /\r\nX-Request-Id: [0-9a-f-]{36}\r\n/i, name)
    t.match(answer, /"error":"(invalid_request|request_timeout|not_found|method_not_allowed)","message":"[^"]+","requestId"/, name)
  }
  t.equal((await server.request('GET', `/things/${ID}`)).status, 200, 'the server answers still')
})

t.test('a body that crawls is given up, and a client that leaves is noticed', async (t) => {
  const server = await open(t, { bodyDeadlineMs: 300 })
  const begun = performance.now()
  const answer = await server.raw(
    'POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{',
    { waitMs: 40_000 },
  )
  t.match(answer, /^HTTP\/1\.1 408 .*"error":"request_timeout","message":"The body arrived too slowly: 1 bytes of it/s)
  t.ok(performance.now() - begun < 30_000)

  for (const path of ['/slow', '/late']) {
    await new Promise<void>((resolve) => {
      const request = http.get(server.url + path)
      request.on('error', () => resolve())
      setTimeout(() => request.destroy(), 50)
    })
  }
  await new Promise<void>((resolve) => {
    const socket = net.connect(server.port, '127.0.0.1', () =>
      socket.write('POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'),
    )
    setTimeout(() => socket.destroy(), 50)
    socket.on('close', () => resolve())
  })
  t.equal((await server.request('GET', `/things/${ID}`)).status, 200)
})

t.test('a misspelled member gets the nearest name, wherever it stands', async (t) => {
  const server = await openTestServer(t, { routes, admin: false })
  const refusalOf = async (body: unknown) => (await server.request<Failure>('POST', '/things', { body })).json
  t.match(await refusalOf({ name: 'abc', cuont: 1 }), {
    message: 'The member cuont is unknown. Did you mean count?',
    details: [{ path: '/cuont', message: 'is unknown' }],
  })
  t.match((await refusalOf({ nam: 'abc' })).message, 'The member name is missing. The member nam is unknown. Did you mean name?')
  t.match(
    (await refusalOf({ name: 'abc', tags: [{ label: 'a', labl: 'b' }] })).message,
    'The member tags/0/labl is unknown. Did you mean label?',
  )
  t.equal((await refusalOf({ name: 'abc', entirely: 1 })).message, 'The member entirely is unknown.')
})

t.test('bytes that are no UTF-8 are refused, and unknown parameters of every REST route', async (t) => {
  const words = endpoint({
    ...{ method: 'GET', path: '/api/words', summary: 'parameters', tag: 'test', allow: { who: 'public' } },
    query: Type.Object({ words: Type.Optional(Type.String()), full: Type.Optional(Type.Boolean()) }),
    reply: Type.Object({}),
    run: async () => ({}),
  })
  const server = await openTestServer(t, { routes: [words], admin: false })
  const at = '/api/words'
  for (const bad of ['%E0%A4%A', '%FF', 'a%C3', '%C0%80'])
    t.match(await server.request('GET', `${at}?words=${bad}`), { status: 400, json: { error: 'invalid_request' } }, bad)
  for (const good of ['%C3%89t%C3%A9', '100%', '%F0%9F%98%80'])
    t.equal((await server.request('GET', `${at}?words=${good}`)).status, 200, good)
  t.match(await server.request('GET', `${at}?ful=true`), { status: 400, json: { message: /ful is unknown\. Did you mean full\?/ } })
})
