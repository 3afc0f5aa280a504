import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import Type from 'typebox'
import { STATUS_OF_KIND } from '#api/errors.ts'
import { endpoint } from '#api/routes/route.ts'
import { openServer } from '#api/server.ts'
import { ERRORS } from '#core/errors.ts'
import { get, openTestServer } from '#test/support/server.ts'

const routes = [
  endpoint({
    method: 'GET',
    path: '/wait/:ms',
    summary: 'answers after a while',
    tag: 'test',
    allow: { who: 'public' },
    params: Type.Object({ ms: Type.Integer() }),
    reply: Type.Integer(),
    run: async ({ signal }, { params }) => {
      await sleep(params.ms, undefined, { signal })
      return params.ms
    },
  }),
]

t.test('closing lets requests finish, hangs up idle connections and takes no new ones', async (t) => {
  const { url, server, port } = await openTestServer(t, { routes, admin: false })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 10 })
  t.teardown(() => agent.destroy())
  await get(`${url}/wait/0`, { agent })
  const idle = net.connect(port, '127.0.0.1')
  const idleClosed = new Promise<void>((resolve) => idle.on('close', () => resolve()))
  await new Promise<void>((resolve) => idle.once('connect', () => resolve()))
  const running = [200, 300, 400].map((ms) => get(`${url}/wait/${ms}`, { agent }))
  await sleep(80)
  const begun = performance.now()
  const closed = server.close({ deadlineMs: 5_000 })
  const answers = await Promise.all(running)
  t.same(
    answers.map(({ status, bytes }) => `${status} ${bytes}`),
    ['200 200', '200 300', '200 400'],
  )
  await Promise.all([closed, idleClosed])
  t.ok(performance.now() - begun < 2_000, 'without waiting for the deadline')
  await t.rejects(get(`${url}/wait/0`), { code: 'ECONNREFUSED' })
  await server.close({ deadlineMs: 10 })
})

t.test('a request that never ends is cut at the deadline, and told so by its signal', async (t) => {
  const { url, server } = await openTestServer(t, { routes, admin: false })
  const endless = get(`${url}/wait/60000`).then(
    () => 'answered',
    (error: NodeJS.ErrnoException) => error.code,
  )
  await sleep(50)
  const begun = performance.now()
  await server.close({ deadlineMs: 100 })
  t.ok(performance.now() - begun < 1_000)
  t.equal(await endless, 'ECONNRESET')
})

t.test('building, listening and a port that is taken', async (t) => {
  const { services, port } = await openTestServer(t, { routes, admin: false })
  const second = openServer(services, { routes })
  await t.rejects(second.listen({ host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
  const six = await second.listen({ host: '::1', port: 0 }).catch((error: NodeJS.ErrnoException) => error.code)
  if (typeof six === 'object') {
    t.match(six.url, /^http:\/\/\[::1\]:\d+$/)
    t.equal((await get(`${six.url}/wait/0`)).status, 200)
  }
  await second.close({ deadlineMs: 100 })
  const cookieOnPost = [
    endpoint({ method: 'POST', path: '/x', summary: '', tag: '', allow: { who: 'user', cookie: true }, run: async () => undefined }),
  ]
  t.throws(() => openServer(services, { routes: cookieOnPost }), /cookie is only for GET/)
})

t.test('every kind of refusal has its status', async (t) => {
  for (const [code, { kind }] of Object.entries(ERRORS)) t.ok(STATUS_OF_KIND[kind] >= 400, code)
})
