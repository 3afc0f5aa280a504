/**
 * How fast the server returns lists over 100,000 books in 5,000 series, compared with the same statements sent through pg on one connection, with
 * the plan of each. `npm run bench:lists [-- --series 5000 --plans]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { FILL_PEOPLE } from '#bench/fill-people.ts'
import { loadHttp, median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'
import type { Caller } from '#core/account/caller.ts'
import { ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { listBooks } from '#core/catalog/book-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { closeDatabase, openDatabase } from '#core/database/database.ts'
import { findRunningUrl } from '#core/database/embedded-postgres.ts'
import { silentLog } from '#core/foundation/log.ts'
import { startServer } from '#test/support/running-server.ts'

const { values } = parseArgs({ options: { series: { type: 'string', default: '5000' }, plans: { type: 'boolean', default: false } } })
const SERIES = Number(values.series)
const BOOKS = SERIES * 20
const PAGE = 50
const SECONDS = 3
const RATIO_MIN = 0.5
const LAST_PAGE_MAX = 2
const SEARCH_P99_MS_MAX = 60
/** For two search documents per book; ten times as long if their time grew with the square of the number. */
const FILL_SECONDS_MAX = 200

/** The summary of every fifth book contains "dragon", that of some twenty "quokka". */
const FILL = `
  INSERT INTO libraries (id, name, path) VALUES ('00000000-0000-4000-8000-000000000001', 'Bench', '/bench');
  INSERT INTO series (library_id, path, title) SELECT '00000000-0000-4000-8000-000000000001', 'series ' || n,
    (ARRAY['Silent', 'Golden', 'Broken', 'Hidden', 'Last', 'Iron'])[1 + n % 6] || ' ' || (ARRAY['Garden', 'Empire', 'River', 'Mask'])[1 + n / 6 % 4] || ' ' || n
    FROM generate_series(1, ${SERIES}) n;
  INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, file_hash, reader_hash, state, page_count, title, number)
    SELECT s.library_id, s.id, '/bench/' || s.path || '/' || n || '.cbz', n || '.cbz', 'cbz', 1000000 + n, 1, md5(s.path || n) || md5(n || s.path), md5(s.path), 'analyzed',
      20 + n, 'Chapter ' || n, n FROM series s, generate_series(1, 20) n;
  INSERT INTO book_metadata (book_id, year, publisher, authors, summary) SELECT b.id, 1980 + row_number() OVER () % 40, 'House ' || row_number() OVER () % 50,
      jsonb_build_array(jsonb_build_object('name', 'Writer ' || row_number() OVER () % 500, 'role', 'writer')),
      'A story about people in a city, told in pictures, part ' || b.number || CASE WHEN row_number() OVER () % 5 = 0 THEN ', with a dragon' ELSE '' END
        || CASE WHEN row_number() OVER () % ${BOOKS / 20} = 0 THEN ' and a quokka' ELSE '' END FROM books b;
  INSERT INTO genres (name, name_key) SELECT 'Genre ' || n, 'genre ' || n FROM generate_series(1, 20) n;
  INSERT INTO series_genres SELECT s.id, g.id FROM series s JOIN genres g ON g.name = 'Genre ' || (1 + abs(hashtext(s.path)) % 20);
  INSERT INTO read_progress (user_id, book_id, current_page, completed) SELECT u.id, b.id, 1, b.number < 4 FROM users u, books b WHERE b.number < 6;
  ${FILL_PEOPLE}
  VACUUM ANALYZE;
`
const CONDITION = {
  allOf: [
    { anyOf: [{ genre: { operator: 'is', value: 'Genre 3' } }, { genre: { operator: 'is', value: 'Genre 4' } }] },
    { not: { allOf: [{ readStatus: { operator: 'is', value: 'read' } }, { pageCount: { operator: 'lt', value: 30 } }] } },
    { title: { operator: 'beginsWith', value: 'chapter' } },
  ],
}

