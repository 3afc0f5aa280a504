/**
 * Watching a library of many folders: memory and CPU time of the idle server beside those of one that does not watch, whether the idle disk is read, and the
 * time from the last byte of a new file until the file is listed.
 * `npm run bench:watch [-- --folders 20000 --books 2000 --idle 600 --rounds 5]`
 */
import { appendFileSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuSeconds, memoryOf } from '#bench/memory.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({
  options: {
    folders: { type: 'string', default: '20000' },
    books: { type: 'string', default: '2000' },
    /** Seconds. */
    idle: { type: 'string', default: '600' },
    rounds: { type: 'string', default: '5' },
  },
})
const [FOLDERS, BOOKS, IDLE_S, ROUNDS] = [values.folders, values.books, values.idle, values.rounds].map(Number) as [
  number,
  number,
  number,
  number,
]
const LISTED_S_MAX = 15
const MEMORY_MB_MAX = 50
const CORE_SHARE_MAX = 0.005
/** What a start leaves behind is collected by then. */
const SETTLE_MS = 20_000
const HOUR_S = 3_600

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-watch-'))
const root = join(folder, 'library')
const folderOf = (n: number) => join(root, `Publisher ${n % 200}`, `A series with a longer name ${n}`)

/** A GIF of one pixel. */
const PAGE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const comicOf = (seed: string, pages = 1) =>
  buildZip(
    Array.from({ length: pages }, (_, index) => ({ name: `${index + 1}.gif`, data: PAGE })),
    { comment: Buffer.from(seed) },
  )

function writeLibrary(): void {
  for (let n = 0; n < FOLDERS; n++) {
    mkdirSync(folderOf(n), { recursive: true })
    if (n < BOOKS) writeFileSync(join(folderOf(n), `Volume 1 of ${n}.cbz`), comicOf(String(n)))
  }
}

/** Makes the reading of a folder visible: most systems only change the time of an access if it is older than that of a change. */
async function ageAccess(): Promise<void> {
  for (let n = 0; n < FOLDERS; n++) {
    utimesSync(folderOf(n), Date.now() / 1000 - 2 * HOUR_S, Date.now() / 1000 - HOUR_S)
    // Each is an event; with many at once, some are lost, and all folders are read again.
    if (n % 500 === 0) await sleep(100)
  }
}

const countRead = () =>
  Array.from({ length: FOLDERS }, (_, n) => lstatSync(folderOf(n))).filter(({ atimeMs }) => Date.now() - atimeMs < HOUR_S * 1000).length

async function idle(server: RunningServer, seconds: number): Promise<{ share: number; mb: number }> {
  await sleep(SETTLE_MS)
  const before = cpuSeconds(server.pid)
  await sleep(seconds * 1000)
  return { share: (cpuSeconds(server.pid) - before) / seconds, mb: memoryOf(server.pid).server }
}

const start = (watches: boolean) =>
  startServer({
    dataFolder: join(folder, 'data'),
    args: ['--library', root],
    env: { CARREL_WATCH: String(watches), CARREL_QUIET_SECONDS: '10' },
  })

async function libraryOf(server: RunningServer): Promise<string> {
  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  const id = data[0]?.id as string
  await awaitScan(server, id, { analyzed: true, timeoutMs: 600_000 })
  return id
}

const isListed = async (server: RunningServer, title: string) =>
  JSON.stringify(await server.get('/api/v1/books/recently-added?pageSize=10')).includes(title)

/** Seconds from the last byte of a copied file until it is listed. */
async function listedAfter(server: RunningServer, round: number): Promise<number> {
  const title = `Arrival${round}x${Date.now()}`
  const path = join(folderOf(FOLDERS - 1 - round), `${title}.cbz`)
  const bytes = comicOf(title, 50)
  for (let at = 0; at < bytes.length; at += 1_000) {
    appendFileSync(path, bytes.subarray(at, at + 1_000))
    await sleep(200)
  }
  const at = performance.now()
  while (!(await isListed(server, title))) await sleep(100)
  return (performance.now() - at) / 1000
}

try {
  writeLibrary()
  const plain = await start(false)
  await libraryOf(plain)
  await plain.stop()
  const without = await start(false)
  await libraryOf(without)
  const bare = await idle(without, Math.min(IDLE_S, 60))
  await without.stop()

  const server = await start(true)
  const id = await libraryOf(server)
  while (!(await server.get<{ watching: boolean }>(`/api/v1/libraries/${id}/scan-status`)).watching) await sleep(200)
  await ageAccess()
  // The changed times of the folders are events of their parents, which are no changes of books.
  const watched = await idle(server, IDLE_S)
  console.log(
    `idle without watching: ${bare.mb} MB, ${(bare.share * 100).toFixed(2)} % of a core; with: ${watched.mb} MB, ${(watched.share * 100).toFixed(2)} %`,
  )
  verdict('memory of the watch, in MB', watched.mb - bare.mb, { atMost: MEMORY_MB_MAX })
  verdict('share of a core of the idle watch', Math.max(0, watched.share - bare.share), { atMost: CORE_SHARE_MAX })
  verdict('folders that were read while idle', countRead(), { atMost: 0 })
  readdirSync(folderOf(0))
  if (countRead() !== 1) console.log('This system does not record when a folder is read, so the last figure says nothing.')
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await listedAfter(server, round))
  console.log(`listed after ${times.map((s) => s.toFixed(1)).join(', ')} s`)
  verdict('worst time until a complete file is listed, in s', Math.max(...times), { atMost: LISTED_S_MAX })
  await server.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
