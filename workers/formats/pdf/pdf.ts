import { statSync } from 'node:fs'
import type { Analysis, Cover, LibraryFile, Page, Problem } from '#core/metadata/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawingOutcome, DrawPage, PageDrawing } from '../../drawing.ts'
import { NAMES_IN_PROBLEM_MAX, THUMBNAIL_LONGEST_SIDE } from '../../limits.ts'
import { fileRefusal } from '../file-refusal.ts'
import { openPdf, type PDFDocumentProxy, type PdfHandle, withPdf } from './pdf-document.ts'
import { readPdfMetadata } from './pdf-metadata.ts'
import { type PaintLimits, renderPage } from './pdf-render.ts'

/** The resolution in which page sizes are given; enough for a screen. */
const DPI = 150
const POINTS_PER_INCH = 72

/** Each page is a row in the database; the thickest real PDFs (law, bible concordances) have some 20,000. */
const PAGES_MAX = 100_000

/** Finding page n of a flat page tree passes all pages before it, so sizes cost n²: 0.3 s for 5,000 pages, a minute for 100,000. */
const SIZED_PAGES_MAX = 5_000

/** A deadline for page trees that are slower than any we know; pages without a size by then keep none. */
const SIZING_MS = 5_000

/**
 * Title, pages with their sizes, and page 1 as cover, drawn by `draw`. Returns everything wrong with the file as
 * `problems`.
 */
export async function analyzePdf(file: LibraryFile, draw: DrawPage = drawPdfPage): Promise<Omit<Analysis, 'file' | 'format'>> {
  try {
    const handle = await openPdf(file)
    const read = await readDocument(handle).finally(() => handle.close())
    const { cover, problem } = await makeCover(file, draw)
    return { ...read, cover, problems: [...read.problems, ...(problem ? [problem] : [])] }
  } catch (error) {
    if (!(error instanceof BookProblem)) throw error
    return { pageCount: 0, pageSource: 'pdf', pages: [], embedded: {}, cover: null, problems: [error.problem] }
  }
}

async function readDocument({ document, miscounted }: PdfHandle): Promise<Omit<Analysis, 'file' | 'format' | 'cover'>> {
  const pageCount = document.numPages
  if (pageCount === 0) throw new BookProblem('zero_pages', 'This PDF has no pages.')
  if (!(pageCount > 0 && pageCount <= PAGES_MAX)) {
    throw new BookProblem('parser', `This PDF claims to have ${pageCount} pages, more than any real PDF has.`, {
      pageCount,
      pagesMax: PAGES_MAX,
    })
  }
  const { pages, problems } = await listPages(document, pageCount, miscounted)
  const { embedded, problem } = await readPdfMetadata(document)
  return { pageCount, pageSource: 'pdf', pages, embedded, problems: problem ? [...problems, problem] : problems }
}

/** Sizes of pages that are damaged or beyond the limits are null. Throws when no page can be found. */
async function listPages(
  document: PDFDocumentProxy,
  pageCount: number,
  miscounted: boolean,
): Promise<{ pages: Page[]; problems: Problem[] }> {
  const deadline = performance.now() + SIZING_MS
  const pages: Page[] = []
  const damaged: { page: number; reason: string }[] = []
  for (let index = 0; index < pageCount; index++) {
    const page: Page = { name: `page ${index + 1}`, mediaType: 'image/jpeg', width: null, height: null, bytes: 0 }
    pages.push(page)
    if (index >= SIZED_PAGES_MAX || performance.now() > deadline) continue
    try {
      const found = await document.getPage(index + 1)
      // Where the page tree leads nowhere, pdf.js inserts an empty page, which is not an object of the file.
      if (found.ref === null && miscounted) damaged.push({ page: index + 1, reason: 'the page is not in the file' })
      else Object.assign(page, sizeOf(found))
    } catch (error) {
      damaged.push({ page: index + 1, reason: String(error) })
    }
  }
  if (damaged.length === pageCount) {
    throw new BookProblem('parser', 'This PDF is damaged: none of its pages can be found.', { pageCount, reason: damaged[0]?.reason })
  }
  return {
    pages,
    problems: [...(miscounted ? [describeMiscount(pageCount)] : []), ...(damaged.length > 0 ? [describeDamage(damaged, pageCount)] : [])],
  }
}

/** A wrong page count means that pages may be missing. */
function describeMiscount(pageCount: number): Problem {
  return {
    type: 'parser',
    message: `This PDF is damaged: its page count differs from the ${pageCount} pages that were found, so some may be missing.`,
    fatal: false,
  }
}

function describeDamage(damaged: { page: number; reason: string }[], pageCount: number): Problem {
  return {
    type: 'page_extraction',
    message: `${damaged.length} of ${pageCount} pages cannot be read: they are damaged. The first is page ${damaged[0]?.page}.`,
    details: { count: damaged.length, pages: damaged.slice(0, NAMES_IN_PROBLEM_MAX) },
    fatal: false,
  }
}

/** The crop box as shown, at {@link DPI}; the user unit is for printers. */
function sizeOf(page: { view: number[]; rotate: number }): { width: number; height: number } | undefined {
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view
  const [across, up] = [right - left, top - bottom].map((points) => Math.round((Math.abs(points) * DPI) / POINTS_PER_INCH))
  if (!across || !up || !Number.isSafeInteger(across) || !Number.isSafeInteger(up)) return undefined
  return page.rotate % 180 === 0 ? { width: across, height: up } : { width: up, height: across }
}

async function makeCover({ root, path }: LibraryFile, draw: DrawPage): Promise<{ cover: Cover | null; problem: Problem | null }> {
  const outcome = await draw({ root, path, index: 0, longestSide: THUMBNAIL_LONGEST_SIDE, purpose: 'cover' })
  if ('problem' in outcome) return { cover: null, problem: { ...outcome.problem, fatal: false } }
  const { incomplete, ...cover } = outcome
  const problem: Problem = {
    type: 'pdf_rendering',
    message: 'A picture on page 1 is too large to draw and is left out.',
    fatal: false,
  }
  return { cover, problem: incomplete ? problem : null }
}

/**
 * Draws one page as JPEG in this thread. For the purpose `page` the document stays open for a minute, so that the next page is
 * faster; drawing the same page twice is not detected here.
 */
export async function drawPdfPage(request: PageDrawing, limits: PaintLimits = {}): Promise<DrawingOutcome> {
  const draw = (document: PDFDocumentProxy) => renderPage(document, request.index, request.longestSide, limits)
  try {
    const { root, path } = request
    const { size, mtimeNs } = statSync(path, { bigint: true })
    if (request.purpose === 'page') return await withPdf({ root, path, bytes: Number(size), mtimeNs }, draw)
    const handle = await openPdf(request)
    try {
      return await draw(handle.document)
    } finally {
      await handle.close()
    }
  } catch (error) {
    return { problem: error instanceof BookProblem ? { ...error.problem, fatal: false } : fileRefusal(error) }
  }
}
