/**
 * How fast a library of small files is scanned for the first time, compared with a bare walk with stat in Node and COPY of the same rows; with how many
 * statements it is analyzed; how fast it is scanned again unchanged, compared with the bare walk; and how much memory the server uses meanwhile, a minute
 * after it, and after a restart.
 * `npm run bench:rescan [-- --files 100000 --rounds 5 --keep FOLDER]`
 */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { fillCompileCache } from '#api/compile-cache.mjs'
import { NODE_FLAGS, tunedEnvironment } from '#api/node-tuning.mjs'
import { median } from '#bench/load.ts'
import { copyIn, copyOut } from '#bench/rescan/copied-rows.ts'
import { memoryRow, type Used, usageOf, usedBetween } from '#bench/rescan/usage.ts'
import { machineLoad, ROUNDS_MIN, ratioOf } from '#bench/side-by-side.ts'
import { writeSmallLibrary } from '#bench/small-library.ts'
import { verdict } from '#bench/verdict.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: String(ROUNDS_MIN) },
    /** Keeps the generated library in this folder, and uses it again. */
    keep: { type: 'string' },
    /** Prints so many of the most frequent statements of the analysis. */
    statements: { type: 'string', default: '0' },
    /** Without the minutes of waiting for an idle server. */
    quick: { type: 'boolean', default: false },
  },
})
const files = Number(values.files)
const RSS_MB_MAX = 350
/** Of the first scan to the bare walk and COPY. */
const SCAN_RATIO_MAX = 4
/** Of copies, whose median counts. */
const COPIES = 3
const STATEMENTS_MAX = 3
const RATIO_MAX = 1.2
/** Of an idle server with a scanned library, whose threads and caches have freed the memory of the scan. */
const IDLE_MB_MAX = 250
/** An idle server reaches it within this time. */
const IDLE_AFTER_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-rescan-'))
const library = join(values.keep ?? folder, `small-library-${files}`)

/** The unavoidable work: list every folder, stat every file. Synchronous calls are the fastest Node has for this. */
function bareWalk(path: string): number {
  let count = 0
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const full = `${path}/${entry.name}`
    if (entry.isDirectory()) count += bareWalk(full)
    else if (statSync(full).isFile()) count += 1
  }
  return count
}

