/**
 * Single records, pages of lists, thumbnails and small pages over 16 connections in a library of 10,000 books, each compared with a bare server in the
 * same run. `npm run bench:records [-- --rounds 5 --seconds 2 --only "one book"]`
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import sharp from 'sharp'
import { median } from '#bench/load.ts'
import { findLoadClient } from '#bench/load-client.ts'
import { verdict } from '#bench/verdict.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string' },
    prof: { type: 'string' },
  },
})
const CONNECTIONS = 16
const COMICS = 100
/** Books that are read at the same time: twice as many as there are connections. */
const READ_AT_ONCE = 32
const BOOKS = 10_000
/** Of one record or a small file: the caller is found, the permission and the visibility are checked, and the answer is conditional. */
const SINGLE_MIN = 0.35
/** Of lists, whose statement the bare server runs each time. */
const LIST_MIN = 0.5

/** The rest of the books needs no files: only records and lists of them are asked for. */
const FILL = `
  INSERT INTO series (library_id, path, title) SELECT l.id, 'filled ' || n, 'Filled ' || n FROM libraries l, generate_series(1, ${(BOOKS - COMICS) / 20}) n;
  INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, file_hash, state, page_count, title, number)
    SELECT s.library_id, s.id, '/filled/' || s.path || '/' || n || '.cbz', n || '.cbz', 'cbz', 1000000 + n, 1, md5(s.path || n), 'analyzed', 20 + n, 'Chapter ' || n, n
    FROM series s, generate_series(1, 20) n WHERE s.path LIKE 'filled %';
  VACUUM ANALYZE;
`

/** A comic whose first page is a cover of usual size, and whose second has one kilobyte. */
async function writeComics(library: string): Promise<{ small: Buffer }> {
  const cover = await sharp({ create: { width: 800, height: 1200, channels: 3, background: '#446' } })
    .jpeg()
    .toBuffer()
  const small = await sharp({
    create: { width: 40, height: 60, channels: 3, background: '#a52', noise: { type: 'gaussian', mean: 120, sigma: 20 } },
  })
    .jpeg({ quality: 40 })
    .toBuffer()
  for (let index = 0; index < COMICS; index++) {
    const series = join(library, `Series ${Math.floor(index / 20)}`)
    mkdirSync(series, { recursive: true })
    const pages = [
      { name: '1.jpg', data: cover },
      { name: '2.jpg', data: small },
    ]
    writeFileSync(join(series, `Book ${index}.cbz`), buildZip(pages, { comment: Buffer.from(`${index}`) }))
  }
  return { small }
}

/** More pages than the server remembers. */
function otherLists(): string[] {
  const orders = ['title', 'series', 'created_at', 'updated_at', 'file_size', 'page_count']
  return orders.flatMap((order) =>
    Array.from({ length: BOOKS / 50 }, (_, at) => `/api/v1/books?pageSize=50&sort=${order},asc&page=${at + 1}`),
  )
}

