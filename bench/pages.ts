/**
 * Pages of about 700 KB of a cbz over 16 connections, compared with a bare node:http server that reads the same bytes at a known
 * offset. Both run in their own processes, and the same client loads them in turn. `npm run bench:pages`
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Load, loadHttp, median } from '#bench/load.ts'
import { jpegOfSize } from '#bench/page-pictures.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' } } })
const CONNECTIONS = 16
const PAGES = 50
const PAGE_BYTES = 700_000
const RATIO_MIN = 0.7

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-pages-'))
const libraryFolder = join(folder, 'library', 'Series')
mkdirSync(libraryFolder, { recursive: true })

async function startBare(path: string, offsets: number[]): Promise<{ port: number; stop: () => void }> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('bare-page-server.ts', import.meta.url)), path, String(PAGE_BYTES), JSON.stringify(offsets)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))))
  return { port, stop: () => child.kill() }
}

try {
  const pages = await Promise.all(Array.from({ length: PAGES }, () => jpegOfSize(PAGE_BYTES, randomBytes(8))))
  const zip = buildZip(pages.map((data, index) => ({ name: `${String(index + 1).padStart(3, '0')}.jpg`, data })))
  const path = join(libraryFolder, 'Pages v1.cbz')
  writeFileSync(path, zip)
  const bytes = readFileSync(path)
  const offsets = pages.map((page) => bytes.indexOf(page))

  const bare = await startBare(path, offsets)
  const server = await startServer({ dataFolder: join(folder, 'data') })
  try {
    const library = await server.post<{ id: string }>('/api/v1/libraries', {
      name: 'Bench',
      path: join(folder, 'library'),
      scanImmediately: false,
    })
    await server.post(`/api/v1/libraries/${library.id}/scan`)
    await awaitScan(server, library.id, { analyzed: true, timeoutMs: 60_000 })
    const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/books')
    const book = data[0]?.id as string

    const targets = {
      bare: { port: bare.port, paths: offsets.map((_, index) => `/${index}`), headers: {} },
      carrel: { port: server.port, paths: offsets.map((_, index) => `/api/v1/books/${book}/pages/${index + 1}`), headers: server.headers },
    }
    const runs: Record<keyof typeof targets, Load[]> = { bare: [], carrel: [] }
    for (const name of ['bare', 'carrel'] as const) await loadHttp({ ...targets[name], connections: CONNECTIONS, seconds: 1 })
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const name of ['bare', 'carrel'] as const)
        runs[name].push(await loadHttp({ ...targets[name], connections: CONNECTIONS, seconds: Number(values.seconds) }))
    }
    const row = (loads: Load[]) => ({
      'pages/s': Math.round(median(loads.map((load) => load.requestsPerSecond))),
      'MB/s': Math.round(median(loads.map((load) => load.bytesPerSecond)) / 1e6),
      'p50 ms': Number(median(loads.map((load) => load.p50Ms)).toFixed(2)),
      'p99 ms': Number(median(loads.map((load) => load.p99Ms)).toFixed(2)),
      failures: loads.reduce((sum, load) => sum + load.failures, 0),
    })
    console.table({ 'bare node:http': row(runs.bare), carrel: row(runs.carrel) })
    const ratio = median(runs.carrel.map((load, round) => load.requestsPerSecond / (runs.bare[round] as Load).requestsPerSecond))
    console.log(`server RSS peak ${server.peakRssMb().toFixed(0)} MB`)
    verdict('ratio to the bare server', ratio, { atLeast: RATIO_MIN })
    verdict('answers that were no page', row(runs.carrel).failures, { atMost: 0 })
  } finally {
    bare.stop()
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