/** Renamed when it is complete, so that an interrupted run leaves nothing that looks whole. */
function prepareLibrary(): void {
  if (existsSync(library)) return
  console.log(`Writing ${files} files …`)
  const unfinished = `${library}-unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  writeSmallLibrary(unfinished, files)
  renameSync(unfinished, library)
}

const start = () =>
  startServer({
    dataFolder: join(folder, 'data'),
    flags: ['--import', fileURLToPath(new URL('rescan/statements.ts', import.meta.url))],
  })

/** The first scan and the analysis, with what each used. */
async function scanAndAnalyze(server: RunningServer, libraryId: string, client: Client) {
  const before = await usageOf(server)
  await server.post(`/api/v1/libraries/${libraryId}/scan`)
  const first = await awaitScan(server, libraryId, { analyzed: false, timeoutMs: 600_000, pollMs: 250 })
  if (first.status !== 'completed' || first.filesTotal !== files) throw new Error(`The first scan failed: ${JSON.stringify(first)}`)
  const scanned = await usageOf(server)
  const scanPeakMb = server.peakRssMb()
  const scan = usedBetween(before, scanned)
  console.log(`First scan: ${files} files in ${scan.seconds.toFixed(1)} s; waiting for the analysis …`)
  const pending = first.pendingAnalysis
  const copied = await copyOut(client)
  await awaitScan(server, libraryId, { analyzed: true, timeoutMs: 1_800_000, pollMs: 500 })
  const analyzed = await usageOf(server)
  const { total } = await server.get<{ total: number }>('/api/v1/books?pageSize=1')
  if (total !== files) throw new Error(`${total} books instead of ${files}`)
  return { scan, analysis: usedBetween(scanned, analyzed), both: usedBetween(before, analyzed), pending, scanPeakMb, copied }
}

/** Rescans of the unchanged library beside bare walks, in turn. */
async function compareWalks(server: RunningServer, libraryId: string) {
  const [bare, rescan]: [number[], number[]] = [[], []]
  for (let round = 0; round < Number(values.rounds); round++) {
    const bareAt = performance.now()
    const counted = bareWalk(library)
    bare.push(performance.now() - bareAt)
    if (counted !== files) throw new Error(`The bare walk found ${counted} files instead of ${files}`)
    const { startedAt } = await server.post<{ startedAt: string }>(`/api/v1/libraries/${libraryId}/scan`)
    const state = await awaitScan(server, libraryId, { analyzed: false, timeoutMs: 120_000, pollMs: 20, since: startedAt })
    if (state.status !== 'completed' || state.filesProcessed !== files) throw new Error(`The rescan failed: ${JSON.stringify(state)}`)
    rescan.push(Date.parse(state.completedAt as string) - Date.parse(state.startedAt))
  }
  return { bare, rescan }
}

const rounded = (value: number) => Number(value.toFixed(3))

const rowOf = (used: Used, books: number) => ({
  seconds: Number(used.seconds.toFixed(1)),
  'books/s': Math.round(books / used.seconds),
  'statements/book': rounded(used.statements / files),
  'CPU ms/book: main thread': rounded((used.main * 1000) / files),
  'other threads': rounded(((used.server - used.main) * 1000) / files),
  PostgreSQL: rounded((used.postgres * 1000) / files),
  'cores used': Number(((used.server + used.postgres) / used.seconds).toFixed(2)),
  'by others': Number((used.others / used.seconds).toFixed(2)),
})

try {
  // As the launcher does, so that the first start is measured like the others.
  await fillCompileCache({
    root: fileURLToPath(new URL('..', import.meta.url)),
    node: process.execPath,
    flags: NODE_FLAGS,
    environment: tunedEnvironment(process.env),
  })
  prepareLibrary()
  console.log(`${files} books, ${availableParallelism()} cores; ${machineLoad()}`)
  let server = await start()
  try {
    const { id } = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
    const client = new Client({ connectionString: (await findRunningUrl(join(folder, 'data'))) ?? undefined })
    // When something fails, the server stops with its database: the first error is the one to see, not that of this connection.
    client.on('error', () => {})
    await client.connect()
    const { scan, analysis, both, pending, scanPeakMb, copied } = await scanAndAnalyze(server, id, client)
    const peakMb = server.peakRssMb()
    console.table({ 'first scan': rowOf(scan, files), 'rest of the analysis': rowOf(analysis, pending), both: rowOf(both, files) })
    console.log(`CPU seconds of the server by thread: ${JSON.stringify(both.threads)}; ${machineLoad()}`)
    for (const [text, count] of both.frequent.slice(0, Number(values.statements))) console.log(String(count).padStart(8), text)
    const idle: Record<string, ReturnType<typeof memoryRow>> = {}
    if (!values.quick) {
      await sleep(IDLE_AFTER_MS)
      idle['a minute after the first scan'] = memoryRow(server.pid)
    }
    const { bare, rescan } = await compareWalks(server, id)
    const { ratio, note } = ratioOf(rescan, bare)
    const copies: number[] = []
    for (let round = 0; round < COPIES; round++) copies.push(await copyIn(client, copied))
    await client.end()
    console.table({
      'bare walk with stat': { 'median ms': Math.round(median(bare)), files },
      'rescan, nothing changed': { 'median ms': Math.round(median(rescan)), files },
    })
    console.log(`rescan: ${note}; ${machineLoad()}`)
    if (!values.quick) {
      await server.stop()
      server = await start()
      await sleep(IDLE_AFTER_MS)
      idle['a minute after a restart'] = memoryRow(server.pid)
      console.table(idle)
    }
    const bareSeconds = (median(bare) + median(copies)) / 1000
    console.log(`bare walk and COPY of the rows: ${bareSeconds.toFixed(2)} s`)
    verdict('ratio of the first scan to the bare walk and COPY', scan.seconds / bareSeconds, { atMost: SCAN_RATIO_MAX })
    console.log(
      `everything analyzed ${both.seconds.toFixed(1)} s after the start of the scan, ${Math.round(files / both.seconds)} books a second`,
    )
    console.log(`books analyzed a second, after the first scan: ${Math.round(pending / analysis.seconds)}`)
    verdict('statements a book', both.statements / files, { atMost: STATEMENTS_MAX })
    verdict('ratio of a rescan to the bare walk', ratio, { atMost: RATIO_MAX })
    console.log(`server RSS peak: ${scanPeakMb.toFixed(0)} MB while scanning`)
    verdict('server RSS peak in MB, with all analyses done', peakMb, { atMost: RSS_MB_MAX })
    for (const [when, memory] of Object.entries(idle))
      verdict(`idle server, resident MB ${when}`, memory['server resident MB'] as number, { atMost: IDLE_MB_MAX })
  } finally {
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
