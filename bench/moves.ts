/**
 * How long it takes until books that were moved to another library are the same books there, in both orders of the scans: every id is kept, and each file is
 * read once. `npm run bench:moves [-- --books 1000]`
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { machineLoad } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({ options: { books: { type: 'string', default: '1000' } } })
const books = Number(values.books)
const PER_SERIES = 20
const PAGES = 3
const PAGE_BYTES = 100_000
const SECONDS_MAX = 60
/** To the first scan: answers of the database are read too. */
const READ_RATIO_MAX = 1.3
/** One GIF pixel; what follows it is no part of the picture. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-moves-'))
const pathOf = (name: string) => join(folder, name)

function writeBooks(library: string): void {
  for (let index = 0; index < books; index++) {
    const series = join(library, `Series ${Math.floor(index / PER_SERIES)}`)
    if (index % PER_SERIES === 0) mkdirSync(series, { recursive: true })
    const pages = Array.from({ length: PAGES }, (_, page) => ({
      name: `${page}.gif`,
      data: Buffer.concat([PIXEL, randomBytes(PAGE_BYTES)]),
    }))
    writeFileSync(join(series, `Book ${index}.cbz`), buildZip(pages))
  }
}

async function idsOf(server: RunningServer, libraryId: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (let page = 1; ; page++) {
    const { data } = await server.get<{ data: { id: string; filePath: string; deleted: boolean }[] }>(
      `/api/v1/books?libraryId=${libraryId}&page=${page}&pageSize=500`,
    )
    for (const { id, filePath, deleted } of data) if (!deleted) ids.set(basename(filePath), id)
    if (data.length < 500) return ids
  }
}

/** Bytes that the server has read so far. */
const bytesRead = ({ pid }: RunningServer) => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])

async function scan(server: RunningServer, libraryId: string): Promise<void> {
  const { startedAt } = await server.post<{ startedAt: string }>(`/api/v1/libraries/${libraryId}/scan`)
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: 600_000, since: startedAt })
}

/** Moves all folders from one library to the other, and scans in this order. */
async function move(server: RunningServer, { from, to, order }: { from: string; to: string; order: readonly string[] }): Promise<void> {
  const before = await idsOf(server, ids.get(from) as string)
  const read = bytesRead(server)
  for (const name of readdirSync(pathOf(from))) renameSync(join(pathOf(from), name), join(pathOf(to), name))
  const began = performance.now()
  for (const name of order) await scan(server, ids.get(name) as string)
  const seconds = (performance.now() - began) / 1_000
  const ratio = (bytesRead(server) - read) / firstRead
  const after = await idsOf(server, ids.get(to) as string)
  const kept = [...before].filter(([name, id]) => after.get(name) === id).length
  const what = `from ${from} to ${to}, ${order.join(' first, then ')}`
  verdict(`ids kept ${what}`, kept, { atLeast: books })
  verdict(`seconds ${what}`, seconds, { atMost: SECONDS_MAX })
  verdict(`ratio of the bytes read to those of the first scan, ${what}`, ratio, { atMost: READ_RATIO_MAX })
}

const ids = new Map<string, string>()
/** Bytes, by the first scan. */
let firstRead = 0
try {
  for (const name of ['one', 'other']) mkdirSync(pathOf(name))
  writeBooks(pathOf('one'))
  const server = await startServer({ dataFolder: pathOf('data') })
  try {
    for (const name of ['one', 'other']) {
      const { id } = await server.post<{ id: string }>('/api/v1/libraries', { name, path: pathOf(name), scanImmediately: false })
      ids.set(name, id)
      const [read, began] = [bytesRead(server), performance.now()]
      await scan(server, id)
      firstRead ||= bytesRead(server) - read
      console.log(`first scan of ${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    }
    console.log(`${books} books; ${machineLoad()}`)
    await move(server, { from: 'one', to: 'other', order: ['one', 'other'] })
    await move(server, { from: 'other', to: 'one', order: ['one', 'other'] })
    console.log(machineLoad())
  } finally {
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
