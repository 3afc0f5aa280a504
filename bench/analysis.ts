/**
 * Scan and analysis of a generated library, end to end over HTTP with the database, compared with a script that does only the
 * unavoidable work with the same libraries on the same cores, in turn: a large library, and one of many books of 300 KB.
 * `npm run bench:analysis [-- --cbz 400 --documents 40 --small 10000 --rounds 5 --keep FOLDER]`
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Piscina } from 'piscina'
import { median } from '#bench/load.ts'
import { cpuOfChildren, cpuSeconds, type Memory, memoryLine, memoryOf } from '#bench/memory.ts'
import { scanPage } from '#bench/page-pictures.ts'
import { machineLoad, ROUNDS_MIN, ratioOf } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { awaitScan, type RunningServer, type ScanState, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({
  options: {
    cbz: { type: 'string', default: '400' },
    documents: { type: 'string', default: '40' },
    /** Books of 300 KB, EPUBs and comics in turn, in a library of their own. */
    small: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: String(ROUNDS_MIN) },
    folder: { type: 'string', default: tmpdir() },
    /** Keeps the generated library in this folder, and uses it again. */
    keep: { type: 'string' },
    /** Writes profiles of the server into this folder. */
    prof: { type: 'string' },
  },
})
const RATIO_MIN = { large: 0.85, small: 0.6 }
/** A run over so many files takes a minute. */
const SMALL_ROUNDS = 3
const SMALL_BOOK_BYTES = 300_000
const RSS_MB_MAX = 400
const MB = 1024 * 1024
const LOOK_MS = 500
/** Some tenths of a second before the end. */
const LAST_BOOKS = 12
const corpusCbr = fileURLToPath(new URL('../../shared/corpus/open/comics/cbr', import.meta.url))

const folder = mkdtempSync(join(values.folder, 'carrel-bench-analysis-'))

/** The folder of a library, written by the first run that needs it; renamed when it is complete, so that an interrupted run leaves nothing that looks whole. */
async function openLibrary(name: string, write: (library: string) => Promise<void>): Promise<string> {
  const finished = join(values.keep ?? folder, name)
  if (existsSync(finished)) return finished
  console.log(`Writing ${name} …`)
  const library = join(values.keep ?? folder, 'library-unfinished')
  rmSync(library, { recursive: true, force: true })
  await write(library)
  renameSync(library, finished)
  return finished
}

/** Pages of a phone, which fit many times into 300 KB. */
async function writeSmallBooks(library: string): Promise<void> {
  const pictures: Buffer[] = []
  for (let index = 0; index < 16; index++) pictures.push(await scanPage({ width: 400, height: 600 }))
  for (let index = 0; index < Number(values.small); index++) {
    const series = join(library, `Series ${Math.floor(index / 20)}`)
    if (index % 20 === 0) mkdirSync(series, { recursive: true })
    const picture = (at: number) => pictures[(index + at) % pictures.length] as Buffer
    if (index % 2 === 0) {
      const pages: { name: string; data: Buffer }[] = []
      for (let size = 0; size < SMALL_BOOK_BYTES; size += pages.at(-1)?.data.length ?? 0)
        pages.push({ name: `page ${pages.length + 1}.jpg`, data: picture(pages.length) })
      writeFileSync(join(series, `Comic v${index + 1}.cbz`), buildZip(pages, { comment: Buffer.from(`comic ${index}`) }))
    } else writeFileSync(join(series, `Novel ${index + 1}.epub`), novel(index, picture(0), { chapters: 12, sentences: 800 }))
  }
}

function novel(index: number, cover: Buffer, { chapters: count, sentences }: { chapters: number; sentences: number }): Buffer {
  const chapters = Array.from({ length: count }, (_, chapter) => textPage(`Chapter ${chapter} of book ${index}. `.repeat(sentences)))
  return buildEpub({
    metadata: `<dc:title>Novel ${index + 1}</dc:title>`,
    manifest: [
      '<item id="cover" href="cover.jpg" media-type="image/jpeg" properties="cover-image"/>',
      ...chapters.map((_, chapter) => `<item id="c${chapter}" href="c${chapter}.xhtml" media-type="application/xhtml+xml"/>`),
    ].join(''),
    spine: chapters.map((_, chapter) => `<itemref idref="c${chapter}"/>`).join(''),
    files: { 'c1.xhtml': null, 'cover.jpg': cover, ...Object.fromEntries(chapters.map((text, chapter) => [`c${chapter}.xhtml`, text])) },
  })
}

async function writeLargeLibrary(library: string): Promise<void> {
  // All books share a few dozen pictures: the decoder does real work, and generating them takes little time.
  const pictures: Buffer[] = []
  for (let index = 0; index < 32; index++) pictures.push(await scanPage())
  for (const name of ['comics', 'epub', 'pdf', 'cbr']) mkdirSync(join(library, name), { recursive: true })
  for (let index = 0; index < Number(values.cbz); index++) {
    const bytes = (5 + ((index * 7) % 36)) * MB
    const pages: { name: string; data: Buffer }[] = []
    for (let size = 0, page = 0; size < bytes; page++) {
      const data = pictures[(index * 5 + page) % pictures.length] as Buffer
      pages.push({ name: `page ${page + 1}.jpg`, data })
      size += data.length
    }
    writeFileSync(join(library, 'comics', `Comic v${index + 1}.cbz`), buildZip(pages, { comment: Buffer.from(`comic ${index}`) }))
  }
  for (let index = 0; index < Number(values.documents); index++) {
    const cover = pictures[index % pictures.length] as Buffer
    writeFileSync(join(library, 'epub', `Novel ${index + 1}.epub`), novel(index, cover, { chapters: 30, sentences: 400 }))
    const pages = Array.from({ length: 20 }, (_, page) => ({
      jpeg: { bytes: pictures[(index + page) % pictures.length] as Buffer, width: 1600, height: 2400 },
    }))
    writeFileSync(join(library, 'pdf', `Paper ${index + 1}.pdf`), buildPdf({ title: `Paper ${index + 1}`, pages }))
  }
  if (existsSync(corpusCbr)) {
    for (const name of readdirSync(corpusCbr)) if (name.endsWith('.cbr')) copyFileSync(join(corpusCbr, name), join(library, 'cbr', name))
  } else console.log('No corpus beside the repository: the cbr part of this benchmark is skipped.')
}

