import { channel } from 'node:diagnostics_channel'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import net, { type Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { STATUS_OF_KIND } from '#api/http/errors.ts'
import { Server } from '#api/server.ts'
import { ERRORS } from '#core/foundation/errors.ts'
import { endpoint, stream, waitRoute } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

/** How many requests have begun to wait in {@link routes}. On a slow machine the first may have ended when the last begins. */
let waits = 0

const routes = [
  waitRoute((by) => {
    if (by === 1) waits += 1
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
  const before = waits
  const running = [800, 900, 1_000].map((ms) => get(`${url}/wait/${ms}`, { agent }))
  while (waits < before + 3) await sleep(5)
  const begun = performance.now()
  const closed = server.close({ deadlineMs: 60_000 })
  const answers = await Promise.all(running)
  t.same(
    answers.map(({ status, bytes }) => `${status} ${bytes}`),
    ['200 800', '200 900', '200 1000'],
  )
  await Promise.all([closed, idleClosed])
  t.ok(performance.now() - begun < 30_000, 'without waiting for the deadline')
  await t.rejects(get(`${url}/wait/0`), { code: 'ECONNREFUSED' })
  await server.close({ deadlineMs: 10 })
})

t.test('a request that never ends is cut at the deadline, and told so by its signal', async (t) => {
  const { url, server } = await openTestServer(t, { routes, admin: false })
  const before = waits
  const endless = get(`${url}/wait/60000`).then(
    () => 'answered',
    (error: NodeJS.ErrnoException) => error.code,
  )
  while (waits === before) await sleep(5)
  const begun = performance.now()
  await server.close({ deadlineMs: 100 })
  t.ok(performance.now() - begun < 30_000, 'long before it would have been answered')
  t.equal(await endless, 'ECONNRESET')
})

t.test('building, listening and a port that is taken', async (t) => {
  const { services, port } = await openTestServer(t, { routes, admin: false })
  const second = new Server(services, { routes })
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
  t.throws(() => new Server(services, { routes: cookieOnPost }), /cookie is only for GET/)
})

t.test('a connection may be silent for as long as the slowest page may take', async (t) => {
  for (const [analysisDeadlineMs, expected] of [
    [10_000, 120_000],
    [600_000, 630_000],
  ] as const) {
    const { url } = await openTestServer(t, { routes, admin: false, settings: { analysisDeadlineMs } })
    const accepted: Socket[] = []
    const notice = (message: unknown) => accepted.push((message as { socket: Socket }).socket)
    channel('net.server.socket').subscribe(notice)
    const agent = new http.Agent({ keepAlive: false })
    const before = waits
    const asked = get(`${url}/wait/1000`, { agent })
    const port = Number(new URL(url).port)
    const own = () => accepted.filter((socket) => socket.localPort === port)
    while (waits === before || own().length === 0) await sleep(5)
    channel('net.server.socket').unsubscribe(notice)
    t.same(
      own().map(({ timeout }) => timeout),
      [expected],
    )
    await asked
  }
})

t.test('garbage after a request is not answered into the middle of that answer', async (t) => {
  const file = path.join(t.testdir(), 'large')
  await writeFile(file, Buffer.alloc(40_000_000, 'x'))
  const large = stream({
    path: '/large',
    summary: 'more than the network holds',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['text/plain'],
    run: async () => ({ kind: 'file', path: file, mediaType: 'text/plain', etag: 'e', cacheControl: 'no-store' }),
  })
  const { url, port } = await openTestServer(t, { routes: [...routes, large], admin: false })
  const socket = net.connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'))
  let answer = ''
  socket.on('error', () => {})
  socket.once('data', async (chunk) => {
    answer += chunk.toString('latin1')
    socket.pause()
    socket.write('nonsense\r\n\r\n')
    // The answer to the second request would have come by then.
    await sleep(300)
    socket.on('data', (more) => {
      answer += more.toString('latin1')
    })
    socket.resume()
  })
  await new Promise<void>((resolve) => socket.on('close', () => resolve()))
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.equal(answer.split('HTTP/1.1 ').length, 2, 'one status line')
  const after = net.connect(port, '127.0.0.1', () => after.write('GET /wait/0 HTTP/1.1\r\nHost: x\r\n\r\n'))
  let both = ''
  after.once('data', () => after.write('nonsense\r\n\r\n'))
  after.on('data', (chunk) => {
    both += chunk.toString('latin1')
  })
  await new Promise<void>((resolve) => after.on('close', () => resolve()))
  t.match(both, /^HTTP\/1\.1 200 .*HTTP\/1\.1 400 .*"error":"invalid_request"/s, 'after a whole answer there is room for another')
  t.equal((await get(`${url}/wait/0`)).status, 200)
})

t.test('every kind of refusal has its status', async (t) => {
  for (const [code, { kind }] of Object.entries(ERRORS)) t.ok(STATUS_OF_KIND[kind] >= 400, code)
})
