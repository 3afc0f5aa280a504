import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import Type from 'typebox'
import type { Route } from '#api/http/endpoint.ts'
import { eventsOf } from '#api/http/event-stream.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import type { Services } from '#api/http/services.ts'
import { AppError } from '#core/foundation/errors.ts'
import { silentLog } from '#core/foundation/log.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { endpoint, stream } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

/** An answer that is not there by then never comes. */
const PATIENCE_MS = 5_000

class Named extends Error {
  constructor(name: string) {
    super('secret')
    this.name = name
  }
}

/** An error whose every property throws when it is looked at. */
function hostile(): Error {
  const error = new Error('secret')
  for (const name of ['name', 'message', 'stack', 'code', 'cause', 'statusCode']) {
    Object.defineProperty(error, name, {
      get() {
        throw new Error(`${name} was read`)
      },
    })
  }
  return error
}

const trap = () => {
  throw new Error('a trap')
}
/** Everything that restify has a listener for is here, and what an emitter or a logger may choke on. */
const THROWN: [said: string, make: () => unknown][] = [
  ...['error', 'Error', '', 'uncaughtException', 'data', 'restifyError', 'request', 'after', 'close', 'InternalServer', '__proto__'].map(
    (name): [string, () => unknown] => [`an error named "${name}"`, () => new Named(name)],
  ),
  ['an error whose name is no string', () => Object.assign(new Error('secret'), { name: Symbol('error') })],
  ['an object', () => ({ name: 'error', secret: true })],
  ['an object without a prototype', () => Object.assign(Object.create(null), { name: 'error' })],
  ['a string', () => 'secret'],
  ['an empty string', () => ''],
  ['zero', () => 0],
  ['false', () => false],
  ['a symbol', () => Symbol('secret')],
  ['undefined', () => undefined],
  ['null', () => null],
  ['a function', () => () => 'secret'],
  ['a frozen error', () => Object.freeze(new Named('error'))],
  ['an error that throws when it is read', hostile],
  ['a proxy that throws whatever is done with it', () => new Proxy(new Error('secret'), { get: trap, has: trap, getPrototypeOf: trap })],
  [
    'an error that is its own cause',
    () =>
      Object.assign(new Named('error'), {
        get cause() {
          return this
        },
      }),
  ],
  ['an error with a status', () => Object.assign(new Named('error'), { statusCode: 200 })],
]

const params = Type.Object({ index: Type.Integer() })
const thrown = ({ index }: { index: number }) => THROWN[index]![1]()
const shape = { summary: 'throws', tag: 'test', allow: { who: 'public' }, params } as const

/** Every way in which a route can fail before anything was sent. */
const WAYS: Record<string, Route<Services>> = {
  sync: endpoint({
    ...shape,
    method: 'GET',
    path: '/sync/:index',
    run: (_call, input) => {
      throw thrown(input.params)
    },
  }),
  rejected: endpoint({
    ...shape,
    method: 'POST',
    path: '/rejected/:index',
    changes: null,
    run: (_call, input) => Promise.reject(thrown(input.params)),
  }),
  late: endpoint({
    ...shape,
    method: 'GET',
    path: '/late/:index',
    run: async (_call, input) => {
      await sleep(1)
      throw thrown(input.params)
    },
  }),
  stream: stream({
    ...shape,
    path: '/stream/:index',
    mediaTypes: ['text/plain'],
    run: async (_call, input) => {
      throw thrown(input.params)
    },
  }),
  made: stream({
    ...shape,
    path: '/made/:index',
    mediaTypes: ['text/plain'],
    run: async (_call, input) => ({
      kind: 'made',
      make: async () => {
        throw thrown(input.params)
      },
      etag: 'e',
      cacheControl: 'no-store',
    }),
  }),
  follow: stream({
    ...shape,
    path: '/follow/:index',
    mediaTypes: ['text/event-stream'],
    run: async (_call, input) => ({
      kind: 'events',
      open: () => {
        throw thrown(input.params)
      },
    }),
  }),
  upload: endpoint({
    ...shape,
    method: 'POST',
    changes: null,
    path: '/upload/:index',
    upload: { description: 'anything' },
    run: async (_call, input) => {
      throw thrown(input.params)
    },
  }),
}

