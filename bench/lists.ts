/**
 * How fast the server returns lists, conditions and searches over a million books in 50,000 series, beside 10,000 books in the same run.
 * `npm run bench:lists [-- --series 50000 --rounds 5 --keep DIR --only "first page"]`
 */
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { type FilledServer, openFilledServer } from '#bench/lists/filled-server.ts'
import { readPlans } from '#bench/lists/plans.ts'
import { median } from '#bench/load.ts'
import { findLoadClient } from '#bench/load-client.ts'
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
const FILL_SECONDS_MAX = 300

const GENRES = (first: number, second: number) => ({
  allOf: [
    { anyOf: [first, second].map((genre) => ({ genre: { operator: 'is', value: `Genre ${genre}` } })) },
    { not: { allOf: [{ readStatus: { operator: 'is', value: 'read' } }, { pageCount: { operator: 'lt', value: 30 } }] } },
    { title: { operator: 'beginsWith', value: 'chapter' } },
  ],
})

interface Case {
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
  { name: 'books, first page', path: () => '/api/v1/books', how: 'anew' },
  { name: 'books, first page again', path: () => '/api/v1/books', how: 'as it is' },
  { name: 'books, middle pages', path: deep(0.6), how: 'as it is' },
  { name: 'books, last pages', path: deep(1), how: 'as it is' },
  { name: 'books, middle page, first time', path: deep(0.6), how: 'anew' },
  {
    name: 'condition, first time',
    path: () => '/api/v1/books/list',
    body: (n) => ({ condition: GENRES((n % 20) + 1, ((n + 7) % 20) + 1) }),
    how: 'anew',
  },
  { name: 'condition again', path: () => '/api/v1/books/list', body: () => ({ condition: GENRES(3, 4) }), how: 'as it is' },
  { name: 'common word, first time', path: () => '/api/v1/books/list', body: () => ({ fullTextSearch: 'dragon' }), how: 'anew' },
  { name: 'common word again', path: () => '/api/v1/books/list', body: () => ({ fullTextSearch: 'dragon' }), how: 'as it is' },
  { name: 'rare word', path: () => '/api/v1/books/list', body: () => ({ fullTextSearch: 'quokka' }), how: 'anew' },
  { name: 'series with counts', path: () => '/api/v1/series', how: 'anew' },
]
const CASES = ALL_CASES.filter(({ name }) => values.only === undefined || name.includes(values.only))
// One connection, and no decompression: an HTTP client that does more would take as long as the server.
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

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
        for (let n = 0; n < requests; n++) {
          const ms = await timeOf(side, each, sent++)
          // The first round fills caches.
          if (round >= 0) times.set(keyOf(each, side), [...(times.get(keyOf(each, side)) ?? []), ms])
        }
      }
  report(times)
  if (values.only === undefined) {
    verdicts(times, await loadMixed())
    const { rows, scanning } = await readPlans(big)
    console.table(rows)
    verdict(`fields of conditions that read all of ${big.books} books from the table (${scanning.join(', ')})`, scanning.length, {
      atMost: 0,
    })
  }
  console.log(`load of the machine at the end: ${loadavg()[0]?.toFixed(2)}; server RSS peak ${big.server.peakRssMb().toFixed(0)} MB`)
  if (big.fillSeconds !== null) verdict('seconds to fill', big.fillSeconds, { atMost: FILL_SECONDS_MAX })
} finally {
  agent.destroy()
  client.close()
  await big.close()
  await small.close()
}

async function loadMixed(): Promise<{ perSecond: number; p99: number }[]> {
  const mixed: { perSecond: number; p99: number }[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const load = await client.load(
      { port: big.server.port, paths: mixedLists(), headers: big.server.headers },
      { connections: 16, seconds: 3 },
    )
    if (load.failures > 0) throw new Error(`${load.failures} mixed lists failed: ${load.failed.join('; ')}`)
    if (round >= 0) mixed.push({ perSecond: load.requestsPerSecond, p99: load.p99Ms })
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
  const content = body && JSON.stringify(body(n))
  const at = performance.now()
  await new Promise<void>((resolve, reject) => {
    const type = content === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }
    const options = { agent, method: content === undefined ? 'GET' : 'POST', headers: { ...side.server.headers, ...type } }
    const sent = request(`${side.server.url}${path(n, side.books)}`, options, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path(n, side.books)}: ${answer.statusCode}`))
      answer.on('end', resolve).resume()
    })
    sent.on('error', reject).end(content)
  })
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
  for (const { name } of CASES)
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

function verdicts(times: Map<string, number[]>, mixed: { perSecond: number; p99: number }[]): void {
  const p50 = (name: string, side = big) => median(sorted(times, name, side))
  const p99 = (name: string) => atShare(sorted(times, name, big), 0.99)
  verdict('first page, p50 in ms', p50('books, first page'), { atMost: 4 })
  verdict('first page, ratio to that of the small library', p50('books, first page') / p50('books, first page', small), { atMost: 1.5 })
  verdict('middle pages, p50 in ms', p50('books, middle pages'), { atMost: 12 })
  verdict('last pages, p50 in ms', p50('books, last pages'), { atMost: 12 })
  verdict('condition, first time, p50 in ms', p50('condition, first time'), { atMost: 400 })
  verdict('condition again, p50 in ms', p50('condition again'), { atMost: 15 })
  verdict('search of a common word, first time, p99 in ms', p99('common word, first time'), { atMost: 300 })
  verdict('search of a common word again, p99 in ms', p99('common word again'), { atMost: 60 })
  verdict('search of a rare word, p99 in ms', p99('rare word'), { atMost: 15 })
  verdict('series with counts, p50 in ms', p50('series with counts'), { atMost: 8 })
  const rates = mixed.map(({ perSecond }) => perSecond).sort((a, b) => a - b)
  console.log(`mixed lists over 16 connections: ${rates.map((rate) => Math.round(rate)).join(', ')} a second`)
  verdict('mixed lists a second', median(rates), { atLeast: 600 })
  verdict('mixed lists, p99 in ms', median(mixed.map(({ p99 }) => p99)), { atMost: 80 })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
