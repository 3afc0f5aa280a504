/**
 * How fast the server returns lists, conditions and searches over a million books in 50,000 series, beside 10,000 books and beside plain statements for
 * the same rows, in the same run; and for a user with rules of what they may see beside one without.
 * `npm run bench:lists [-- --series 50000 --rounds 5 --keep DIR --only "first page"]`; `--only rules` compares users with and without rules, `--only fields` reads plans
 */
import { loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { type FilledServer, openFilledServer } from '#bench/lists/filled-server.ts'
import { readPlans } from '#bench/lists/plans.ts'
import { compareRestricted } from '#bench/lists/restricted.ts'
import { closeRequests, timeRequest } from '#bench/lists/timed-request.ts'
import { median } from '#bench/load.ts'
import { findLoadClient } from '#bench/load-client.ts'
import { ratioOf } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'

const { values } = parseArgs({
  options: {
    series: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '5' },
    keep: { type: 'string' },
    /** Only cases whose name contains this; the bars of the others are then not checked. */
    only: { type: 'string' },
  },
})
const ROUNDS = Number(values.rounds)
const SMALL_SERIES = 500
const PAGE = 50
/** Requests of one case in a round, and of one that takes a second. */
const REQUESTS = 60
const LONG_REQUESTS = 3

const GENRES = (first: number, second: number) => ({
  allOf: [
    { anyOf: [first, second].map((genre) => ({ genre: { operator: 'is', value: `Genre ${genre}` } })) },
    { not: { allOf: [{ readStatus: { operator: 'is', value: 'read' } }, { pageCount: { operator: 'lt', value: 30 } }] } },
    { title: { operator: 'beginsWith', value: 'chapter' } },
  ],
})

/** What the first page shows, and the number of rows, as a person would ask the database for them; prepared, and without remembering anything. */
const JOINED = `SELECT b.*, s.title AS series_name, s.reading_direction, l.name AS library_name, l.default_reading_direction, to_jsonb(p) AS progress,
    coalesce(bm.language_iso, sm.language) AS language, to_jsonb(c) AS cover,
    (SELECT count(*) FROM readings r WHERE r.book_id = b.id AND r.user_id = u.id AND r.finished_at IS NOT NULL) AS read_count,
    (SELECT max(r.last_at) FROM readings r WHERE r.book_id = b.id AND r.user_id = u.id) AS last_read_at
  FROM books b JOIN series s ON s.id = b.series_id JOIN libraries l ON l.id = b.library_id CROSS JOIN (SELECT id FROM users LIMIT 1) AS u
  LEFT JOIN read_progress p ON p.book_id = b.id AND p.user_id = u.id LEFT JOIN book_metadata bm ON bm.book_id = b.id
  LEFT JOIN series_metadata sm ON sm.series_id = s.id LEFT JOIN covers c ON c.book_id = b.id AND c.is_selected`
const IN_GENRES = `b.deleted_at IS NULL AND b.title_fold LIKE 'chapter%'
  AND (EXISTS (SELECT FROM series_genres x JOIN genres g ON g.id = x.genre_id WHERE x.series_id = b.series_id AND g.name_key IN ($1, $2))
    OR EXISTS (SELECT FROM book_genres x JOIN genres g ON g.id = x.genre_id WHERE x.book_id = b.id AND g.name_key IN ($1, $2)))
  AND NOT (b.page_count < 30 AND EXISTS (SELECT FROM read_progress p WHERE p.book_id = b.id AND p.completed AND p.user_id = (SELECT id FROM users LIMIT 1)))`
const WITH_WORD = `b.deleted_at IS NULL AND EXISTS (SELECT FROM book_search x WHERE x.book_id = b.id AND x.document @@ carrel_search_query($1))`
const PAGE_OF_BOOKS = 'ORDER BY b.sort_key, b.id LIMIT 50'

interface Plain {
  page: string
  /** Without it the number is kept. */
  count?: string
  values?: (n: number) => string[]
}

interface Case {
  /** What the first page is compared with. */
  plain?: Plain
  name: string
  /** The n-th request: another page each time, or the same again. */
  path: (n: number, books: number) => string
  body?: (n: number) => object
  /** `anew`: the catalog is changed before each request, so that nothing is remembered. */
  how: 'anew' | 'as it is'
}

