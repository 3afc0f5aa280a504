/**
 * A compromised runner: it implements the protocol and violates it in the way that the called function names. It starts like the real one, with the
 * same permissions.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, Socket } from 'node:net'

const { frameOf, createFrameReader } = await import(process.argv[1].replace(/test\/support\/.*$/, 'core/foundation/frames/frame.mjs'))
const server = new Socket({ fd: 3, readable: true, writable: true })
const send = (header, body) => server.write(Buffer.concat(frameOf(header, body)))
const flood = (step) => {
  const more = () => {
    for (let times = 0; times < 500; times++) step()
    setImmediate(more)
  }
  more()
}

/** Writes without end, as fast as the server reads, or once per interval in milliseconds. */
const pour = (stream, bytes, everyMs) => {
  const more = () => stream.write(bytes, () => (everyMs ? undefined : setImmediate(more)))
  if (everyMs) setInterval(more, everyMs)
  else more()
}
/** Some 30 KB that are costly to parse. */
const COSTLY = Array(10_000).fill([])

const tryTo = async (work) => {
  try {
    return String(await work()).slice(0, 100)
  } catch (error) {
    return error.code ?? error.name
  }
}

async function explore() {
  const { port } = JSON.parse(process.exploring)
  return {
    environment: Object.keys(process.env),
    words: process.argv.length,
    read: await tryTo(() => readFileSync('/etc/passwd', 'utf8')),
    readOwnEnvironment: await tryTo(() => readFileSync('/proc/self/environ', 'utf8')),
    readServer: await tryTo(() => readFileSync(`/proc/${process.ppid}/environ`, 'utf8')),
    list: await tryTo(() => readdirSync('/').join()),
    write: await tryTo(() => writeFileSync('/tmp/written-by-a-runner', 'x')),
    spawn: await tryTo(async () => (await import('node:child_process')).spawnSync('/bin/true').pid),
    worker: await tryTo(async () => new (await import('node:worker_threads')).Worker('1', { eval: true }).threadId),
    inspector: await tryTo(async () => (await import('node:inspector')).open(0)),
    wasi: await tryTo(async () => new (await import('node:wasi')).WASI({ version: 'preview1' })),
    connect: await tryTo(
      () =>
        new Promise((resolve, reject) => {
          connect(port, '127.0.0.1', () => resolve('connected')).on('error', reject)
        }),
    ),
    descriptors: await Promise.all([0, 1, 2, 3, 4, 5].map((fd) => tryTo(async () => (await import('node:fs')).fstatSync(fd).isSocket()))),
  }
}

