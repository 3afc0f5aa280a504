/**
 * Pages of 800 KB of a cbz over 16 connections, compared with a bare node:http server that reads the same bytes at a known offset into pooled buffers.
 * Both run in their own processes, and the same client loads them in turn. `npm run bench:pages [-- --rounds 5 --seconds 3 --keep FOLDER]`
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findLoadClient } from '#bench/load-client.ts'
import { memoryLine, memoryOf } from '#bench/memory.ts'
import { jpegOfSize } from '#bench/page-pictures.ts'
import { compareLoads, machineLoad, ROUNDS_MIN } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: String(ROUNDS_MIN) },
    seconds: { type: 'string', default: '3' },
    /** Keeps the generated book in this folder, and uses it again. */
    keep: { type: 'string' },
    /** Writes profiles of the server into this folder. */
    prof: { type: 'string' },
  },
})
const CONNECTIONS = 16
const PAGES = 50
const PAGE_BYTES = 800_000
const RATIO_MIN = 0.6
const RSS_MB_MAX = 350

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-pages-'))
const library = join(values.keep ?? folder, 'library')

/** Returns the path of the book, and the offset of each page. */
async function writeBook(): Promise<{ path: string; offsets: number[] }> {
  const path = join(library, 'Series', `Pages ${PAGES} of ${PAGE_BYTES} v1.cbz`)
  if (!existsSync(path)) {
    const pages = await Promise.all(Array.from({ length: PAGES }, () => jpegOfSize(PAGE_BYTES, randomBytes(8))))
    mkdirSync(join(library, 'Series'), { recursive: true })
    writeFileSync(path, buildZip(pages.map((data, index) => ({ name: `${String(index + 1).padStart(3, '0')}.jpg`, data }))))
  }
  const bytes = readFileSync(path)
  // The pages are stored, each behind its local header and its name.
  const offsets = Array.from({ length: PAGES }, (_, index) => bytes.indexOf(`${String(index + 1).padStart(3, '0')}.jpg`) + '001.jpg'.length)
  return { path, offsets }
}

async function startBare(path: string, offsets: number[]): Promise<{ port: number; pid: number; stop: () => void }> {
  const program = fileURLToPath(new URL('bare-page-server.ts', import.meta.url))
  const child = spawn(process.execPath, [program, path, String(PAGE_BYTES), JSON.stringify(offsets)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))))
  return { port, pid: child.pid as number, stop: () => child.kill() }
}

async function scanBook(server: RunningServer): Promise<string> {
  const created = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
  await server.post(`/api/v1/libraries/${created.id}/scan`)
  await awaitScan(server, created.id, { analyzed: true, timeoutMs: 60_000 })
  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/books')
  return data[0]?.id as string
}

const client = findLoadClient()
const flags = values.prof ? { flags: ['--cpu-prof', `--cpu-prof-dir=${values.prof}`] } : {}
try {
  console.log(machineLoad())
  const { path, offsets } = await writeBook()
  const bare = await startBare(path, offsets)
  const server = await startServer({ dataFolder: join(folder, 'data'), ...flags })
  try {
    const book = await scanBook(server)
    const pages = offsets.map((_, index) => `/api/v1/books/${book}/pages/${index + 1}`)
    const found = await compareLoads(
      client,
      {
        bare: { ...bare, paths: offsets.map((_, index) => `/${index}`), headers: {} },
        carrel: { port: server.port, pid: server.pid, paths: pages, headers: server.headers },
      },
      { rounds: Number(values.rounds), seconds: Number(values.seconds), connections: CONNECTIONS, answers: 'pages' },
    )
    console.table(found.rows)
    console.log(`${found.notes}; ${machineLoad()}`)
    console.log(memoryLine(server.peakRssMb(), memoryOf(server.pid)))
    verdict('ratio to the bare server with pooled buffers', found.ratio, { atLeast: RATIO_MIN })
    verdict('server RSS peak in MB', server.peakRssMb(), { atMost: RSS_MB_MAX })
    verdict('answers that were no page', found.failures, { atMost: 0 })
  } finally {
    bare.stop()
    await server.stop()
  }
} finally {
  client.close()
  rmSync(folder, { recursive: true, force: true })
}
