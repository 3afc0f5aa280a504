import net, { type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { endpoint, waitRoute } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

const routes = [
  waitRoute(),
  endpoint({
    method: 'GET',
    path: '/large',
    summary: 'answers more than fits into any buffer on the way',
    tag: 'test',
    allow: { who: 'public' },
    reply: Type.String(),
    run: async () => 'x'.repeat(20_000_000),
  }),
  endpoint({
    method: 'POST',
    changes: null,
    path: '/body',
    summary: 'takes a body',
    tag: 'test',
    allow: { who: 'public' },
    body: Type.Object({ text: Type.String({ maxLength: 1_000 }) }),
    reply: Type.Integer(),
    run: async (_call, { body }) => body.text.length,
  }),
]
const LARGE = 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n'
const BODY = 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"text":"'
const ASK = (ms: number) => `GET /wait/${ms} HTTP/1.1\r\nHost: x\r\n\r\n`

/** A connection and what has become of it. */
interface Line {
  socket: Socket
  text: string
  closed: Promise<void>
  isClosed: boolean
}

async function connect(t: Test, port: number, said = '', localAddress = '127.0.0.1'): Promise<Line> {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress })
  const line: Line = { socket, text: '', isClosed: false, closed: Promise.resolve() }
  line.closed = new Promise((resolve) => {
    socket.once('close', () => {
      line.isClosed = true
      resolve()
    })
  })
  socket.on('data', (chunk) => {
    line.text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  if (said !== '') socket.write(said)
  return line
}

/** Tells whether it comes true within the patience of a slow machine. */
async function comes(isSo: () => boolean): Promise<boolean> {
  for (const end = performance.now() + 60_000; performance.now() < end; await sleep(10)) if (isSo()) return true
  return false
}

t.test('silent connections keep nobody out: the oldest of them are given up', async (t) => {
  const { url, port } = await openTestServer(t, { routes, admin: false, server: { connections: { connectionsMax: 10 } } })
  const talking = await connect(t, port, ASK(60_000))
  const silent: Line[] = []
  for (let count = 0; count < 40; count++) silent.push(await connect(t, port))
  t.equal((await get(`${url}/wait/0`, { headers: { connection: 'close' } })).status, 200)
  t.ok(await comes(() => silent.filter(({ isClosed }) => !isClosed).length <= 10))
  t.ok(silent[0]?.isClosed, 'the oldest')
  t.notOk(silent.at(-1)?.isClosed, 'and not the youngest')
  t.notOk(talking.isClosed, 'nor one that is being answered')
})

t.test('then those that are quiet between two requests; where all are being answered a new one is refused', async (t) => {
  const { port } = await openTestServer(t, { routes, admin: false, server: { connections: { connectionsMax: 3 } } })
  const quiet = await connect(t, port, ASK(0))
  t.ok(await comes(() => quiet.text.includes('200 OK')))
  const busy: Line[] = []
  for (let count = 0; count < 3; count++) {
    busy.push(await connect(t, port, ASK(4_000)))
    // One after the other, so that each is older than the next.
    await sleep(100)
  }
  t.ok(await comes(() => quiet.isClosed))
  const refused = await connect(t, port, ASK(0))
  await refused.closed
  t.equal(refused.text, '')
  t.ok(await comes(() => busy.every(({ text }) => text.includes('200 OK'))), 'those are answered')
  const later = await connect(t, port, ASK(0))
  t.ok(await comes(() => later.text.includes('200 OK')), 'and there is room again')
})

t.test('one address has so many, and takes them from nobody else', async (t) => {
  const { port } = await openTestServer(t, { routes, admin: false, settings: { connectionsPerAddress: 8 } })
  const other = await connect(t, port, '', '127.0.0.2')
  const own: Line[] = []
  for (let count = 0; count < 30; count++) own.push(await connect(t, port))
  t.ok(await comes(() => own.filter(({ isClosed }) => !isClosed).length === 8))
  t.notOk(other.isClosed)
  other.socket.write(ASK(0))
  t.ok(await comes(() => other.text.includes('200 OK')))
})

t.test('of many that come at once none is given up for the next before its request is read', async (t) => {
  const { port } = await openTestServer(t, { routes, admin: false, server: { connections: { connectionsMax: 4 } } })
  for (let count = 0; count < 4; count++) await connect(t, port, BODY)
  // The server has seen their beginnings.
  await sleep(100)
  const late = await Promise.all(['127.0.0.2', '127.0.0.3'].map((address) => connect(t, port, '', address)))
  // The server knows them; it must not give them up meanwhile.
  await sleep(200)
  for (const { socket } of late) socket.write(ASK(0))
  t.ok(await comes(() => late.every(({ text }) => text.includes('200 OK'))))
})

for (const [name, said] of Object.entries({ 'takes its answer': LARGE, 'sends its request': BODY }))
  t.test(`an address that ${name} slowly, on many connections, keeps no other out`, async (t) => {
    const { port } = await openTestServer(t, { routes, admin: false, server: { connections: { connectionsMax: 6 } } })
    const honest = await connect(t, port, ASK(3_000), '127.0.0.3')
    const slow: Line[] = []
    for (let count = 0; count < 5; count++) {
      const line = await connect(t, port, said)
      line.socket.pause()
      slow.push(line)
    }
    // Their buffers are full by then.
    await sleep(300)
    const others = await Promise.all(['127.0.0.2', '127.0.0.4'].map((address) => connect(t, port, ASK(0), address)))
    t.ok(await comes(() => others.every(({ text }) => text.includes('200 OK'))), 'there is room for others')
    t.ok(await comes(() => honest.text.includes('200 OK')), 'and for whoever waits for the server')
  })

t.test('one slow connection of each of many addresses makes room when it is stalled, and one that moves does not', async (t) => {
  // In this time the moving one sends eight times what it has to, so that a machine may stand still for two seconds of it.
  const connections = { connectionsMax: 3, stalledMs: 2_500 }
  const { port } = await openTestServer(t, { routes, admin: false, server: { connections } })
  const moving = await connect(t, port, BODY.replace('900', '1000000'))
  const stalled = await Promise.all(['127.0.0.2', '127.0.0.3'].map((address) => connect(t, port, BODY, address)))
  const sending = setInterval(() => moving.socket.write('x'.repeat(2_000)), 20)
  t.teardown(() => clearInterval(sending))
  // Less than a connection may stall.
  await sleep(100)
  const early = await connect(t, port, ASK(0), '127.0.0.4')
  await early.closed
  t.equal(early.text, '', 'at first nobody is stalled')
  const isServed = async (): Promise<boolean> => {
    const later = await connect(t, port, ASK(0), '127.0.0.4')
    await comes(() => later.isClosed || later.text.includes('200 OK'))
    return later.text.includes('200 OK')
  }
  let hasRoom = await isServed()
  for (const end = performance.now() + 60_000; !hasRoom && performance.now() < end; hasRoom = await isServed()) await sleep(50)
  t.ok(hasRoom)
  t.ok(await comes(() => stalled.filter(({ isClosed }) => isClosed).length === 1))
  t.notOk(moving.isClosed)
})

async function sendThousands(t: Test, cpuMs: () => number = () => 0): Promise<number> {
  const { port } = await openTestServer(t, { routes, admin: false })
  const few = await connect(t, port, ASK(0).repeat(10))
  t.ok(await comes(() => few.text.split('200 OK').length === 11), 'some are answered')
  await connect(t, port, ASK(0))
  const before = cpuMs()
  const line = await connect(t, port, ASK(0).repeat(5_000))
  await line.closed
  const tookMs = cpuMs() - before
  const again = await connect(t, port, ASK(0))
  t.ok(await comes(() => again.text.includes('200 OK')))
  return tookMs
}

t.test('whoever sends thousands of requests in one packet is disconnected, and others are answered', async (t) => {
  await sendThousands(t)
})

t.test('thousands of requests in one packet hold nobody up', onlyCost, async (t) => {
  const tookMs = await sendThousands(t, threadCpuMs)
  t.ok(tookMs < 700, `${Math.round(tookMs)} ms of this thread`)
})

t.test('a trusted proxy stands for many', async (t) => {
  const settings = { connectionsPerAddress: 8, trustedProxies: ['127.0.0.1'] }
  const { port } = await openTestServer(t, { routes, admin: false, settings })
  const lines: Line[] = []
  for (let count = 0; count < 20; count++) lines.push(await connect(t, port, ASK(0)))
  t.ok(await comes(() => lines.every(({ text }) => text.includes('200 OK'))))
  t.notOk(lines.some(({ isClosed }) => isClosed))
})

t.test('whoever says nothing at all is hung up, whoever has asked is not', async (t) => {
  // A machine may stand still for two seconds before it reads what was asked.
  const { port } = await openTestServer(t, { routes, admin: false, server: { connections: { firstByteMs: 2_500 } } })
  const asked = await connect(t, port, ASK(3_000))
  const silent = await connect(t, port)
  await silent.closed
  t.equal(silent.text, '')
  t.ok(await comes(() => asked.text.includes('200 OK')))
  t.notOk(asked.isClosed)
})

t.test('CONNECT is answered, then its connection is closed', async (t) => {
  const { port } = await openTestServer(t, { routes, admin: false })
  const line = await connect(t, port, 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n')
  t.ok(await comes(() => line.isClosed))
  t.match(line.text, /^HTTP\/1\.1 405 .*method_not_allowed/s)
})
