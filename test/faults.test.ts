import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findPostmaster } from '#core/embedded/postmaster.ts'
import { makeRoom } from '#test/support/carrel-process.ts'
import { ask, awaitRecovery, isAnswer, type Reply, sendAll } from '#test/support/fault-requests.ts'
import { buildPdf, endlessPage } from '#test/support/pdf-builder.ts'
import { jpegPage } from '#test/support/pictures.ts'
import { childrenOf, commandOf, signalAll, ticksOf } from '#test/support/processes.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

// A machine that does much else makes each start and each answer many times slower.
t.setTimeout(400_000)

const DEADLINE_SECONDS = 8
/** The longest that a request of any kind waits for a database that does not answer, and as much again for a busy machine. */
const ANSWER_MS_MAX = 40_000
const HEALTH_MS_MAX = 15_000

const room = await makeRoom(t)
const library = path.join(room, 'library')
const data = path.join(room, 'data')
mkdirSync(path.join(library, 'Series'), { recursive: true })
const page = await jpegPage({ width: 400, height: 600, noise: true })
for (const name of ['a', 'b', 'c']) writeFileSync(path.join(library, 'Series', `${name}.cbz`), buildZip([{ name: '1.jpg', data: page }]))
// Its cover is that of an ordinary page: what takes for ever is asked for by a reader.
writeFileSync(path.join(library, 'Series', 'endless.pdf'), buildPdf({ pages: [{ text: 'one' }, endlessPage, endlessPage] }))

const server = await startServer({
  dataFolder: data,
  args: ['--workers', '2', '--analysis-deadline-seconds', String(DEADLINE_SECONDS), '--library', library],
})
t.teardown(() => server.stop())
const libraries = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
await awaitScan(server, libraries.data[0]?.id as string, { analyzed: true, timeoutMs: 120_000 })
const books = (await server.get<{ data: { id: string; filePath: string }[] }>('/api/v1/books?pageSize=50')).data
const bookOf = (name: string) => books.find(({ filePath }) => filePath.endsWith(name))?.id as string
const book = bookOf('a.cbz')

/** The postmaster and all its backends; the first is the postmaster. */
async function postgresPids(folder: string): Promise<number[]> {
  const { pid } = (await findPostmaster(path.join(folder, 'postgres'))) as { pid: number }
  return [pid, ...childrenOf(pid)]
}

t.test('a frozen PostgreSQL: every request gets an answer, and all heals', async (t) => {
  t.ok(await awaitRecovery(server, book), 'all is well before')
  const pids = await postgresPids(data)
  signalAll(pids, 'SIGSTOP')
  try {
    const replies = sendAll(server, book)
    // Health is asked at most once a second.
    await sleep(1_500)
    const health = await ask(server, '/health')
    t.equal(health.status, 503)
    t.ok(health.ms < HEALTH_MS_MAX, `/health after ${Math.round(health.ms)} ms`)
    for (const reply of await Promise.all(replies)) {
      t.ok(isAnswer(reply), JSON.stringify(reply))
      t.ok(reply.ms < ANSWER_MS_MAX, `after ${Math.round(reply.ms)} ms`)
    }
  } finally {
    signalAll(pids, 'SIGCONT')
  }
  t.ok(await awaitRecovery(server, book), 'it heals by itself')
})

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  t.test(`backends that end by ${signal} under load`, async (t) => {
    let going = true
    const replies: Reply[] = []
    const readers = Array.from({ length: 4 }, async () => {
      while (going) replies.push(...(await Promise.all(sendAll(server, book))))
    })
    for (let turn = 0; turn < 4; turn++) {
      // Between two cuts the server connects again.
      await sleep(400)
      const [, ...backends] = await postgresPids(data)
      // Those of clients have a command line of their own; the rest are PostgreSQL's.
      const clients = backends.filter((pid) => commandOf(pid).includes('carrel'))
      signalAll(signal === 'SIGKILL' ? clients.slice(0, 1) : clients, signal)
    }
    going = false
    await Promise.all(readers)
    t.ok(replies.length > 0)
    t.same(
      replies.filter((reply) => !isAnswer(reply)),
      [],
      'each is an answer or says when to come again',
    )
    t.ok(Math.max(...replies.map(({ ms }) => ms)) < ANSWER_MS_MAX)
    t.ok(await awaitRecovery(server, book), 'it heals by itself')
  })
}

const drawers = () => childrenOf(server.pid).filter((pid) => commandOf(pid).includes('pool/child.ts'))

t.test('a page that draws for ever: an answer at the deadline, no busy core, and an end by SIGTERM while it draws', async (t) => {
  const reply = await ask(server, `/api/v1/books/${bookOf('endless.pdf')}/pages/2`)
  t.ok(reply.status >= 400 && reply.status < 600 && reply.status !== 500, `status ${reply.status}`)
  t.ok(reply.ms < DEADLINE_SECONDS * 1000 + ANSWER_MS_MAX, `after ${Math.round(reply.ms)} ms`)
  // The process that drew has ended, or goes on by mistake.
  await sleep(1_000)
  const before = ticksOf(drawers())
  // The span in which ticks are counted.
  await sleep(2_000)
  t.ok(ticksOf(drawers()) - before < 100, 'no core stays busy')

  const drawing = ask(server, `/api/v1/books/${bookOf('endless.pdf')}/pages/3`).catch(() => null)
  // The page is being drawn.
  await sleep(3_000)
  const began = performance.now()
  t.equal(await server.stop(), 0)
  t.ok(performance.now() - began < 30_000, `ended after ${Math.round(performance.now() - began)} ms`)
  await drawing
  t.same(drawers(), [])
})
