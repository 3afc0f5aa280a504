/**
 * Scan and analysis of a generated library, end to end over HTTP with the database, compared with a script that does only the
 * unavoidable work with the same libraries on the same cores. `npm run bench:analysis [-- --cbz 400 --documents 40 --rounds 3]`
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Piscina } from 'piscina'
import { median } from '#bench/load.ts'
import { scanPage } from '#bench/page-pictures.ts'
import { verdict } from '#bench/verdict.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({
  options: {
    cbz: { type: 'string', default: '400' },
    documents: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '2' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const RATIO_MIN = 0.75
const MB = 1024 * 1024
const corpusCbr = fileURLToPath(new URL('../../shared/corpus/open/comics/cbr', import.meta.url))

const folder = mkdtempSync(join(values.folder, 'carrel-bench-analysis-'))
const library = join(folder, 'library')

async function writeLibrary(): Promise<string[]> {
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
    const chapters = Array.from({ length: 30 }, (_, chapter) => textPage(`Chapter ${chapter} of book ${index}. `.repeat(400)))
    const epub = buildEpub({
      metadata: `<dc:title>Novel ${index + 1}</dc:title>`,
      manifest: [
        '<item id="cover" href="cover.jpg" media-type="image/jpeg" properties="cover-image"/>',
        ...chapters.map((_, chapter) => `<item id="c${chapter}" href="c${chapter}.xhtml" media-type="application/xhtml+xml"/>`),
      ].join(''),
      spine: chapters.map((_, chapter) => `<itemref idref="c${chapter}"/>`).join(''),
      files: { 'c1.xhtml': null, 'cover.jpg': cover, ...Object.fromEntries(chapters.map((text, chapter) => [`c${chapter}.xhtml`, text])) },
    })
    writeFileSync(join(library, 'epub', `Novel ${index + 1}.epub`), epub)
    const pages = Array.from({ length: 20 }, (_, page) => ({
      jpeg: { bytes: pictures[(index + page) % pictures.length] as Buffer, width: 1600, height: 2400 },
    }))
    writeFileSync(join(library, 'pdf', `Paper ${index + 1}.pdf`), buildPdf({ title: `Paper ${index + 1}`, pages }))
  }
  if (existsSync(corpusCbr)) {
    for (const name of readdirSync(corpusCbr)) if (name.endsWith('.cbr')) copyFileSync(join(corpusCbr, name), join(library, 'cbr', name))
  } else console.log('No corpus beside the repository: the cbr part of this benchmark is skipped.')
  return readdirSync(library, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

async function bareSeconds(paths: readonly string[]): Promise<number> {
  const threads = new Piscina({
    filename: new URL('bare-analysis.ts', import.meta.url).href,
    minThreads: availableParallelism(),
    maxThreads: availableParallelism(),
  })
  const startedAt = performance.now()
  await Promise.all(paths.map((path) => threads.run(path)))
  const seconds = (performance.now() - startedAt) / 1000
  await threads.close()
  return seconds
}

async function carrelSeconds(round: number, expected: number): Promise<{ seconds: number; peakMb: number }> {
  const server = await startServer({ dataFolder: join(folder, `data-${round}`) })
  try {
    const { id } = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: library, scanImmediately: false })
    const startedAt = performance.now()
    await server.post(`/api/v1/libraries/${id}/scan`)
    const state = await awaitScan(server, id, { analyzed: true, timeoutMs: 1_800_000, pollMs: 50 })
    const seconds = (performance.now() - startedAt) / 1000
    const { total } = await server.get<{ total: number }>('/api/v1/books?pageSize=1')
    if (state.status !== 'completed' || total !== expected)
      throw new Error(`${total} books instead of ${expected}: ${JSON.stringify(state)}`)
    return { seconds, peakMb: server.peakRssMb() }
  } finally {
    await server.stop()
  }
}

try {
  console.log('Writing the library …')
  const paths = await writeLibrary()
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  console.log(`${paths.length} books, ${(bytes / 1e9).toFixed(1)} GB, ${availableParallelism()} cores`)
  const bare: number[] = []
  const carrel: { seconds: number; peakMb: number }[] = []
  await bareSeconds(paths.slice(0, 20))
  for (let round = 0; round < Number(values.rounds); round++) {
    bare.push(await bareSeconds(paths))
    carrel.push(await carrelSeconds(round, paths.length))
  }
  const seconds = { bare: median(bare), carrel: median(carrel.map((run) => run.seconds)) }
  const row = (time: number) => ({
    seconds: Number(time.toFixed(1)),
    'books/s': Number((paths.length / time).toFixed(1)),
    'MB/s': Math.round(bytes / 1e6 / time),
  })
  console.table({ 'bare work': row(seconds.bare), 'carrel, end to end': row(seconds.carrel) })
  const ratio = median(bare.map((time, round) => time / (carrel[round] as { seconds: number }).seconds))
  console.log(`server RSS peak ${Math.max(...carrel.map((run) => run.peakMb)).toFixed(0)} MB`)
  verdict('ratio to the bare rate', ratio, { atLeast: RATIO_MIN })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