const BOUNDARY = 'between'
const FORM = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nbytes\r\n--${BOUNDARY}--\r\n`

t.test('whatever a route throws, its client gets an answer that tells nothing, and the log a line', async (t) => {
  let lines = 0
  const log = { ...silentLog, error: () => void lines++ }
  const { url } = await openTestServer(t, { routes: Object.values(WAYS), admin: false, log })
  for (const [way, route] of Object.entries(WAYS)) {
    await t.test(way, async (t) => {
      for (const [index, [said]] of THROWN.entries()) {
        const before = lines
        const headers = way === 'upload' ? { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } : undefined
        const answer = await fetch(`${url}/${way}/${index}`, {
          method: route.method,
          signal: AbortSignal.timeout(PATIENCE_MS),
          ...(headers && { headers, body: FORM }),
        })
        const body = await answer.text()
        t.equal(answer.status, 500, said)
        t.match(JSON.parse(body), { error: 'internal', requestId: String }, said)
        t.notMatch(body, /secret/)
        t.equal(lines, before + 1, `${said} has one line`)
      }
    })
  }
})

t.test('a log that cannot write the error down does not keep the answer', async (t) => {
  const log = { ...silentLog, error: trap }
  const { url } = await openTestServer(t, { routes: Object.values(WAYS), admin: false, log })
  const answer = await get(`${url}/sync/0`)
  t.equal(answer.status, 500)
})

t.test('after the headers only hanging up says that it failed', async (t) => {
  const begun = stream({
    ...shape,
    path: '/begun/:index',
    mediaTypes: ['text/event-stream'],
    run: async (_call, input) =>
      eventsOf(async function* () {
        yield { id: '1', data: 'one' }
        throw thrown(input.params)
      }),
  })
  const { url } = await openTestServer(t, { routes: [begun], admin: false, log: silentLog })
  for (const [index, [said]] of THROWN.entries()) {
    const end = await new Promise<string>((resolve) => {
      const request = http.get(`${url}/begun/${index}`, (response) => {
        t.equal(response.statusCode, 200)
        response.resume()
        response.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
        response.once('end', () => resolve('whole'))
      })
      request.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
      setTimeout(() => resolve('silence'), PATIENCE_MS).unref()
    })
    t.equal(end, 'ECONNRESET', said)
  }
})

t.test('an answer that cannot be written down is an error like others', async (t) => {
  const routes = [
    endpoint({
      ...shape,
      method: 'GET',
      path: '/circle/:index',
      run: async () => {
        const value: Record<string, unknown> = {}
        value['self'] = value
        return value as never
      },
    }),
    endpoint({
      ...shape,
      method: 'GET',
      path: '/getter/:index',
      run: async () =>
        ({
          get value() {
            return trap()
          },
        }) as never,
    }),
    endpoint({ ...shape, method: 'GET', path: '/bigint/:index', run: async () => ({ value: 1n }) as never }),
  ]
  const { url } = await openTestServer(t, { routes, admin: false, log: silentLog })
  for (const way of ['circle', 'getter', 'bigint']) t.equal((await get(`${url}/${way}/0`)).status, 500, way)
})

const sleepRoute = endpoint({
  method: 'GET',
  path: '/sleep/:index',
  summary: 'keeps the database busy',
  tag: 'test',
  allow: { who: 'user' },
  params,
  run: async ({ services }, input) => {
    await services.database.raw('SELECT pg_sleep(?)', [input.params.index])
    return undefined
  },
})

t.test('whose connection to the database ends is told so, and the next request gets another', async (t) => {
  const { database, request, adminToken, signUp } = await openTestServer(t, { routes: [sleepRoute], log: silentLog })
  const readers = [{ token: adminToken }, await signUp({ username: 'bob' }), await signUp({ username: 'cleo' })]
  const asked = Array.from({ length: 24 }, (_, index) => request('GET', '/sleep/4', { token: readers[index % 3]?.token ?? '' }))
  // Again and again, for connections are made anew.
  const cut = async () => {
    await database.raw(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
  }
  for (let turn = 0; turn < 10; turn++) {
    // So that requests are cut at different stages.
    await sleep(100)
    await cut().catch(() => {})
  }
  const answers = await Promise.all(asked)
  t.equal(answers.filter(({ status }) => status === 204 || status === 503).length, 24, 'all are answered')
  t.ok(answers.some(({ status }) => status === 503))
  for (const answer of answers) if (answer.status === 503) t.match(answer.headers.get('retry-after'), /^\d+$/)
  t.equal((await request('GET', '/sleep/0', { token: adminToken })).status, 204)
})

t.test('readers who keep the database busy keep nobody else out', onlyFull, async (t) => {
  const { request, signUp } = await openTestServer(t, { routes: [sleepRoute], log: silentLog })
  const [greedy, other] = [await signUp({ username: 'bob' }), await signUp({ username: 'cleo' })]
  const asked = Array.from({ length: 24 }, () => request('GET', '/sleep/60', { token: greedy.token }))
  // Her requests hold all that they can get by then.
  await sleep(1_000)
  for (let turn = 0; turn < 5; turn++)
    t.equal((await request('GET', '/sleep/0', { token: other.token })).status, 204, 'others are answered')
  const answers = await Promise.all(asked)
  t.same([...new Set(answers.map(({ status }) => status))], [503])
  for (const answer of answers) {
    t.match(answer.json, { error: 'unavailable', message: /Narrow|narrow|Send fewer/ })
    t.match(answer.headers.get('retry-after'), /^\d+$/)
  }
})

t.test('a disk without space is told as that', async (t) => {
  const { database, request } = await openTestServer(t, { log: silentLog, admin: false })
  await database.raw(`
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION full_disk()
  `)
  const body = { username: 'bob', email: 'bob@example.org', password: 'a long enough password' }
  const answer = await request('POST', '/api/v1/setup/initialize', { body })
  t.match(answer, { status: 503, json: { error: 'unavailable', message: /disk .* full/ } })
  t.match(answer.headers.get('retry-after'), /^\d+$/)
})

t.test('an answer that fails after its beginning is ended, and the log says so', async (t) => {
  const lines: string[] = []
  const parts = endpoint({
    ...shape,
    method: 'GET',
    path: '/parts/:index',
    reply: Type.Array(Type.String()),
    // More than an answer that is sent whole.
    run: async () =>
      streamedList([1, 2, 3], 1, async ([part]) => {
        if (part === 3) throw new AppError('unavailable', 'All permits are in use.')
        return ['x'.repeat(2_000_000)]
      }),
  })
  const { url } = await openTestServer(t, { routes: [parts], log: { ...silentLog, warn: (_fields, message) => lines.push(message) } })
  await t.rejects(
    fetch(`${url}/parts/1`).then(async (answer) => await answer.text()),
    { message: 'terminated' },
  )
  t.same(lines, ['An answer was ended in its middle'])
})