async function startBare(url: string, file: string): Promise<{ port: number; stop: () => void }> {
  const program = fileURLToPath(new URL('bare-record-server.ts', import.meta.url))
  const child = spawn(process.execPath, [program, url, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))))
  return { port, stop: () => child.kill() }
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-records-'))
const client = findLoadClient()
const flags = values.prof ? { flags: ['--cpu-prof', `--cpu-prof-dir=${values.prof}`] } : {}
const server = await startServer({ dataFolder: join(folder, 'data'), ...flags })
try {
  const { small } = await writeComics(join(folder, 'library'))
  const library = await server.post<{ id: string }>('/api/v1/libraries', { name: 'Bench', path: join(folder, 'library') })
  await server.post(`/api/v1/libraries/${library.id}/scan`).catch(() => {})
  await awaitScan(server, library.id, { analyzed: true, timeoutMs: 120_000 })
  const { data: comics } = await server.get<{ data: { id: string }[] }>(`/api/v1/books?pageSize=${COMICS}`)
  const url = await findRunningUrl(join(folder, 'data'))
  if (!url) throw new Error('The database of the server was not found')
  const database = new Client({ connectionString: url })
  await database.connect()
  for (const statement of FILL.split(';\n')) if (statement.trim()) await database.query(statement)
  const { rows } = await database.query('SELECT id FROM books ORDER BY id LIMIT 500')
  await database.end()
  const thumbnail = Buffer.from(
    await (await fetch(`${server.url}/api/v1/books/${comics[0]?.id}/thumbnail`, { headers: server.headers })).arrayBuffer(),
  )
  const [pageFile, thumbnailFile] = [join(folder, 'page.jpg'), join(folder, 'thumbnail.jpg')]
  writeFileSync(pageFile, small)
  writeFileSync(thumbnailFile, thumbnail)
  const bare = { page: await startBare(url, pageFile), thumbnail: await startBare(url, thumbnailFile) }

  const books = rows.map(({ id }) => id as string)
  const cases = [
    { name: 'health', bar: 0, bare: ['/file'], of: bare.page, carrel: ['/health'] },
    {
      name: 'one book',
      bar: SINGLE_MIN,
      bare: books.map((id) => `/book/${id}`),
      of: bare.page,
      carrel: books.map((id) => `/api/v1/books/${id}`),
    },
    { name: 'list of 50 books', bar: LIST_MIN, bare: ['/books'], of: bare.page, carrel: ['/api/v1/books?pageSize=50'] },
    { name: 'other lists of 50 books', bar: LIST_MIN, bare: ['/books'], of: bare.page, carrel: otherLists() },
    { name: 'list of 50 series', bar: LIST_MIN, bare: ['/series'], of: bare.page, carrel: ['/api/v1/series?pageSize=50'] },
    {
      ...{ name: `thumbnail of ${thumbnail.length} bytes`, bar: SINGLE_MIN, bare: ['/file'], of: bare.thumbnail },
      carrel: comics.map(({ id }) => `/api/v1/books/${id}/thumbnail`),
    },
    {
      ...{ name: `page of ${small.length} bytes`, bar: SINGLE_MIN, bare: ['/file'], of: bare.page },
      carrel: comics.slice(0, READ_AT_ONCE).map(({ id }) => `/api/v1/books/${id}/pages/2`),
    },
  ].filter(({ name }) => values.only === undefined || name.includes(values.only))
  const table: Record<string, Record<string, number | string>> = {}
  const ratios = new Map<string, number>()
  console.log(`client: ${client.name}; load of the machine at the beginning: ${loadavg()[0]?.toFixed(2)}`)
  for (const each of cases) {
    const runs: Record<'bare' | 'carrel', { perSecond: number; p99: number }[]> = { bare: [], carrel: [] }
    let failures = 0
    for (let round = -1; round < Number(values.rounds); round++)
      for (const side of ['bare', 'carrel'] as const) {
        const target =
          side === 'bare'
            ? { port: each.of.port, paths: each.bare, headers: {} }
            : { port: server.port, paths: each.carrel, headers: server.headers }
        const load = await client.load(target, { connections: CONNECTIONS, seconds: round < 0 ? 1 : Number(values.seconds) })
        failures += load.failures
        // The first fills caches.
        if (round >= 0) runs[side].push({ perSecond: load.requestsPerSecond, p99: load.p99Ms })
      }
    const all = runs.carrel.map(({ perSecond }, at) => perSecond / (runs.bare[at]?.perSecond ?? 1)).sort((a, b) => a - b)
    const rate = (side: 'bare' | 'carrel') => Math.round(median(runs[side].map(({ perSecond }) => perSecond)))
    ratios.set(each.name, median(all))
    table[each.name] = {
      ...{ 'bare a second': rate('bare'), 'carrel a second': rate('carrel'), ratio: Number(median(all).toFixed(3)) },
      ...{
        spread: `${all[0]?.toFixed(2)} to ${all.at(-1)?.toFixed(2)}`,
        'p99 ms': Number(median(runs.carrel.map(({ p99 }) => p99)).toFixed(2)),
      },
      failures,
    }
  }
  console.table(table)
  console.log(`load of the machine at the end: ${loadavg()[0]?.toFixed(2)}; server RSS peak ${server.peakRssMb().toFixed(0)} MB`)
  for (const { name, bar } of cases) if (bar > 0) verdict(`${name}, ratio to the bare server`, ratios.get(name) ?? 0, { atLeast: bar })
  bare.page.stop()
  bare.thumbnail.stop()
} finally {
  client.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