const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-lists-'))
const server = await startServer({ dataFolder: join(folder, 'data') })
try {
  const url = await findRunningUrl(join(folder, 'data'))
  if (!url) throw new Error('The database of the server was not found')
  const client = new Client({ connectionString: url })
  await client.connect()
  console.log(`Filling ${BOOKS} books in ${SERIES} series …`)
  const filledFrom = performance.now()
  for (const statement of FILL.split(';\n')) if (statement.trim()) await client.query(statement)
  const fillSeconds = (performance.now() - filledFrom) / 1000
  const { rows } = await client.query(`SELECT id FROM users LIMIT 1`)
  const caller: Caller = { userId: rows[0].id, username: 'ada', permissions: new Set(ROLE_PERMISSIONS.admin), via: 'token' }

  const lastPage = BOOKS / PAGE
  const books =
    (filter: Parameters<typeof listBooks>[2]['filter'], page = 1) =>
    (database: Parameters<typeof listBooks>[0]) =>
      listBooks(database, caller, { filter, sort: null, offset: (page - 1) * PAGE, limit: PAGE })
  const cases: { name: string; path: string; body?: unknown; read: (database: Parameters<typeof listBooks>[0]) => Promise<unknown> }[] = [
    { name: 'books, first page', path: '/api/v1/books', read: books({}) },
    { name: 'books, middle page', path: `/api/v1/books?page=${lastPage / 2}`, read: books({}, lastPage / 2) },
    { name: 'books, last page', path: `/api/v1/books?page=${lastPage}`, read: books({}, lastPage) },
    {
      name: 'condition of three levels',
      path: '/api/v1/books/list',
      body: { condition: CONDITION },
      read: books({ condition: compileFilter(CONDITION, 'books', caller) }),
    },
    { name: 'search, common word', path: '/api/v1/books/list', body: { fullTextSearch: 'dragon' }, read: books({ search: 'dragon' }) },
    { name: 'search, rare word', path: '/api/v1/books/list', body: { fullTextSearch: 'quokka' }, read: books({ search: 'quokka' }) },
    {
      name: 'series, unread counts',
      path: '/api/v1/series',
      read: (database) => listSeries(database, caller, { filter: {}, sort: null, offset: 0, limit: PAGE }),
    },
  ]

  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  const table: Record<string, Record<string, number>> = {}
  const plans: string[] = []
  for (const { name, path, body, read } of cases) {
    const statements: { sql: string; bindings: unknown[] }[] = []
    const listen = (query: { sql: string; bindings: unknown[] }) => statements.push(query)
    database.on('query', listen)
    await read(database)
    database.off('query', listen)

    const bare: number[] = []
    const bareUntil = performance.now() + SECONDS * 1000
    while (performance.now() < bareUntil) {
      const at = performance.now()
      for (const { sql, bindings } of statements) await client.query(sql, bindings)
      bare.push(performance.now() - at)
    }
    const load = await loadHttp({ port: server.port, paths: [path], headers: server.headers, body, connections: 1, seconds: SECONDS })
    if (load.failures > 0) throw new Error(`${name}: ${load.failures} requests failed`)
    const bareRate = 1000 / (bare.reduce((sum, ms) => sum + ms, 0) / bare.length)
    table[name] = {
      'bare p50 ms': round(median(bare)),
      'p50 ms': round(load.p50Ms),
      'p99 ms': round(load.p99Ms),
      'bare/s': Math.round(bareRate),
      'per s': Math.round(load.requestsPerSecond),
      ratio: round(load.requestsPerSecond / bareRate),
    }
    for (const { sql, bindings } of statements) {
      const { rows: plan } = await client.query(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) ${sql}`, bindings)
      const lines = plan.map((row) => Object.values(row)[0] as string)
      plans.push(`── ${name}\n${(values.plans ? lines : lines.filter((line) => /Scan|Execution Time/.test(line))).join('\n')}`)
    }
  }
  console.log(plans.join('\n'))
  console.table(table)
  const row = (name: string) => table[name] as Record<string, number>
  const worst = Math.min(...Object.values(table).map(({ ratio }) => ratio as number))
  verdict('seconds to fill, with all documents of the search', fillSeconds, { atMost: FILL_SECONDS_MAX })
  verdict('worst ratio to the bare statements', worst, { atLeast: RATIO_MIN })
  const deep = (row('books, last page')['p50 ms'] as number) / (row('books, first page')['p50 ms'] as number)
  verdict('last page to first page', deep, { atMost: LAST_PAGE_MAX })
  const slowest = Math.max(row('search, common word')['p99 ms'] as number, row('search, rare word')['p99 ms'] as number)
  verdict('p99 of searches in ms', slowest, { atMost: SEARCH_P99_MS_MAX })
  await closeDatabase(database)
  await client.end()
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
