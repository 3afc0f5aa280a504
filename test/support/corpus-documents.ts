import { readdirSync } from 'node:fs'
import type { Test } from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import type { Corpus, ExpectedBook } from '#test/support/corpus.ts'
import { fileAt } from '#test/support/file-at.ts'
import { drawPdfPage } from '#workers/formats/pdf/pdf.ts'
import { closePdfs } from '#workers/formats/pdf/pdf-document.ts'

/** The expected values of EPUBs and PDFs, in addition to those of other books. */
interface ExpectedDocument extends ExpectedBook {
  titleAlt?: string[]
  layout?: string
  /** "svg" for covers without pixels. */
  coverDimensions?: { width: number; height: number } | string
  dimensionsOfPage1?: { width: number; height: number; unit: string }
  pageSizes?: [number, number][]
}

// Counted with Python's zipfile: compressed size of each spine item in started KiB. Fixed layout counts spine items.
const EPUB_PAGES: Record<string, number> = {
  'epub/accessible-epub-3.epub': 99,
  'epub/alice-with-cover.epub': 36,
  'epub/alice-without-cover.epub': 2,
  'epub/childrens-literature.epub': 120,
  'epub/conform2-bidi.epub': 1,
  'epub/conform2-list-cjk.epub': 1,
  'epub/conform2-svg.epub': 1,
  'epub/devils-dictionary.epub': 211,
  'epub/epub-32-new-features.epub': 1,
  'epub/epublib-testbook1.epub': 6,
  'epub/georgia-cfi.epub': 29,
  'epub/golden-harpoon-gutenberg.epub': 110,
  'epub/haruko-fxl-rtl.epub': 13,
  'epub/idpf-test-0100.epub': 29,
  'epub/idpf-test-0202-fxl.epub': 7,
  'epub/incomplete-theft-calibre.epub': 14,
  'epub/internallinks-ja.epub': 15,
  'epub/israelsailing-hebrew.epub': 44,
  'epub/kafka-metamorphosis.epub': 58,
  'epub/komga-epub3-minimal.epub': 2,
  'epub/lcp-drm-wasteland.epub': 16,
  'epub/linear-algebra.epub': 959,
  'epub/lorem-ipsum-blank-title.epub': 3,
  'epub/love-among-the-chickens.epub': 155,
  'epub/mahabharata-2000-files.epub': 11403,
  'epub/moby-dick.epub': 659,
  'epub/mymedia-lite-ja.epub': 20,
  'epub/page-blanche-bitmaps-in-spine.epub': 9,
  'epub/page-blanche-fxl.epub': 10,
  'epub/producing-oss-isbn10.epub': 378,
  'epub/regime-anticancer-arabic.epub': 18,
  'epub/romeo-and-juliet-feedbooks.epub': 96,
  'epub/shigisan-emakimono-scroll.epub': 4,
  'epub/smoketest-epub2.epub': 18,
  'epub/sun-zi-bing-fa-zh.epub': 1,
  'epub/title-with-volume.epub': 110,
  'epub/trees.epub': 5,
  'epub/w3c-css-epub-writing-mode.epub': 3,
  'epub/w3c-ocf-package_multiple.epub': 1,
  'epub/w3c-ocf-url_manifest.epub': 1,
  'epub/w3c-ocf-zip-comp.epub': 1,
  'epub/w3c-pkg-creator-order.epub': 1,
  'epub/w3c-pkg-dir_creator-rtl.epub': 1,
  'epub/w3c-pkg-meta-whitespace.epub': 1,
  'epub/w3c-pkg-spine-progression_rtl.epub': 4,
  'epub/w3c-pkg-title-order.epub': 1,
  'epub/w3c-pkg-unique-id.epub': 1,
  'epub/w3c-pkg-version-backward.epub': 1,
  'epub/w3c-pub-cmt-avif.epub': 1,
  'epub/w3c-pub-xml-non-validating_comment.epub': 2,
  'epub/wasteland-font-obfuscated.epub': 16,
  'epub/wizard-of-oz-epub2.epub': 85,
}

/** The independent tool printed the name of the PDF/X standard as the title; this is the title in the file. */
const OTHER_TITLES: Record<string, string> = {
  'pdf/francais-photoshop.pdf': 'Adobe Photoshop PDF',
  // No document information, as PDF 2.0 recommends: the title is in XMP, which that tool does not read.
  'pdf/pdf20-incremental.pdf': 'A simple PDF 2.0 example file',
  'pdf/pdf20-offset-start.pdf': 'A simple PDF 2.0 example file',
  'pdf/pdf20-utf8-string.pdf': 'A simple PDF 2.0 example file',
}

/** What word processors left there ("Microsoft Word - Document1", "Untitled") is no title. */
const UNTITLED = ['pdf/rotation.pdf', 'pdf/scan-cardinal-4p.pdf', 'pdf/scan-rotated-90.pdf', 'pdf/with-cropbox.pdf']

/** pdf.js reports the pages that it found (one), the other tools the count in the file (nine); the book has a problem for the difference. */
const COUNT_IS_A_LIE = 'broken/pdf/handbuilt-T02-02_007_page-tree-wrong-count.pdf'

