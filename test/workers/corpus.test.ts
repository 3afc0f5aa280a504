import t from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import { type ExpectedBook, findCorpus } from '#test/support/corpus.ts'
import { testDocuments } from '#test/support/corpus-documents.ts'
import { testMetadata } from '#test/support/corpus-metadata.ts'
import { processCpuMs } from '#test/support/cpu-time.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { analyze } from '#workers/formats/analyze.ts'

/** CPU time: bombs must end long before a deadline. */
const HOSTILE_MS_MAX = 10_000
const HOSTILE_RSS_BYTES_MAX = 700 * 1024 * 1024

/** Page names that the independent tools decode in the wrong code page, or truncate. */
const NAMES_OF_OTHER_TOOLS = new Set(['broken/cbz/path-traversal.cbz', 'broken/cbz/very-long-name.cbz'])

const corpus = findCorpus()
const analyzable = corpus.files.filter((file) => ['cbz', 'cbr', 'epub', 'pdf'].includes(file.format))
const books = analyzable.filter((file) => !file.notABook)
/** Analyzes every file once, for all tests below. */
const seen = new Map<string, Analysis>()
const hostileMs = new Map<string, number>()

// Some PDFs take seconds each to draw.
t.setTimeout(60_000)

t.before(async () => {
  for (const { path, format, hostile } of analyzable) {
    const started = processCpuMs()
    seen.set(path, await analyze({ ...fileAt(corpus.folder + path), verifyPages: path.startsWith('epub/') }))
    const took = processCpuMs() - started
    const isBrokenDocument = path.startsWith('broken/') && ['epub', 'pdf'].includes(format)
    if (hostile || isBrokenDocument) hostileMs.set(path, took)
    if (hostile) t.ok(process.memoryUsage().rss < HOSTILE_RSS_BYTES_MAX, `${path} stays small`)
  }
})

t.test('hostile and broken books take little time', onlyCost, async (t) => {
  for (const [path, ms] of hostileMs) t.ok(ms < HOSTILE_MS_MAX, `${path} took ${ms.toFixed(0)} ms`)
})

t.test('hashes and sizes of every book', async (t) => {
  for (const book of books) {
    const { file } = found(book)
    t.same([file?.bytes, file?.sha256, file?.readerHash], [book.size, book.sha256, book.readerHash], book.path)
  }
})

t.test('each broken book has a problem of an acceptable type', async (t) => {
  for (const book of books) {
    const types = found(book).problems.map((problem) => problem.type)
    const acceptable = book.acceptableErrorTypes ?? []
    const fits =
      types.length > 0 ? types.some((type) => acceptable.includes(type)) : book.acceptableErrorTypes === undefined || book.errorOptional
    t.ok(fits, `${book.path}: [${types}] should be of [${acceptable}]${book.errorOptional ? ' or none' : ''}`)
  }
})

t.test('format and page count of every readable book', async (t) => {
  for (const book of readable()) {
    const analysis = found(book)
    const formats = book.formatAlt ?? [book.format]
    t.ok(formats.includes(analysis.format ?? ''), `${book.path}: ${analysis.format} should be of [${formats}]`)
    // An EPUB's positions follow our own rule; its spine items and images are tested with it.
    if (analysis.format === 'epub' || book.pageCount === null) continue
    // A damaged PDF that is reported as such may differ in the rest.
    if (analysis.format === 'pdf' && book.errorOptional && analysis.problems.length > 0) continue
    const counts = [book.pageCount, ...(book.pageCountAlt ?? [])]
    t.ok(counts.includes(analysis.pageCount), `${book.path}: ${analysis.pageCount} pages should be of [${counts}]`)
  }
})

t.test('names, order and dimensions of comic pages', async (t) => {
  for (const book of readable().filter((candidate) => ['cbz', 'cbr'].includes(candidate.format))) {
    const { pages, pageCount } = found(book)
    if (pageCount !== book.pageCount) continue
    for (const expected of book.pages ?? []) {
      const page = pages[expected.page - 1]
      const label = `${book.path}, page ${expected.page}`
      const name = book.expectedPageNames?.[expected.page - 1] ?? expected.name.replaceAll('\\', '/')
      if (!NAMES_OF_OTHER_TOOLS.has(book.path) && !hasNul(pages)) t.equal(page?.name, name, label)
      const width = expected.orientedWidth ?? expected.width
      const height = expected.orientedHeight ?? expected.height
      // A tool that reads entries by name reads the first of two duplicates twice.
      if (width && !book.duplicateNames && !hasNul(pages)) t.same([page?.width, page?.height], [width, height], label)
    }
  }
})

t.test('every readable comic and PDF has a cover, or says why not', async (t) => {
  for (const book of readable()) {
    const { cover, problems, pageCount, format } = found(book)
    if (pageCount === 0 || format === 'epub') continue
    if (cover) t.ok(Math.max(cover.width, cover.height) <= 400 && cover.jpeg.length > 100, book.path)
    else t.ok(problems.length > 0, book.path)
  }
})

t.test('a deep analysis finds damage that heads do not show', async (t) => {
  const path = 'broken/cbz/bad-crc-page3-stored.cbz'
  t.same(seen.get(path)?.problems, [])
  const deep = await analyze({ ...fileAt(corpus.folder + path), verifyPages: true })
  t.match(deep.problems, [{ type: 'page_extraction', fatal: false, details: { count: 1, pages: [{ page: 3 }] } }])
  const { problems } = await analyze({
    ...fileAt(`${corpus.folder}comics/cbz/${corpus.isOurs ? 'plain' : 'haruko-manga-rtl'}.cbz`),
    verifyPages: true,
  })
  t.same(problems, [])
})

testDocuments(t, corpus, seen)
testMetadata(t, corpus, seen)

function found(book: ExpectedBook): Analysis {
  return seen.get(book.path)!
}

function readable(): ExpectedBook[] {
  return books.filter((book) => !found(book).problems.some((problem) => problem.fatal))
}

/** NUL cannot be stored, so those names and their order differ from the archive. */
function hasNul(pages: Analysis['pages']): boolean {
  return pages.some((page) => page.name.includes('\ufffd'))
}
