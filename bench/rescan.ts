/**
 * How fast an unchanged library is scanned again, compared with a bare walk with stat in Node, and how much memory the server uses
 * during the first scan, a minute after it, and after a restart. `npm run bench:rescan [-- --files 100000]`
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fillCompileCache } from '#api/compile-cache.mjs'
import { NODE_FLAGS, tunedEnvironment } from '#api/node-tuning.mjs'
import { median } from '#bench/load.ts'
import { writeSmallLibrary } from '#bench/small-library.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({ options: { files: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '5' } } })
const files = Number(values.files)
const rounds = Number(values.rounds)
const RSS_MB_MAX = 350
const RATIO_MAX = 1.5
/** Of an idle server with a scanned library, whose threads and caches have freed the memory of the scan. */
const IDLE_MB_MAX = 250
/** An idle server reaches it within this time. */
const IDLE_AFTER_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-rescan-'))
const library = join(folder, 'library')

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

/** Resident memory of the server, and the proportional memory (Pss) of all its processes: memory that they share counts once. */
function memoryMb(pid: number): { 'server resident MB': number; 'all processes MB': number; processes: number } {
  const parents = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = readIfThere(`/proc/${name}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    parents.set(parent, [...(parents.get(parent) ?? []), Number(name)])
  }
  const below = (one: number): number[] => [one, ...(parents.get(one) ?? []).flatMap(below)]
  const pids = below(pid)
  const kilobytes = (file: string, label: string) => Number(new RegExp(`^${label}:\\s+(\\d+)`, 'm').exec(readIfThere(file))?.[1] ?? 0)
  return {
    'server resident MB': Math.round(kilobytes(`/proc/${pid}/status`, 'VmRSS') / 1024),
    'all processes MB': Math.round(pids.reduce((sum, one) => sum + kilobytes(`/proc/${one}/smaps_rollup`, 'Pss'), 0) / 1024),
    processes: pids.length,
  }
}

/** Empty for a process that has ended. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

try {
  // As the launcher does, so that the first start is measured like the others.
  await fillCompileCache({
    root: fileURLToPath(new URL('..', import.meta.url)),
    node: process.execPath,
    flags: NODE_FLAGS,
    environment: tunedEnvironment(process.env),
  })
  console.log(`Writing ${files} files …`)
  writeSmallLibrary(library, files)
  let server = await startServer({ dataFolder: join(folder, 'data') })
  try {
    const created = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
    const firstAt = performance.now()
    await server.post(`/api/v1/libraries/${created.id}/scan`)
    const first = await awaitScan(server, created.id, { analyzed: false, timeoutMs: 600_000 })
    const scanSeconds = (performance.now() - firstAt) / 1000
    const scanPeakMb = server.peakRssMb()
    console.log(`First scan: ${first.filesTotal} files in ${scanSeconds.toFixed(1)} s; waiting for the analysis …`)
    await awaitScan(server, created.id, { analyzed: true, timeoutMs: 1_800_000, pollMs: 1000 })
    const analyzedSeconds = (performance.now() - firstAt) / 1000
    const peakMb = server.peakRssMb()
    await sleep(IDLE_AFTER_MS)
    const idle: Record<string, ReturnType<typeof memoryMb>> = { 'a minute after the first scan': memoryMb(server.pid) }

    const bare: number[] = []
    const rescan: number[] = []
    for (let round = 0; round < rounds; round++) {
      const bareAt = performance.now()
      const counted = bareWalk(library)
      bare.push(performance.now() - bareAt)
      if (counted !== files) throw new Error(`The bare walk found ${counted} files instead of ${files}`)
      const { startedAt } = await server.post<{ startedAt: string }>(`/api/v1/libraries/${created.id}/scan`)
      const state = await awaitScan(server, created.id, { analyzed: false, timeoutMs: 120_000, pollMs: 20, since: startedAt })
      if (state.status !== 'completed' || state.filesProcessed !== files) throw new Error(`The rescan failed: ${JSON.stringify(state)}`)
      rescan.push(Date.parse(state.completedAt as string) - Date.parse(state.startedAt))
    }
    const ratio = median(rescan) / median(bare)
    console.table({
      'bare walk with stat': { 'median ms': Math.round(median(bare)), files },
      'rescan, nothing changed': { 'median ms': Math.round(median(rescan)), files },
    })
    verdict('ratio to the bare walk', ratio, { atMost: RATIO_MAX })
    console.log(`server RSS peak: ${scanPeakMb.toFixed(0)} MB while scanning`)
    verdict('server RSS peak in MB, with all analyses done', peakMb, { atMost: RSS_MB_MAX })
    await server.stop()
    server = await startServer({ dataFolder: join(folder, 'data') })
    await sleep(IDLE_AFTER_MS)
    idle['a minute after a restart'] = memoryMb(server.pid)
    console.table(idle)
    for (const [when, memory] of Object.entries(idle))
      verdict(`idle server, resident MB ${when}`, memory['server resident MB'], { atMost: IDLE_MB_MAX })
    console.log(
      `first scan ${scanSeconds.toFixed(1)} s, everything analyzed after ${analyzedSeconds.toFixed(0)} s (${Math.round(files / analyzedSeconds)} books/s)`,
    )
  } finally {
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
