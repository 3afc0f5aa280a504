/**
 * What the kept totals cost writers: books a second as a scan inserts them, and as analyses update them, with the triggers of the totals and without, in turn.
 * `npm run bench:kept-totals [-- --books 4000 --rounds 7]`
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type { Test } from 'tap'
import { median } from '#bench/load.ts'
import { machineLoad, ratioOf } from '#bench/side-by-side.ts'
import { verdict } from '#bench/verdict.ts'
import { recordAnalyzed } from '#core/analysis/book-store.ts'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { recordFiles } from '#core/scan/found-file-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addLibrary } from '#test/support/library-rows.ts'

const { values } = parseArgs({ options: { books: { type: 'string', default: '4000' }, rounds: { type: 'string', default: '7' } } })
const BOOKS = Number(values.books)
/** Of a scan, and of the transactions of analyses. */
const [SCANNED_AT_ONCE, ANALYZED_AT_ONCE] = [500, 64]
const FILES_PER_FOLDER = 20
/** What the totals may cost. */
const RATIO_MIN = 0.9
/** Versions and numbers of books, of series, and of their documents: migrations/baseline/numbers.ts and series-numbers.ts. */
const TABLES = ['books', 'series', 'series_numbers', 'book_search', 'series_search', 'libraries', 'book_errors']
const TOTALS = `tgname LIKE '%\\_versioned' OR tgname LIKE '%\\_counted\\_%' OR tgname LIKE '%\\_due\\_%'`

const ends: (() => unknown)[] = []
const { database } = await openTestDatabase({ teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test, { poolMax: 4 })
const id = await addLibrary(database)
/** Titles stay as they are. */
const rules = { rewriteTitles: async (_, titles) => [...titles] } satisfies Pick<Rules, 'rewriteTitles'> as unknown as Rules
const library = { ...((await findLibraryRow(database, id)) as LibraryRow), path: '/bench' }
const scan = { library, deep: false, rules }
let folders = 0

async function setTriggers(state: 'ENABLE' | 'DISABLE'): Promise<void> {
  const { rows } = await database.raw(
    `SELECT tgrelid::regclass::text AS table, tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND (${TOTALS}) AND tgrelid = ANY(CAST(? AS regclass[]))`,
    [TABLES],
  )
  for (const { table, name } of rows) await database.raw(`ALTER TABLE ${table} ${state} TRIGGER ${name}`)
}

/** Books a second. */
async function insertBooks(): Promise<{ rate: number; ids: string[] }> {
  const begun = performance.now()
  const ids: string[] = []
  for (let done = 0; done < BOOKS; done += SCANNED_AT_ONCE) {
    const files = Array.from({ length: SCANNED_AT_ONCE }, (_, index) => {
      if (index % FILES_PER_FOLDER === 0) folders++
      return {
        path: `Series ${folders}/Book ${index} v${(index % FILES_PER_FOLDER) + 1}.cbz`,
        bytes: 1000 + index,
        mtimeNs: 1_700_000_000_000_000_000n,
        sidecars: null,
      }
    })
    ids.push(...(await recordFiles(database, scan, files)))
  }
  return { rate: (BOOKS * 1000) / (performance.now() - begun), ids }
}

/** Books a second. */
async function writeAnalyses(ids: readonly string[]): Promise<number> {
  const begun = performance.now()
  for (let done = 0; done < ids.length; done += ANALYZED_AT_ONCE) {
    const some = ids.slice(done, done + ANALYZED_AT_ONCE)
    const page = { name: '1.gif', mediaType: 'image/gif', width: 1, height: 1, bytes: 43 }
    const analyzed = some.map((bookId) => ({
      ...{
        bookId,
        bytes: '1000',
        mtimeNs: '1700000000000000000',
        retryDue: false,
        sha256: bookId.replaceAll('-', '').repeat(2),
        readerHash: 'f'.repeat(32),
        pagesHash: null,
      },
      ...{
        format: 'cbz' as const,
        pageSource: 'zip' as const,
        pageCount: 1,
        pages: [page],
        title: `Book ${bookId.slice(0, 8)}`,
        cover: { hash: 'e'.repeat(64), width: 267, height: 400, color: '#806040', page: 1 },
      },
      ...{ state: 'analyzed' as const, problems: [], cleared: [] },
    }))
    await database.transaction((trx) => recordAnalyzed(trx, analyzed))
  }
  return (ids.length * 1000) / (performance.now() - begun)
}

try {
  const rates = { inserted: { with: [] as number[], without: [] as number[] }, analyzed: { with: [] as number[], without: [] as number[] } }
  // The first round fills caches and does not count.
  for (let round = -1; round < Number(values.rounds); round++) {
    const sides = ['with', 'without'] as const
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      await setTriggers(side === 'with' ? 'ENABLE' : 'DISABLE')
      await database.raw('VACUUM ANALYZE books, series, tasks, book_search')
      const { rate, ids } = await insertBooks()
      const analyzed = await writeAnalyses(ids)
      if (round < 0) continue
      rates.inserted[side].push(rate)
      rates.analyzed[side].push(analyzed)
    }
  }
  const row = (side: 'with' | 'without') => ({
    'inserted books/s': Math.round(median(rates.inserted[side])),
    'analyzed books/s': Math.round(median(rates.analyzed[side])),
  })
  console.table({ 'with kept totals': row('with'), 'without them': row('without') })
  const inserted = ratioOf(rates.inserted.with, rates.inserted.without)
  const analyzed = ratioOf(rates.analyzed.with, rates.analyzed.without)
  console.log(`inserted: ${inserted.note}; analyzed: ${analyzed.note}; ${machineLoad()}`)
  verdict('inserted books a second, with kept totals to without', inserted.ratio, { atLeast: RATIO_MIN })
  verdict('analyzed books a second, with kept totals to without', analyzed.ratio, { atLeast: RATIO_MIN })
} finally {
  for (const end of ends) await end()
}
