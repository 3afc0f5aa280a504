import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findPostmaster } from '#core/embedded/postmaster.ts'
import { ADMIN, awaitExit, makeRoom, root, spawnCarrel } from '#test/support/carrel-process.ts'
import { ask, awaitRecovery, isAnswer, type Reply, write } from '#test/support/fault-requests.ts'
import { buildPdf, endlessPage } from '#test/support/pdf-builder.ts'
import { jpegPage } from '#test/support/pictures.ts'
import { childrenOf, commandOf } from '#test/support/processes.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

// A machine that does much else makes each start and each answer many times slower.
t.setTimeout(400_000)

const room = await makeRoom(t)
const library = path.join(room, 'library')
mkdirSync(path.join(library, 'Series'), { recursive: true })
const page = await jpegPage({ width: 400, height: 600, noise: true })
writeFileSync(path.join(library, 'Series', 'a.cbz'), buildZip([{ name: '1.jpg', data: page }]))

/** Why the test cannot have a small disk of its own; null when it can. */
function mountSmallDisk(folder: string): string | null {
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'none', folder], { stdio: 'pipe' })
    return null
  } catch (error) {
    return `no small disk can be mounted here: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Takes all that is free on the disk of the file. */
function fill(file: string): void {
  for (const bytes of [1_048_576, 4_096]) {
    const block = Buffer.alloc(bytes, 1)
    try {
      for (;;) appendFileSync(file, block)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

/** Some megabytes. */
const WRITES_MAX = 400
/** They do not compress, or nothing would have to be written. */
const manyLetters = () => randomBytes(4_000).toString('hex')

const disk = path.join(room, 'disk')
const refusal = mountSmallDisk(disk)
if (refusal === null) t.teardown(() => void execFileSync('umount', [disk]))

t.test('a full disk: what writes is refused within seconds, reading goes on, and it heals', { skip: refusal ?? false }, async (t) => {
  const data = path.join(disk, 'data')
  const server = await startServer({ dataFolder: data, args: ['--workers', '1', '--library', library] })
  try {
    const libraries = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
    await awaitScan(server, libraries.data[0]?.id as string, { analyzed: true, timeoutMs: 120_000 })
    const books = await server.get<{ data: { id: string }[] }>('/api/v1/books')
    const book = books.data[0]?.id as string
    t.ok(await awaitRecovery(server, book), 'all is well before')
    const ballast = path.join(disk, 'ballast')
    fill(ballast)
    // Health is asked at most once a second.
    await sleep(1_500)
    t.match(await ask(server, '/health'), { status: 503 })
    t.match(await (await fetch(`${server.url}/health`)).text(), /disk/, '/health says it')
    // PostgreSQL writes into what it took before for as long as that lasts; then it needs more.
    const replies: Reply[] = []
    for (let turn = 0; turn < WRITES_MAX && replies.at(-1)?.status !== 503; turn++) replies.push(await write(server, book, manyLetters()))
    t.same(
      replies.filter((reply) => !isAnswer(reply)),
      [],
      'each is an answer',
    )
    t.equal(replies.at(-1)?.status, 503, 'in the end changes are refused')
    t.ok(Math.max(...replies.map(({ ms }) => ms)) < 30_000)
    const reads = ['/api/v1/books', '/api/v1/libraries', `/api/v1/books/${book}`, `/api/v1/books/${book}/pages/1`]
    for (const address of reads) t.match(await ask(server, address), { status: 200 }, address)
    rmSync(ballast)
    t.ok(await awaitRecovery(server, book), 'it heals by itself')
  } finally {
    t.equal(await server.stop(), 0)
  }
})

/** Again and again until there is one. */
async function waitFor<Found>(of: { output(): string }, what: string, find: () => Found | null | undefined | false): Promise<Found> {
  for (const until = Date.now() + 120_000; Date.now() < until; await sleep(50)) {
    const found = find()
    if (found) return found
  }
  throw new Error(`It never came to this: ${what}\n${of.output()}`)
}

t.test('a main thread that stands still: ended, started anew, and the file that was at work is taken alone, then refused', async (t) => {
  const suspected = path.join(room, 'suspected')
  mkdirSync(path.join(suspected, 'Series'), { recursive: true })
  writeFileSync(path.join(suspected, 'Series', 'endless.pdf'), buildPdf({ pages: [endlessPage] }))
  const data = path.join(room, 'data')
  const freezeAt = path.join(room, 'freeze')
  const launcher = [path.join(root, 'api', 'launch.mjs'), path.join(root, 'api', 'main.ts')]
  const running = spawnCarrel(['--data-dir', data, '--port', '0', '--workers', '1', '--watchdog-seconds', '6', '--library', suspected], {
    program: launcher,
    env: {
      NODE_OPTIONS: `--import=${path.join(root, 'test', 'support', 'freezing.mjs')}`,
      FREEZE_AT: freezeAt,
      CARREL_ADMIN_USERNAME: ADMIN.username,
      CARREL_ADMIN_PASSWORD: ADMIN.password,
    },
  })
  t.teardown(async () => {
    running.child.kill('SIGTERM')
    await running.ended
  })
  const starts = () => [...running.output().matchAll(/Listening on (http:\S+)/g)].map(([, url]) => url as string)
  const launched = running.child.pid as number
  const serverPid = () => childrenOf(launched).find((pid) => commandOf(pid).includes('api/main.ts'))
  const isDrawing = () => childrenOf(serverPid() ?? 0).some((pid) => commandOf(pid).includes('pool/child.ts'))

  for (const turn of [1, 2, 3]) {
    await waitFor(running, `start ${turn}`, () => starts().length === turn)
    await waitFor(running, 'the book is analyzed', isDrawing)
    // The child has started; now it draws.
    await sleep(2_000)
    const postmaster = await findPostmaster(path.join(data, 'postgres'))
    writeFileSync(freezeAt, '')
    await waitFor(running, `end ${turn}`, () => (running.output().match(/It restarts in/g) ?? []).length === turn)
    t.ok(await awaitExit(postmaster?.pid as number), 'its PostgreSQL is gone')
  }
  const output = running.output()
  t.match(output, /was blocked for \d+ s, and its watchdog ended it/)
  t.match(output, /file \S*endless\.pdf \(book [0-9a-f-]{36}\)/, 'the log names what was at work')
  t.match(output, /restarts in 1 s[\s\S]*restarts in 2 s[\s\S]*restarts in 4 s/, 'after pauses that grow')

  await waitFor(running, 'start 4', () => starts().length === 4)
  const url = starts()[3] as string
  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ADMIN),
  })
  const { accessToken } = (await login.json()) as { accessToken: string }
  const errors = async () => {
    const answer = await fetch(`${url}/api/v1/books/errors`, { headers: { authorization: `Bearer ${accessToken}` } })
    return await answer.text()
  }
  let said = ''
  for (const until = Date.now() + 60_000; Date.now() < until && !/stopped the whole server/.test(said); await sleep(250))
    said = await errors()
  t.match(said, /stopped the whole server, 3 times/, 'the book has an error that says so')
  t.equal(starts().length, 4, 'and the server goes on')
})