/** Tests the analyses of the EPUBs and PDFs of the corpus; the pages of the EPUBs in epub/ were verified. */
export function testDocuments(t: Test, corpus: Corpus, seen: ReadonlyMap<string, Analysis>): void {
  const { folder } = corpus
  const documents = (corpus.files as ExpectedDocument[]).filter(({ format }) => format === 'epub' || format === 'pdf')

  t.test('good files have no fatal problem, bad ones an acceptable one', async (t) => {
    for (const book of documents) {
      const { problems } = analysisOf(book)
      const { acceptableErrorTypes: acceptable = [], errorOptional = false } = book
      for (const problem of problems) t.ok(acceptable.includes(problem.type), `${book.path}: ${problem.type}, ${problem.message}`)
      if (acceptable.length > 0 && !errorOptional) t.ok(problems.length > 0, `${book.path} should have one of ${acceptable}`)
    }
  })

  t.test('titles', async (t) => {
    for (const book of documents.filter(isReadable)) {
      // NUL padding is not part of a title, and the database cannot store it.
      const title = OTHER_TITLES[book.path] ?? book.title?.replaceAll('\0', '') ?? undefined
      const expected = UNTITLED.includes(book.path) ? undefined : title
      t.ok(
        [expected, ...(book.titleAlt ?? [])].includes(analysisOf(book).embedded.title),
        `${book.path}: ${analysisOf(book).embedded.title}`,
      )
    }
  })

  t.test('page counts and sizes of PDFs', async (t) => {
    for (const book of documents.filter((book) => book.format === 'pdf' && isReadable(book))) {
      const { pageCount, pages } = analysisOf(book)
      t.equal(pages.length, pageCount, book.path)
      if (book.path === COUNT_IS_A_LIE) t.equal(pageCount, 1)
      else if (book.pageCount !== null)
        t.ok([book.pageCount, ...(book.pageCountAlt ?? [])].includes(pageCount), `${book.path}: ${pageCount}`)
      const first = book.dimensionsOfPage1
      const sizes = book.pageSizes ?? (first ? [[first.width, first.height]] : [])
      for (const [index, [width, height]] of sizes.slice(0, pageCount).entries()) {
        const page = pages[index]
        t.ok(isNear(page?.width, width) && isNear(page?.height, height), `${book.path} page ${index + 1}: ${page?.width} x ${page?.height}`)
      }
    }
  })

  t.test('page counts of EPUBs', async (t) => {
    for (const book of documents.filter((book) => book.path.startsWith('epub/'))) {
      t.equal(analysisOf(book).pageCount, book.positions ?? EPUB_PAGES[book.path], book.path)
      if (book.layout === 'pre-paginated') t.equal(analysisOf(book).pageCount, book.pageCount, `${book.path} has fixed layout`)
    }
  })

  t.test('comic EPUBs have pages', async (t) => {
    const comics = documents
      .filter((book) => book.path.startsWith('epub/') && analysisOf(book).pageSource !== 'none')
      .map((book) => book.path)
    if (corpus.isOurs) return void t.same(comics, ['epub/comic.epub'])
    t.same(comics, [
      'epub/haruko-fxl-rtl.epub',
      'epub/komga-epub3-minimal.epub',
      'epub/page-blanche-bitmaps-in-spine.epub',
      'epub/page-blanche-fxl.epub',
    ])
    const { pages, pageCount } = seen.get('epub/page-blanche-bitmaps-in-spine.epub')!
    t.equal(pageCount, 9)
    t.same(pages.map((page) => page.width).slice(0, 2), [1200, 1200])
    t.ok(pages.every((page) => page.zip && page.bytes > 0 && page.mediaType === 'image/jpeg'))
  })

  t.test('covers', async (t) => {
    for (const book of documents.filter(isReadable)) {
      const { cover, problems } = analysisOf(book)
      if (book.format === 'pdf') t.ok(cover || problems.some((problem) => problem.type === 'pdf_rendering'), book.path)
      if (cover) t.ok(Math.max(cover.width, cover.height) <= 400, book.path)
      const expected = book.coverDimensions
      if (expected === 'svg') t.ok(cover, book.path)
      else if (typeof expected === 'object') {
        const scale = Math.min(1, 400 / Math.max(expected.width, expected.height))
        const off = [cover?.width ?? 0, cover?.height ?? 0].map((side, index) =>
          Math.abs(side - (index === 0 ? expected.width : expected.height) * scale),
        )
        t.ok(Math.max(...off) < 1, `${book.path}: ${cover?.width} x ${cover?.height}`)
      }
    }
  })

  t.test('the last page of every readable PDF can be drawn', async (t) => {
    const before = readdirSync('/proc/self/fd').length
    for (const book of documents.filter((book) => book.format === 'pdf' && isReadable(book))) {
      const { pages } = analysisOf(book)
      const index = pages.length - 1
      // The only page is the cover, which is drawn already. The test of the whole corpus serves first pages over HTTP.
      if (index === 0) continue
      if (pages[index]?.width === null) continue // The page is in the count, but not in the file.
      const outcome = await drawPdfPage({ ...fileAt(folder + book.path), index, longestSide: 500, purpose: 'page' })
      t.ok('jpeg' in outcome || book.acceptableErrorTypes?.includes(outcome.problem.type), `${book.path}, page ${index + 1}`)
    }
    await closePdfs()
    t.ok(readdirSync('/proc/self/fd').length <= before, 'no file stays open')
  })

  function analysisOf(book: ExpectedBook): Analysis {
    return seen.get(book.path)!
  }

  function isReadable(book: ExpectedBook): boolean {
    const analysis = analysisOf(book)
    return analysis.format === book.format && !analysis.problems.some((problem) => problem.fatal)
  }
}

/** Converts points at 150 dpi; tolerates one pixel. */
function isNear(pixels: number | null | undefined, points: number | undefined): boolean {
  if (points === 0) return true // The other tools could not determine it either.
  return typeof pixels === 'number' && points !== undefined && Math.abs(pixels - (points * 150) / 72) <= 1
}