const deep = (share: number) => (n: number, books: number) =>
  `/api/v1/books?page=${Math.max(1, Math.round((books / PAGE) * share) - (n % 400))}`
const ALL_CASES: Case[] = [
  {
    name: 'books, first page',
    path: () => '/api/v1/books',
    how: 'anew',
    plain: { page: `${JOINED} WHERE b.deleted_at IS NULL ${PAGE_OF_BOOKS}` },
  },
  { name: 'books, first page again', path: () => '/api/v1/books', how: 'as it is' },
  { name: 'books, middle pages', path: deep(0.6), how: 'as it is' },
  { name: 'books, last pages', path: deep(1), how: 'as it is' },
  { name: 'books, middle page, first time', path: deep(0.6), how: 'anew' },
  {
    name: 'condition, first time',
    path: () => '/api/v1/books/list',
    body: (n) => ({ condition: GENRES((n % 20) + 1, ((n + 7) % 20) + 1) }),
    how: 'anew',
    plain: {
      page: `${JOINED} WHERE ${IN_GENRES} ${PAGE_OF_BOOKS}`,
      count: `SELECT count(*) FROM books b WHERE ${IN_GENRES}`,
      values: (n) => [`genre ${(n % 20) + 1}`, `genre ${((n + 7) % 20) + 1}`],
    },
  },
  { name: 'condition again', path: () => '/api/v1/books/list', body: () => ({ condition: GENRES(3, 4) }), how: 'as it is' },
  {
    name: 'common word, first time',
    path: () => '/api/v1/books/list',
    body: () => ({ fullTextSearch: 'dragon' }),
    how: 'anew',
    plain: {
      page: `${JOINED} WHERE ${WITH_WORD} ${PAGE_OF_BOOKS}`,
      count: `SELECT count(*) FROM books b WHERE ${WITH_WORD}`,
      values: () => ['dragon'],
    },
  },
  { name: 'common word again', path: () => '/api/v1/books/list', body: () => ({ fullTextSearch: 'dragon' }), how: 'as it is' },
  { name: 'rare word', path: () => '/api/v1/books/list', body: () => ({ fullTextSearch: 'quokka' }), how: 'anew' },
  { name: 'series with counts', path: () => '/api/v1/series', how: 'anew' },
]
const CASES = ALL_CASES.filter(({ name }) => values.only === undefined || name.includes(values.only))

const big = await openFilledServer({ series: Number(values.series), keep: values.keep })
const small = await openFilledServer({ series: SMALL_SERIES, keep: values.keep })
const client = findLoadClient()
try {
  console.log(`load of the machine at the beginning: ${loadavg()[0]?.toFixed(2)}; client of the mixed lists: ${client.name}`)
  const times = new Map<string, number[]>()
  let sent = 0
  for (let round = -1; round < ROUNDS; round++)
    for (const each of CASES)
      for (const side of [big, small]) {
        const requests = each.how === 'anew' && /first time/.test(each.name) ? LONG_REQUESTS : REQUESTS
        for (let n = 0; n < requests; n++, sent++) {
          const ms = await timeOf(side, each, sent)
          // The first round fills caches.
          if (round >= 0) times.set(keyOf(each, side), [...(times.get(keyOf(each, side)) ?? []), ms])
          if (each.plain === undefined) continue
          const plainMs = await timeOfPlain(side, each.name, each.plain, sent)
          const key = `plain ${keyOf(each, side)}`
          if (round >= 0) times.set(key, [...(times.get(key) ?? []), plainMs])
        }
      }
  report(times)
  if (values.only === undefined) verdicts(times, await loadMixed())
  if (values.only === undefined || values.only === 'rules') await compareRestricted(big, ROUNDS)
  if (values.only === undefined || values.only === 'fields') {
    const { rows, scanning } = await readPlans(big)
    console.table(rows)
    verdict(`fields of conditions that read all of ${big.books} books from the table (${scanning.join(', ')})`, scanning.length, {
      atMost: 0,
    })
  }
  console.log(`load of the machine at the end: ${loadavg()[0]?.toFixed(2)}; server RSS peak ${big.server.peakRssMb().toFixed(0)} MB`)
  if (big.fillSeconds !== null) console.log(`seconds to fill: ${Math.round(big.fillSeconds)}`)
} finally {
  closeRequests()
  client.close()
  await big.close()
  await small.close()
}

interface Mixed {
  perSecond: number
  p99: number
}

