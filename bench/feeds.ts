/**
 * The cost of feeds compared with the same lists of REST, over 20,000 books in 1,000 series; the cost of thumbnails and files of EPUBs compared with
 * bare servers. Both sides of a row are loaded in turn, so that other load affects both. `npm run bench:feeds [-- --series 1000 --rounds 5 --seconds 2]`
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { measureEpubResources, startBare } from '#bench/feeds/epub-resource.ts'
import { type Bench, ROWS, type Target } from '#bench/feeds/rows.ts'
import { FILL_PEOPLE } from '#bench/fill-people.ts'
import { type Load, loadHttp, median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'
import { coverPath } from '#core/covers/cover.ts'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'
import { startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({
  options: {
    series: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
})
const SERIES = Number(values.series)
/** Covers whose files exist. */
const COVERS = 50
/** The size of a usual thumbnail. */
const COVER_BYTES = 40_000

/** Books as a library of comics has them: people, publisher, a summary of a paragraph, and some of it read. */
const FILL = `
  INSERT INTO libraries (id, name, path) SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'Library ' || n, '/bench/' || n FROM generate_series(1, 3) n;
  INSERT INTO series (library_id, path, title) SELECT ('00000000-0000-4000-8000-00000000000' || (1 + n % 3))::uuid, 'series ' || n, 'The series ' || n
    FROM generate_series(1, ${SERIES}) n;
  INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, file_hash, reader_hash, state, page_source, page_count, title, number, cover_hash)
    SELECT s.library_id, s.id, '/bench/' || s.path || '/' || n || '.cbz', n || '.cbz', 'cbz', 1000000 + n, 1, md5(s.path || n) || md5(n || s.path), md5(s.path), 'analyzed',
      'zip', 20 + n, s.title || ' ' || n, n, 'c0ffee' FROM series s, generate_series(1, 20) n;
  INSERT INTO book_metadata (book_id, year, month, publisher, language_iso, authors, summary) SELECT b.id, 1980 + b.page_count % 40, 5, 'House', 'en',
      jsonb_build_array(jsonb_build_object('name', 'A Writer', 'role', 'writer'), jsonb_build_object('name', 'A Penciller', 'role', 'penciller')),
      repeat('A story about people in a city, told in pictures. ', 8) FROM books b;
  INSERT INTO read_progress (user_id, book_id, current_page, completed) SELECT u.id, b.id, 1, b.number < 4 FROM users u, books b WHERE b.number < 6;
  ${FILL_PEOPLE}
  VACUUM ANALYZE;
`

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-feeds-'))
const server = await startServer({ dataFolder: join(folder, 'data') })
const bare = await startBareThumbnails()
try {
  const bench = await fill()
  const table: Record<string, Record<string, number>> = {}
  const ratios: { name: string; ratio: number; atMost: number }[] = []
  for (const { name, of, against, atMost, connections = 1 } of ROWS) {
    const sides = { of: of(bench), against: against(bench) }
    for (const target of Object.values(sides)) await load(target, connections, 1)
    const runs: Record<keyof typeof sides, Load[]> = { of: [], against: [] }
    for (let round = 0; round < Number(values.rounds); round++)
      for (const side of ['of', 'against'] as const) runs[side].push(await load(sides[side], connections, Number(values.seconds)))
    const rate = (side: keyof typeof sides) => median(runs[side].map(({ requestsPerSecond }) => requestsPerSecond))
    const ratio = median(runs.of.map((run, round) => (runs.against[round] as Load).requestsPerSecond / run.requestsPerSecond))
    table[name] = {
      ...{ 'per s': Math.round(rate('of')), 'p50 ms': round(median(runs.of.map(({ p50Ms }) => p50Ms))) },
      ...{ 'against per s': Math.round(rate('against')), 'against p50 ms': round(median(runs.against.map(({ p50Ms }) => p50Ms))) },
      ratio: round(ratio),
    }
    ratios.push({ name, ratio, atMost })
  }
  console.table(table)
  for (const { name, ratio, atMost } of ratios) verdict(`${name}: ratio of response times`, ratio, { atMost })
} finally {
  bare.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

// After the others have stopped: their work would slow both servers down, and one more than the other.
await measureEpubResources({ rounds: Number(values.rounds), seconds: Number(values.seconds) })

/** All covers in one file, which is the least that sending them can cost. */
async function startBareThumbnails() {
  const path = join(folder, 'covers')
  writeFileSync(path, Buffer.alloc(COVERS * COVER_BYTES, 7))
  const place = { compressedBytes: COVER_BYTES, method: 0, mediaType: 'image/jpeg' }
  return await startBare(
    path,
    Array.from({ length: COVERS }, (_, index) => ({ ...place, offset: index * COVER_BYTES })),
  )
}

async function load({ port = server.port, paths, headers = server.headers }: Target, connections: number, seconds: number): Promise<Load> {
  const result = await loadHttp({ port, paths, headers, connections, seconds })
  if (result.failures > 0) throw new Error(`${paths[0]}: ${result.failures} requests failed`)
  return result
}

async function fill(): Promise<Bench> {
  const dataFolder = join(folder, 'data')
  const url = await findRunningUrl(dataFolder)
  if (!url) throw new Error('the database of the server was not found')
  const client = new Client({ connectionString: url })
  await client.connect()
  console.log(`Filling ${SERIES * 20} books in ${SERIES} series …`)
  for (const statement of FILL.split(';\n')) if (statement.trim()) await client.query(statement)
  const { rows: books } = await client.query(`SELECT id FROM books LIMIT ${COVERS}`)
  const { rows: series } = await client.query(`SELECT id FROM series LIMIT ${COVERS}`)
  await client.end()
  await fetch(`${server.url}/api/v1/admin/settings/compatibilityApi.enabled`, {
    method: 'PUT',
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ value: 'true' }),
  })
  for (const { id } of books) {
    mkdirSync(dirname(coverPath(dataFolder, id)), { recursive: true })
    writeFileSync(coverPath(dataFolder, id), Buffer.alloc(COVER_BYTES, 7))
  }
  return { server, bare, bookIds: books.map(({ id }) => id), seriesIds: series.map(({ id }) => id) }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
