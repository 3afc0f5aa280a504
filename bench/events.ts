/**
 * The cost of a stream of events, and how soon an event reaches all streams: many streams of many users on one node, compared with as many of
 * a bare node:http server. `npm run bench:events [-- --streams 5000]`
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { NODE_FLAGS } from '#api/node-tuning.mjs'
import { median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'
import { makeApiKey } from '#core/account/api-key.ts'
import { ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({ options: { streams: { type: 'string', default: '5000' }, events: { type: 'string', default: '20' } } })
const STREAMS = Number(values.streams)
const EVENTS = Number(values.events)
/** Below the limit of one user. */
const STREAMS_PER_USER = 50
/** One address of this machine has no more free ports. */
const STREAMS_PER_ADDRESS = 20_000
const OPENED_AT_ONCE = 100
/** Until the work of opening is done: two intervals of the garbage collection (api/garbage.ts). */
const SETTLE_MS = 12_000
const MEMORY_RATIO_MAX = 1.5
const REACHED_MS_MAX = 250

/** Clients that only count the events that reach them. */
class Clients {
  readonly sockets: Socket[] = []
  reached = 0
  lastAt = 0

  async open(options: { port: number; path: string; headersOf: (index: number) => string }): Promise<void> {
    const { port, path, headersOf } = options
    for (let start = 0; start < STREAMS; start += OPENED_AT_ONCE) {
      const some = Array.from({ length: Math.min(OPENED_AT_ONCE, STREAMS - start) }, (_, index) => start + index)
      await Promise.all(some.map((index) => this.#openOne({ port, path, headers: headersOf(index), index })))
    }
  }

  #openOne({ port, path, headers, index }: { port: number; path: string; headers: string; index: number }): Promise<void> {
    return new Promise((resolve, reject) => {
      const localAddress = `127.0.0.${2 + Math.floor(index / STREAMS_PER_ADDRESS)}`
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      this.sockets.push(socket)
      let begun = ''
      socket.setEncoding('latin1')
      socket.once('error', reject)
      socket.on('data', (text: string) => {
        if (begun !== 'open') {
          begun += text
          if (!begun.includes('id: ')) return
          if (!begun.startsWith('HTTP/1.1 200')) return reject(new Error(begun.slice(0, 300)))
          begun = 'open'
          resolve()
        } else if (text.includes('library_updated')) {
          this.reached += 1
          this.lastAt = performance.now()
        }
      })
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${headers}\r\n`)
    })
  }

  /** Milliseconds until every client has received the event that `announce` causes. */
  async reach(announce: () => Promise<unknown>): Promise<number> {
    this.reached = 0
    const at = performance.now()
    await announce()
    while (this.reached < STREAMS) {
      if (performance.now() - at > 30_000) throw new Error(`Only ${this.reached} of ${STREAMS} streams received the event within 30 s`)
      await sleep(1)
    }
    return this.lastAt - at
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

const residentKb = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/** Time of a core that a process has used, which other work on the machine changes little. The clock of Linux has 100 ticks per second. */
function cpuMs(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
  return (Number(user) + Number(system)) * 10
}

/** The memory of each stream, and the time until events have reached all streams. */
async function measure(
  pid: number,
  open: { port: number; path: string; headersOf: (index: number) => string },
  announce: () => Promise<unknown>,
) {
  const clients = new Clients()
  await sleep(SETTLE_MS)
  const before = residentKb(pid)
  await clients.open(open)
  await sleep(SETTLE_MS)
  const after = residentKb(pid)
  const times: number[] = []
  const usedMs = cpuMs(pid)
  for (let index = 0; index < EVENTS; index += 1) {
    times.push(await clients.reach(announce))
    await sleep(500)
  }
  const cpuMsEach = (cpuMs(pid) - usedMs) / EVENTS
  clients.close()
  return { kb: (after - before) / STREAMS, medianMs: median(times), worstMs: Math.max(...times), cpuMs: cpuMsEach }
}

async function measureBare() {
  const child: ChildProcess = fork(fileURLToPath(new URL('./bare-event-server.ts', import.meta.url)), { execArgv: [...NODE_FLAGS] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  try {
    return await measure(child.pid as number, { port, path: '/', headersOf: () => '' }, () => fetch(`http://127.0.0.1:${port}/send`))
  } finally {
    child.kill()
  }
}

/** API keys of as many users as the streams need, inserted by SQL: hashing passwords would take long. */
async function addKeys(client: Client): Promise<string[]> {
  const keys: string[] = []
  for (let user = 0; user < Math.ceil(STREAMS / STREAMS_PER_USER); user += 1) {
    const { key, keyPrefix, keyHash } = makeApiKey()
    const name = `user${user}`
    await client.query(
      `WITH made AS (INSERT INTO users (username, email, password_hash, role) VALUES ($1, $2, 'x', 'reader') RETURNING id)
       INSERT INTO api_keys (user_id, name, key_prefix, key_hash, permissions) SELECT id, 'bench', $3, $4, $5 FROM made`,
      [name, `${name}@example.org`, keyPrefix, keyHash, ROLE_PERMISSIONS.reader],
    )
    keys.push(key)
  }
  return keys
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-events-'))
const server = await startServer({
  dataFolder: join(folder, 'data'),
  env: { CARREL_CONNECTIONS_PER_ADDRESS: String(STREAMS_PER_ADDRESS + 100), CARREL_WATCHDOG_SECONDS: '0' },
})
const client = new Client({ connectionString: (await findRunningUrl(join(folder, 'data'))) as string })
try {
  await client.connect()
  await client.query(`INSERT INTO libraries (id, name, path) VALUES ('00000000-0000-4000-8000-000000000001', 'Bench', '/bench')`)
  const keys = await addKeys(client)
  const headersOf = (index: number) => `X-API-Key: ${keys[index % keys.length]}\r\n`
  const event = { type: 'library_updated', libraryId: '00000000-0000-4000-8000-000000000001', timestamp: new Date().toISOString() }
  let id = 0
  // Notifies as a commit of any node does.
  const announce = () => client.query('SELECT pg_notify($1, $2)', ['carrel_event', JSON.stringify([{ id: `bench${++id}`, event }])])
  const own = await measure(server.pid, { port: server.port, path: '/api/v1/events', headersOf }, announce)
  const bare = await measureBare()
  console.table({ carrel: own, 'node:http': bare })
  verdict(`memory of each of ${STREAMS} streams to a bare one`, own.kb / bare.kb, { atMost: MEMORY_RATIO_MAX })
  console.log(`time until an event has reached all streams, ratio to the bare server: ${(own.medianMs / bare.medianMs).toFixed(2)}`)
  console.log(`core time of an event for all streams, ratio to the bare server: ${(own.cpuMs / bare.cpuMs).toFixed(2)}`)
  verdict('longest time in milliseconds until an event has reached all streams', own.worstMs, { atMost: REACHED_MS_MAX })
} finally {
  await client.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
