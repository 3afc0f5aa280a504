/**
 * How long the preview of a large folder takes, beside a bare walk of it; how much memory it adds to an idle server, and how long it blocks the server; and
 * how much longer the first scan takes with `auto` than with the strategy that asks for no decisions.
 * `npm run bench:layouts [-- --files 100000 --rounds 5 --only preview,scan --keep FOLDER]`
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeMixedTree } from '#bench/layouts/mixed-tree.ts'
import { median } from '#bench/load.ts'
import { cpuOfChildren, cpuSeconds } from '#bench/memory.ts'
import { machineLoad, ROUNDS_MIN, ratioOf } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: String(ROUNDS_MIN) },
    only: { type: 'string', default: 'preview,scan' },
    /** Keeps the generated tree in this folder, and uses it again. */
    keep: { type: 'string' },
  },
})
const only = values.only.split(',')
const rounds = Number(values.rounds)
/** A preview ends after ten seconds. */
const PREVIEW_SECONDS_MAX = 10
const PREVIEW_MB_MAX = 64
const PAUSE_MS_MAX = 200
/** Of the first scan with `auto` to that with `series_volume`. */
const SCAN_RATIO_MAX = 1.05

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-layouts-'))
const library = join(values.keep ?? folder, `mixed-tree-${values.files}`)

/** Counts the books. */
function bareWalk(path: string): number {
  let count = 0
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const full = `${path}/${entry.name}`
    if (entry.isDirectory()) count += bareWalk(full)
    else if (statSync(full).isFile() && !full.endsWith('.opf')) count += 1
  }
  return count
}

const rssMb = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

async function probe(server: RunningServer, message: 'reset' | 'read'): Promise<{ worstMs: number; worstCpuMs: number }> {
  return await new Promise((resolve) => {
    const receive = (answer: { probe?: string; worstMs: number; worstCpuMs: number }) => {
      if (answer.probe !== message) return
      server.process.off('message', receive)
      resolve(answer)
    }
    server.process.on('message', receive)
    server.process.send(message)
  })
}

/** One preview, with the highest memory and the longest pause of the server meanwhile. */
async function measurePreview(server: RunningServer, files: number) {
  await probe(server, 'reset')
  const idleMb = rssMb(server.pid)
  let peakMb = idleMb
  let isRunning = true
  const watching = (async () => {
    while (isRunning) {
      peakMb = Math.max(peakMb, rssMb(server.pid))
      await sleep(10)
    }
  })()
  const [begun, used] = [performance.now(), cpuSeconds(server.pid)]
  const { totalFiles } = await server.post<{ totalFiles: number; truncated: boolean }>('/api/v1/libraries/preview-scan', { path: library })
  const seconds = (performance.now() - begun) / 1000
  isRunning = false
  await watching
  if (totalFiles !== files) throw new Error(`The preview saw ${totalFiles} files of ${files}`)
  const { worstMs, worstCpuMs } = await probe(server, 'read')
  return { seconds, cpuSeconds: cpuSeconds(server.pid) - used, addedMb: peakMb - idleMb, pauseMs: worstMs, pauseCpuMs: worstCpuMs }
}

async function benchPreview(server: RunningServer, files: number): Promise<void> {
  const bare: number[] = []
  const previews: Awaited<ReturnType<typeof measurePreview>>[] = []
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now()
    bareWalk(library)
    bare.push((performance.now() - begun) / 1000)
    previews.push(await measurePreview(server, files))
  }
  console.table(previews)
  console.log(
    `bare walk: ${median(bare).toFixed(2)} s; preview: ${
      ratioOf(
        previews.map(({ seconds }) => seconds),
        bare,
      ).note
    }`,
  )
  verdict('seconds of a preview', median(previews.map(({ seconds }) => seconds)), { atMost: PREVIEW_SECONDS_MAX })
  // The first one counts: later ones find memory that the process already has.
  verdict('MB that the first preview adds', previews[0]?.addedMb ?? 0, { atMost: PREVIEW_MB_MAX })
  verdict('longest pause of the server in ms', Math.max(...previews.map(({ pauseMs }) => pauseMs)), { atMost: PAUSE_MS_MAX })
}

/** The first scan. CPU time includes the analyses that run meanwhile, but not the load of the machine. */
async function measureScan(server: RunningServer, strategy: string, files: number): Promise<{ seconds: number; cpu: number }> {
  const request = { name: strategy, path: library, seriesStrategy: strategy, scanImmediately: false }
  const { id } = await server.post<{ id: string }>('/api/v1/libraries', request)
  const used = () => cpuSeconds(server.pid) + cpuOfChildren(server.pid).postgres
  const before = used()
  await server.post(`/api/v1/libraries/${id}/scan`)
  const state = await awaitScan(server, id, { analyzed: false, timeoutMs: 600_000, pollMs: 20 })
  if (state.status !== 'completed' || state.filesTotal !== files) throw new Error(`The scan failed: ${JSON.stringify(state)}`)
  return { seconds: (Date.parse(state.completedAt as string) - Date.parse(state.startedAt)) / 1000, cpu: used() - before }
}

/** Each on a server of its own, because a scan leaves rows and analyses behind. */
async function benchScans(files: number): Promise<void> {
  const scans: Record<'auto' | 'series_volume', { seconds: number; cpu: number }[]> = { auto: [], series_volume: [] }
  for (let round = 0; round < rounds; round++)
    for (const strategy of round % 2 === 0 ? (['auto', 'series_volume'] as const) : (['series_volume', 'auto'] as const)) {
      const dataFolder = join(folder, `data-${strategy}-${round}`)
      const server = await startServer({ dataFolder })
      try {
        scans[strategy].push(await measureScan(server, strategy, files))
      } finally {
        await server.kill().then(() => server.stop())
        rmSync(dataFolder, { recursive: true, force: true })
      }
    }
  for (const [strategy, all] of Object.entries(scans)) console.log(strategy, JSON.stringify(all))
  const ratioIn = (figure: 'seconds' | 'cpu') =>
    ratioOf(...([scans.auto, scans.series_volume].map((all) => all.map((one) => one[figure])) as [number[], number[]]))
  const { ratio, note } = ratioIn('seconds')
  console.log(`first scan with auto: ${note}; CPU time: ${ratioIn('cpu').note}; ${machineLoad()}`)
  verdict('ratio of the first scan with auto to that with series_volume', ratio, { atMost: SCAN_RATIO_MAX })
}

try {
  if (!existsSync(library)) writeMixedTree(library, Number(values.files))
  const files = bareWalk(library)
  console.log(`${files} files; ${machineLoad()}`)
  if (only.includes('preview')) {
    const flags = ['--import', fileURLToPath(new URL('./stall/probe.ts', import.meta.url))]
    const server = await startServer({ dataFolder: join(folder, 'data'), flags })
    try {
      await benchPreview(server, files)
    } finally {
      await server.stop()
    }
  }
  if (only.includes('scan')) await benchScans(files)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
