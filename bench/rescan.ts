/**
 * How fast an unchanged library is scanned again, against a bare walk with stat in Node, and how much memory the server needs
 * for the first scan of it. `npm run bench:rescan [-- --files 100000]`
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { median } from '#bench/load.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({ options: { files: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '5' } } })
const files = Number(values.files)
const rounds = Number(values.rounds)
const FILES_PER_FOLDER = 20
const RSS_MB_MAX = 350
const RATIO_MAX = 1.5

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-rescan-'))
const library = join(folder, 'library')

/** One GIF pixel: the smallest page there is, because this bench is about files, not pictures. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

function writeLibrary(): void {
  for (let index = 0; index < files; index++) {
    const series = join(library, `Series ${String(Math.floor(index / FILES_PER_FOLDER)).padStart(5, '0')}`)
    if (index % FILES_PER_FOLDER === 0) mkdirSync(series, { recursive: true })
    // The comment makes every file's hash its own.
    const zip = buildZip([{ name: '1.gif', data: PIXEL }], { comment: Buffer.from(`book ${index}`) })
    writeFileSync(join(series, `Book ${String(index).padStart(6, '0')} v${(index % FILES_PER_FOLDER) + 1}.cbz`), zip)
  }
}

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

try {
  console.log(`Writing ${files} files …`)
  writeLibrary()
  const server = await startServer({ dataFolder: join(folder, 'data') })
  try {
    const created = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
    const firstAt = performance.now()
    await server.post(`/api/v1/libraries/${created.id}/scan`)
    const first = await awaitScan(server, created.id, { analysed: false, timeoutMs: 600_000 })
    const scanSeconds = (performance.now() - firstAt) / 1000
    const scanPeakMb = server.peakRssMb()
    console.log(`First scan: ${first.filesTotal} files in ${scanSeconds.toFixed(1)} s; waiting for the analysis …`)
    await awaitScan(server, created.id, { analysed: true, timeoutMs: 1_800_000, pollMs: 1000 })
    const analysedSeconds = (performance.now() - firstAt) / 1000
    const peakMb = server.peakRssMb()

    const bare: number[] = []
    const rescan: number[] = []
    for (let round = 0; round < rounds; round++) {
      const bareAt = performance.now()
      const counted = bareWalk(library)
      bare.push(performance.now() - bareAt)
      if (counted !== files) throw new Error(`the bare walk saw ${counted} files instead of ${files}`)
      const { startedAt } = await server.post<{ startedAt: string }>(`/api/v1/libraries/${created.id}/scan`)
      const state = await awaitScan(server, created.id, { analysed: false, timeoutMs: 120_000, pollMs: 20, since: startedAt })
      if (state.status !== 'completed' || state.filesProcessed !== files) throw new Error(`the rescan went wrong: ${JSON.stringify(state)}`)
      rescan.push(Date.parse(state.completedAt as string) - Date.parse(state.startedAt))
    }
    const ratio = median(rescan) / median(bare)
    console.table({
      'bare walk with stat': { 'median ms': Math.round(median(bare)), files },
      'rescan, nothing changed': { 'median ms': Math.round(median(rescan)), files },
    })
    console.log(`ratio ${ratio.toFixed(2)} (at most ${RATIO_MAX}: ${ratio <= RATIO_MAX ? 'met' : 'NOT met'})`)
    console.log(
      `server RSS peak: ${scanPeakMb.toFixed(0)} MB while scanning, ${peakMb.toFixed(0)} MB with all analyses done (under ${RSS_MB_MAX}: ${peakMb < RSS_MB_MAX ? 'met' : 'NOT met'})`,
    )
    console.log(
      `first scan ${scanSeconds.toFixed(1)} s, everything analysed after ${analysedSeconds.toFixed(0)} s (${Math.round(files / analysedSeconds)} books/s)`,
    )
  } finally {
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