const ACTS = {
  strays: (sandbox) => flood(() => send({ kind: 'done', sandbox, id: 1e9 }, '1')),
  others: () => flood(() => send({ kind: 'log', sandbox: 1e9, id: 1 }, '{}')),
  lines: (sandbox, id) => flood(() => send({ kind: 'log', sandbox, id }, '{"message":"x"}')),
  requests: (sandbox, id) => flood(() => send({ kind: 'host', sandbox, id: 1, call: id, wanted: 'sleep' }, '{"payload":{}}')),
  garbage: () => flood(() => server.write(Buffer.alloc(65_536, 255))),
  giant: (sandbox, id) => send({ kind: 'done', sandbox, id }, 'x'.repeat(20_000_000)),
  // Values that are costly to parse, in messages of every kind, and longer than that kind may be.
  costlyAnswer: (sandbox, id) => send({ kind: 'done', sandbox, id }, '[],'.repeat(8_000_000)),
  costlyFailure: (sandbox, id) => send({ kind: 'fail', sandbox, id }, '['.repeat(8_000_000)),
  costlyLine: (sandbox, id) => send({ kind: 'log', sandbox, id }, `{"data":${'[['.repeat(4_000_000)}`),
  costlyFetch: (sandbox, id) => send({ kind: 'host', sandbox, id: 1, call: id, wanted: 'fetch' }, '{"":'.repeat(6_000_000)),
  costlySleep: (sandbox, id) => send({ kind: 'host', sandbox, id: 1, call: id, wanted: 'sleep' }, '[],'.repeat(1_000_000)),
  costlyHeader: () => server.write(Buffer.concat([Buffer.from([0, 0xff, 0, 0, 0, 0, 0, 0]), Buffer.alloc(65_280, '[')])),
  unwanted(sandbox) {
    const frame = Buffer.concat(frameOf({ kind: 'done', sandbox, id: 1e9 }, 'x'.repeat(1_000_000)))
    const more = () => server.write(frame, more)
    more()
  },
  // Headers of the maximum size, of uncounted kinds, or below the limit of unexpected messages.
  readies: () => pour(server, frameOf({ kind: 'ready', x: COSTLY })[0]),
  pongs: () => pour(server, frameOf({ kind: 'pong', x: COSTLY })[0], 2),
  fatLine: (sandbox, id) => pour(server, frameOf({ kind: 'done', sandbox, id: id + 1e6, x: COSTLY })[0], 2),
  shouts: () => pour(process.stderr, Buffer.alloc(65_536, 'x')),
  // Within the limits of their kinds.
  deepFetch(sandbox, id) {
    send({ kind: 'host', sandbox, id: 1, call: id, wanted: 'fetch' }, `{"payload":${'['.repeat(1_200_000)}${']'.repeat(1_200_000)}}`)
    send({ kind: 'done', sandbox, id }, '"sent"')
  },
  wideLines(sandbox, id) {
    for (let lines = 0; lines < 199; lines++) send({ kind: 'log', sandbox, id }, `{"message":"x","data":[${'[],'.repeat(10_000)}[]]}`)
    send({ kind: 'done', sandbox, id }, '"sent"')
  },
  header: () => server.write(Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 123, 120, 125])),
  deaf: () => server.pause(),
  hangsUp: () => server.end(),
  exits: () => process.exit(0),
  forges(sandbox, id) {
    for (const odd of [-1, 0, 1.5, null, 'x', NaN, 2 ** 53, { id }, [id]]) {
      send({ kind: 'done', sandbox, id: odd }, '"forged"')
      send({ kind: 'done', sandbox: odd, id }, '"forged"')
      send({ kind: 'loaded', sandbox: odd, defined: ['x'] })
    }
    for (const header of [null, 1, 'x', [], { kind: '__proto__' }, { kind: 'ready' }, { kind: 'loaded', sandbox, defined: ['forged'] }])
      send(header)
    send({ kind: 'host', sandbox, id: 1, call: id + 1e6, wanted: 'sleep' }, 'no json')
    send({ kind: 'fail', sandbox, id: id + 1e6 }, '{"code":"closed"}')
    send({ kind: 'done', sandbox, id, cpuMs: 'much', wallMs: {} }, '"first"')
    send({ kind: 'done', sandbox, id }, '"second"')
  },
  async explore(sandbox, id) {
    send({ kind: 'done', sandbox, id }, JSON.stringify(await explore()))
  },
}

server.on(
  'data',
  createFrameReader(({ kind, sandbox, id, name, moreLength = 0 }, given) => {
    const body = given.toString().slice(kind === 'call' ? moreLength : 0)
    if (kind === 'load') send({ kind: 'loaded', sandbox, defined: ['act', 'echo'] })
    else if (kind === 'ping') send({ kind: 'pong', id })
    else if (kind !== 'call') return
    else if (name === 'echo') send({ kind: 'done', sandbox, id }, body)
    else {
      const { act, ...more } = JSON.parse(body)
      process.exploring = JSON.stringify(more)
      ACTS[act](sandbox, id)
    }
  }),
)
server.on('close', () => process.kill(process.pid, 'SIGKILL'))
server.on('error', () => {})
send({ kind: 'ready' })