const listLibrary = (library: string) =>
  readdirSync(library, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

interface Run {
  seconds: number
  /** Of all processes. */
  cpuSeconds: number
}

async function runBare(paths: readonly string[]): Promise<Run> {
  const threads = new Piscina({
    filename: new URL('bare-analysis.ts', import.meta.url).href,
    minThreads: availableParallelism(),
    maxThreads: availableParallelism(),
  })
  const before = cpuSeconds('self')
  const startedAt = performance.now()
  await Promise.all(paths.map((path) => threads.run(path)))
  const seconds = (performance.now() - startedAt) / 1000
  const used = cpuSeconds('self') - before
  await threads.close()
  return { seconds, cpuSeconds: used }
}

/** A request for the state takes six statements: each twentieth of a second, they were a tenth of the CPU time outside the bare work. Often only towards the end. */
async function awaitEnd(server: RunningServer, libraryId: string): Promise<ScanState> {
  for (;;) {
    const { status, pendingAnalysis } = await server.get<ScanState>(`/api/v1/libraries/${libraryId}/scan-status`)
    if (status === 'completed' && pendingAnalysis < LAST_BOOKS) break
    await sleep(LOOK_MS)
  }
  return await awaitScan(server, libraryId, { analyzed: true, timeoutMs: 1_800_000, pollMs: 50 })
}

async function runCarrel(
  library: string,
  round: number,
  expected: number,
): Promise<Run & { peakMb: number; memory: Memory; shares: string }> {
  const flags = values.prof ? { flags: ['--cpu-prof', `--cpu-prof-dir=${values.prof}`] } : {}
  const server = await startServer({ dataFolder: join(folder, `data-${round}`), ...flags })
  try {
    const { id } = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
    const used = () => ({ server: cpuSeconds(server.pid), ...cpuOfChildren(server.pid) })
    const before = used()
    const startedAt = performance.now()
    await server.post(`/api/v1/libraries/${id}/scan`)
    const state = await awaitEnd(server, id)
    const seconds = (performance.now() - startedAt) / 1000
    const now = used()
    const [own, postgres, children] = [now.server - before.server, now.postgres - before.postgres, now.others - before.others]
    const { total } = await server.get<{ total: number }>('/api/v1/books?pageSize=1')
    if (state.status !== 'completed' || total !== expected)
      throw new Error(`${total} books instead of ${expected}: ${JSON.stringify(state)}`)
    const shares = `server ${own.toFixed(1)}, PostgreSQL ${postgres.toFixed(1)}, other children ${children.toFixed(1)}`
    return { seconds, cpuSeconds: own + postgres + children, shares, peakMb: server.peakRssMb(), memory: memoryOf(server.pid) }
  } finally {
    await server.stop()
    rmSync(join(folder, `data-${round}`), { recursive: true, force: true })
  }
}

/** Both sides in turn over one library. */
async function compare(library: string, rounds: number, ratioMin: number): Promise<void> {
  const paths = listLibrary(library)
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  console.log(`${paths.length} books, ${(bytes / 1e9).toFixed(1)} GB, ${availableParallelism()} cores; ${machineLoad()}`)
  const bare: Run[] = []
  const carrel: Awaited<ReturnType<typeof runCarrel>>[] = []
  // Reads the files into the cache of the system, if they fit there.
  await runBare(paths)
  for (let round = 0; round < rounds; round++) {
    bare.push(await runBare(paths))
    carrel.push(await runCarrel(library, round, paths.length))
  }
  const row = (runs: readonly Run[]) => {
    const seconds = median(runs.map((run) => run.seconds))
    return {
      seconds: Number(seconds.toFixed(1)),
      'books/s': Number((paths.length / seconds).toFixed(1)),
      'MB/s': Math.round(bytes / 1e6 / seconds),
      'CPU seconds': Number(median(runs.map((run) => run.cpuSeconds)).toFixed(1)),
    }
  }
  console.table({ 'bare work': row(bare), 'carrel, end to end': row(carrel) })
  const rates = (runs: readonly Run[]) => runs.map(({ seconds }) => 1 / seconds)
  const { ratio, note } = ratioOf(rates(carrel), rates(bare))
  const peakMb = Math.max(...carrel.map((run) => run.peakMb))
  const last = carrel.at(-1) as (typeof carrel)[number]
  console.log(`${note}; CPU seconds of the last round: ${last.shares}; ${machineLoad()}`)
  console.log(memoryLine(peakMb, last.memory))
  verdict(`${paths.length} books, ratio to the bare rate`, ratio, { atLeast: ratioMin })
  verdict(`${paths.length} books, server RSS peak in MB`, peakMb, { atMost: RSS_MB_MAX })
}

try {
  const large = await openLibrary(`library-${values.cbz}-${values.documents}`, writeLargeLibrary)
  await compare(large, Number(values.rounds), RATIO_MIN.large)
  if (values.keep === undefined) rmSync(large, { recursive: true, force: true })
  const small = await openLibrary(`library-small-${values.small}`, writeSmallBooks)
  await compare(small, Math.min(SMALL_ROUNDS, Number(values.rounds)), RATIO_MIN.small)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
