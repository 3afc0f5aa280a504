/**
 * Chapters and pictures of an EPUB over 16 connections, compared with a bare node:http server that reads and decompresses the same bytes at a known
 * offset. Both run in their own processes, and the same client loads them in turn. `node bench/feeds/epub-resource.ts`, or as a part of
 * `npm run bench:feeds`
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Load, loadHttp, median } from '#bench/load.ts'
import { jpegOfSize } from '#bench/page-pictures.ts'
import { verdict } from '#bench/verdict.ts'
import type { PublicationFile } from '#core/reading/publication.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { readPublication } from '#workers/formats/epub/publication.ts'

const CONNECTIONS = 16
/** Chapters of novels have some 60 KB, which compress to a third; pictures in them have some hundred KB. */
const CHAPTERS = 30
const CHAPTER_WORDS = 9_000
const PICTURES = 10
const PICTURE_BYTES = 150_000
const RATIO_MIN = 0.7

/** Repeats a few hundred words, so that the text compresses like prose. */
function chapterText(seed: number): string {
  const words = Array.from({ length: 400 }, (_, index) =>
    (((index + 7) * (seed + 11) * 2654435761) >>> 0).toString(36).slice(0, 2 + (index % 6)),
  )
  return Array.from({ length: CHAPTER_WORDS }, (_, index) => words[(index * index + seed * index) % words.length]).join(' ')
}

async function buildBook(): Promise<Buffer> {
  const chapters = Array.from({ length: CHAPTERS }, (_, index) => ({ name: `c${index}.xhtml`, text: textPage(chapterText(index)) }))
  const pictures = await Promise.all(Array.from({ length: PICTURES }, () => jpegOfSize(PICTURE_BYTES, randomBytes(8))))
  return buildEpub({
    manifest:
      chapters.map(({ name }, index) => `<item id="c${index}" href="${name}" media-type="application/xhtml+xml"/>`).join('') +
      pictures.map((_, index) => `<item id="p${index}" href="p${index}.jpg" media-type="image/jpeg"/>`).join(''),
    spine: chapters.map((_, index) => `<itemref idref="c${index}"/>`).join(''),
    files: {
      'c1.xhtml': null,
      ...Object.fromEntries(chapters.map(({ name, text }) => [name, text])),
      ...Object.fromEntries(pictures.map((bytes, index) => [`p${index}.jpg`, bytes])),
    },
  })
}

/** A bare server that sends these parts of a file, by their numbers. */
export async function startBare(path: string, places: object[]): Promise<{ port: number; stop: () => void }> {
  const program = fileURLToPath(new URL('bare-resource-server.ts', import.meta.url))
  const child = spawn(process.execPath, [program, path, JSON.stringify(places)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))))
  return { port, stop: () => child.kill() }
}

/** Measures and prints the verdict. @param options.rounds of each of the two, in turn */
export async function measureEpubResources(options: { rounds: number; seconds: number }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-resources-'))
  try {
    const series = join(folder, 'library', 'Series')
    mkdirSync(series, { recursive: true })
    const path = join(series, 'Novel.epub')
    writeFileSync(path, await buildBook())
    const outcome = await readPublication({ root: series, path })
    if ('problem' in outcome) throw new Error(outcome.problem.message)
    const files = outcome.publication.files.filter((file): file is PublicationFile & { zip: object } => /\.(xhtml|jpg)$/.test(file.path))
    const bare = await startBare(
      path,
      files.map(({ zip, mediaType }) => ({ ...zip, mediaType })),
    )
    const server = await startServer({ dataFolder: join(folder, 'data') })
    try {
      const place = { name: 'Bench', path: join(folder, 'library'), scanImmediately: false }
      const library = await server.post<{ id: string }>('/api/v1/libraries', place)
      await server.post(`/api/v1/libraries/${library.id}/scan`)
      await awaitScan(server, library.id, { analyzed: true, timeoutMs: 60_000 })
      const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/books')
      const base = `/api/v1/books/${data[0]?.id}/resource`
      const targets = {
        bare: { port: bare.port, paths: files.map((_, index) => `/${index}`), headers: {} },
        carrel: { port: server.port, paths: files.map((file) => `${base}/${file.path}`), headers: server.headers },
      }
      const runs: Record<keyof typeof targets, Load[]> = { bare: [], carrel: [] }
      for (const name of ['bare', 'carrel'] as const) await loadHttp({ ...targets[name], connections: CONNECTIONS, seconds: 1 })
      for (let round = 0; round < options.rounds; round++) {
        for (const name of ['bare', 'carrel'] as const)
          runs[name].push(await loadHttp({ ...targets[name], connections: CONNECTIONS, seconds: options.seconds }))
      }
      console.table({ 'bare node:http': rowOf(runs.bare), carrel: rowOf(runs.carrel) })
      const ratio = median(runs.carrel.map((load, round) => load.requestsPerSecond / (runs.bare[round] as Load).requestsPerSecond))
      verdict('EPUB resources: ratio to the bare server', ratio, { atLeast: RATIO_MIN })
      verdict('answers that were no resource', rowOf(runs.carrel).failures, { atMost: 0 })
    } finally {
      bare.stop()
      await server.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const rowOf = (loads: Load[]) => ({
  'resources/s': Math.round(median(loads.map((load) => load.requestsPerSecond))),
  'MB/s': Math.round(median(loads.map((load) => load.bytesPerSecond)) / 1e6),
  'p50 ms': Number(median(loads.map((load) => load.p50Ms)).toFixed(2)),
  'p99 ms': Number(median(loads.map((load) => load.p99Ms)).toFixed(2)),
  failures: loads.reduce((sum, load) => sum + load.failures, 0),
})

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' } } })
  await measureEpubResources({ rounds: Number(values.rounds), seconds: Number(values.seconds) })
}
