import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { ask, awaitRecovery, isAnswer, type Reply, sendAll } from '#test/support/fault-requests.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { jpegPage } from '#test/support/pictures.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

// A machine that does much else makes each start and each answer many times slower.
t.setTimeout(600_000)

/** The longest that a request of any kind waits for a database that does not answer, and as much again for a busy machine. */
const ANSWER_MS_MAX = 40_000
const SCAN_MS_MAX = 240_000
/** A server has some thirty of them; others take the rest. */
const CONNECTIONS_MAX = 60
const LATER_BOOKS = 400

const room = await makeRoom(t)
const library = path.join(room, 'library')
const page = await jpegPage({ width: 200, height: 300 })
function addBooks(series: string, count: number): void {
  mkdirSync(path.join(library, series), { recursive: true })
  const bytes = buildZip([{ name: '1.jpg', data: page }])
  for (let n = 1; n <= count; n++) writeFileSync(path.join(library, series, `${n}.cbz`), bytes)
}
addBooks('Series', 3)

const postgres = await openOwnPostgres(t, { max_connections: String(CONNECTIONS_MAX) })
const server = await startServer({
  dataFolder: path.join(room, 'data'),
  args: ['--workers', '1', '--library', library],
  env: { DATABASE_URL: postgres.url },
})
t.teardown(() => server.stop())
const libraries = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
const libraryId = libraries.data[0]?.id as string
await awaitScan(server, libraryId, { analyzed: true, timeoutMs: SCAN_MS_MAX })
const book = (await server.get<{ data: { id: string }[] }>('/api/v1/books?pageSize=1')).data[0]?.id as string

function checkAnswers(t: Test, replies: readonly Reply[]): void {
  t.ok(replies.length > 0)
  t.same(
    replies.filter((reply) => !isAnswer(reply)),
    [],
    'each is an answer or says when to come again',
  )
  const longest = Math.max(...replies.map(({ ms }) => ms))
  t.ok(longest < ANSWER_MS_MAX, `the slowest after ${Math.round(longest)} ms`)
}

/** Four readers who ask for everything, until they are stopped. */
function sendReaders(): { stop(): Promise<Reply[]> } {
  let going = true
  const replies: Reply[] = []
  const readers = Array.from({ length: 4 }, async () => {
    // Where refusals come at once they would do nothing but that.
    for (; going; await sleep(100)) replies.push(...(await Promise.all(sendAll(server, book))))
  })
  return {
    stop: async () => {
      going = false
      await Promise.all(readers)
      return replies
    },
  }
}

/** Asks until /health is not well, which looks at most once a second; before each time something is done to make it so. */
async function awaitIll(before: () => Promise<unknown> = async () => {}): Promise<string> {
  for (const until = Date.now() + ANSWER_MS_MAX; Date.now() < until; await sleep(200)) {
    await before()
    const answer = await fetch(`${server.url}/health`)
    const text = await answer.text()
    if (answer.status === 503) return text
  }
  return 'it stays well'
}

for (const [how, awayMs] of [
  ['fast', 20_000],
  ['immediate', 3_000],
] as const) {
  t.test(`PostgreSQL is stopped (${how}) and comes back after ${awayMs / 1000} s`, async (t) => {
    t.ok(await awaitRecovery(server, book), 'all is well before')
    const readers = sendReaders()
    // Readers are in the middle of their requests.
    await sleep(500)
    await postgres.stop(how)
    t.match(await awaitIll(), /the database does not answer/, '/health says it')
    await sleep(awayMs)
    t.match(await ask(server, '/health'), { status: 503 })
    for (const reply of await Promise.all(sendAll(server, book))) t.match(reply, { status: 503, retryAfter: /^[1-9]/ }, reply.address)
    await postgres.start()
    t.ok(await awaitRecovery(server, book), 'it heals by itself')
    const replies = await readers.stop()
    checkAnswers(t, replies)
    t.ok(
      replies.some(({ status }) => status < 300) && replies.some(({ status }) => status === 503),
      'some before and after, some meanwhile',
    )
  })
}

t.test('all connections are ended again and again', async (t) => {
  const readers = sendReaders()
  for (let turn = 0; turn < 8; turn++) {
    // Between two cuts the server connects again.
    await sleep(400)
    await postgres.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'keeper'`)
  }
  checkAnswers(t, await readers.stop())
  t.ok(await awaitRecovery(server, book), 'it heals by itself')
})

t.test('others have taken all connections that there are', async (t) => {
  const others: pg.Client[] = []
  const take = async () => {
    const client = new pg.Client({ connectionString: postgres.url, application_name: 'other' })
    client.on('error', () => {})
    await client.connect()
    others.push(client)
  }
  let refusals = 0
  // Whenever the server lets go of one somebody else takes it.
  let taking = true
  const grabbing = (async () => {
    while (taking)
      await take().catch(async () => {
        refusals += 1
        await sleep(20)
      })
  })()
  try {
    while (refusals === 0) await sleep(20)
    checkAnswers(t, await Promise.all(sendAll(server, book)))
    // The server may be the first to get one again, and we may get none.
    const end = () =>
      postgres
        .query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'keeper' AND application_name <> 'other'`)
        .catch(() => {})
    t.match(await awaitIll(end), /the database does not answer/, '/health says it')
    checkAnswers(t, await Promise.all([...sendAll(server, book), ...sendAll(server, book)]))
  } finally {
    taking = false
    await grabbing
    await Promise.all(others.map((client) => client.end().catch(() => {})))
  }
  t.ok(await awaitRecovery(server, book), 'it heals by itself')
})

t.test('PostgreSQL is started anew during a scan, and the scan goes on', async (t) => {
  addBooks('Later', LATER_BOOKS)
  await server.post(`/api/v1/libraries/${libraryId}/scan`)
  const analyzed = async () => Number((await postgresCount())[0]?.['n'])
  const books = new pg.Pool({ connectionString: postgres.url, max: 1 })
  books.on('error', () => {})
  t.teardown(() => books.end())
  const postgresCount = async () =>
    (await books.query(`SELECT count(*)::int AS n FROM books WHERE state = 'analyzed'`).catch(() => ({ rows: [] }))).rows
  for (const [how, share] of [
    // While the folder is walked.
    ['immediate', 0],
    ['fast', 0.2],
    ['immediate', 0.5],
  ] as const) {
    while (!((await analyzed()) >= LATER_BOOKS * share)) await sleep(20)
    await postgres.stop(how)
    // So long that the server notices.
    await sleep(1_000)
    await postgres.start()
  }
  const before = await analyzed()
  t.ok(before < LATER_BOOKS + 3, `${before} of ${LATER_BOOKS + 3} books when it was back: in the middle`)
  t.ok(await awaitRecovery(server, book), 'it heals by itself')
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: SCAN_MS_MAX })
  t.equal(await analyzed(), LATER_BOOKS + 3, 'every book is there')
  t.match(await server.get('/api/v1/books/errors'), { totalBooksWithErrors: 0 }, 'and none is called broken')
})

t.test('it ends as ever', async (t) => {
  t.equal(await server.stop(), 0, server.output().slice(-4_000))
})