/** Of both libraries in turn. */
async function loadMixed(): Promise<{ big: Mixed[]; small: Mixed[] }> {
  const mixed = { big: [] as Mixed[], small: [] as Mixed[] }
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, { server }] of Object.entries({ big, small }) as ['big' | 'small', FilledServer][]) {
      const target = { port: server.port, paths: mixedLists(), headers: server.headers }
      const load = await client.load(target, { connections: 16, seconds: 3 })
      if (load.failures > 0) throw new Error(`${load.failures} mixed lists failed: ${load.failed.join('; ')}`)
      if (round >= 0) mixed[name].push({ perSecond: load.requestsPerSecond, p99: load.p99Ms })
    }
  return mixed
}

/** The first ten pages of lists in several orders, of books and of series. */
function mixedLists(): string[] {
  const orders = [
    '/api/v1/books?',
    '/api/v1/books?sort=created_at,desc&',
    '/api/v1/books?sort=release_date,desc&',
    '/api/v1/series?',
    '/api/v1/series?sort=date_added,desc&',
  ]
  return orders.flatMap((order) => Array.from({ length: 10 }, (_, at) => `${order}page=${at + 1}`))
}

function keyOf({ name }: Pick<Case, 'name'>, { books }: FilledServer): string {
  return `${name} ${books}`
}

async function timeOf(side: FilledServer, { path, body, how }: Case, n: number): Promise<number> {
  // Any change of the catalog: it need not concern the list.
  if (how === 'anew') await side.client.query('UPDATE libraries SET name = name')
  return (await timeRequest(`${side.server.url}${path(n, side.books)}`, side.server.headers, body?.(n))).ms
}

/** The plain statements of a case, and what any server does with their rows. */
async function timeOfPlain({ client }: FilledServer, name: string, { page, count, values }: Plain, n: number): Promise<number> {
  const given = values?.(n) ?? []
  const at = performance.now()
  const { rows } = await client.query({ name: `page ${name}`, text: page, values: given })
  if (count !== undefined) await client.query({ name: `count ${name}`, text: count, values: given })
  JSON.stringify(rows)
  return performance.now() - at
}

function sorted(times: Map<string, number[]>, name: string, side: FilledServer): number[] {
  return (times.get(keyOf({ name }, side)) ?? []).toSorted((a, b) => a - b)
}

function atShare(numbers: readonly number[], share: number): number {
  return numbers[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? 0
}

function report(times: Map<string, number[]>): void {
  const table: Record<string, Record<string, number>> = {}
  for (const name of CASES.flatMap((each) => (each.plain === undefined ? [each.name] : [each.name, `plain ${each.name}`])))
    for (const side of [big, small]) {
      const all = sorted(times, name, side)
      table[`${name}, ${side.books}`] = {
        'p50 ms': round(median(all)),
        'p99 ms': round(atShare(all, 0.99)),
        'least ms': round(all[0] ?? 0),
      }
    }
  console.table(table)
}

/** Ratios of medians. What is remembered or bounded does not grow with the library; what is counted anew may take twice what the database takes for it. */
function verdicts(times: Map<string, number[]>, mixed: { big: Mixed[]; small: Mixed[] }): void {
  const p50 = (name: string, side = big) => median(sorted(times, name, side))
  for (const name of [
    'books, first page',
    'books, first page again',
    'condition again',
    'common word again',
    'rare word',
    'series with counts',
  ])
    verdict(`${name}, ratio to that of the small library`, p50(name) / p50(name, small), { atMost: 1.5 })
  verdict('books, first page, the plain statement to it', p50('plain books, first page') / p50('books, first page'), { atLeast: 0.5 })
  for (const name of ['condition, first time', 'common word, first time'])
    verdict(`${name}, ratio to the plain statements`, p50(name) / p50(`plain ${name}`), { atMost: 2 })
  const rates = mixed.big.map(({ perSecond }) => perSecond)
  const { ratio, note } = ratioOf(
    rates,
    mixed.small.map(({ perSecond }) => perSecond),
  )
  console.log(
    `mixed lists over 16 connections: ${Math.round(median(rates))} a second, p99 ${round(median(mixed.big.map(({ p99 }) => p99)))} ms; ${note}`,
  )
  verdict('mixed lists a second, ratio to the small library', ratio, { atLeast: 0.67 })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
