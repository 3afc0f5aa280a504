import { statSync } from 'node:fs'
import type { Analysis, Cover, Page, PageOutcome, Problem } from '#core/book/analysis.ts'
import { BookFault } from './fault.ts'
import { fileRefusal } from './file-refusal.ts'
import { NAMES_IN_PROBLEM_MAX, THUMBNAIL_LONGEST_SIDE } from './limits.ts'
import { openPdf, type PDFDocumentProxy, type PdfHandle, withPdf } from './pdf-document.ts'
import { readPdfMetadata } from './pdf-metadata.ts'
import { renderPage } from './pdf-render.ts'

/** The resolution that page sizes are given in, and what a page is worth on a screen. */
const DPI = 150
const POINTS_PER_INCH = 72

/** Each page is a row in the database; the thickest real PDFs (law, bible concordances) have some 20,000. */
const PAGES_MAX = 100_000

/** Finding page n of a flat page tree passes all before it, so sizes cost n²: 0.3 s for 5,000 pages, a minute for 100,000. */
const SIZED_PAGES_MAX = 5_000

/** And should one page tree be slower than any we know: the sizes that are there by then have to do. */
const SIZING_MS = 5_000

/** Title, pages with their sizes, and page 1 as cover. Whatever is wrong with the file comes back as `problems`. */
export async function analysePdf(path: string): Promise<Omit<Analysis, 'file' | 'format'>> {
  try {
    const handle = await openPdf(path)
    try {
      return await analyseDocument(handle)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (!(error instanceof BookFault)) throw error
    return { pageCount: 0, pageSource: 'pdf', pages: [], embedded: {}, cover: null, problems: [error.problem] }
  }
}

async function analyseDocument({ document, miscounted }: PdfHandle): Promise<Omit<Analysis, 'file' | 'format'>> {
  const pageCount = document.numPages
  if (pageCount === 0) throw new BookFault('zero_pages', 'This PDF has no pages.')
  if (!(pageCount > 0 && pageCount <= PAGES_MAX)) {
    throw new BookFault('parser', `This PDF claims to have ${pageCount} pages, which cannot be.`, { pageCount, pagesMax: PAGES_MAX })
  }
  const { pages, problem: pageProblem } = await listPages(document, pageCount, miscounted)
  const { embedded, problem: metadataProblem } = await readPdfMetadata(document)
  const { cover, problem: coverProblem } = await makeCover(document)
  return {
    pageCount,
    pageSource: 'pdf',
    pages,
    embedded,
    cover,
    problems: [pageProblem, metadataProblem, coverProblem].filter((problem) => problem !== null),
  }
}

/** Sizes of pages that are damaged, or beyond the limits, are null. Throws when not one page can be found. */
async function listPages(
  document: PDFDocumentProxy,
  pageCount: number,
  miscounted: boolean,
): Promise<{ pages: Page[]; problem: Problem | null }> {
  const deadline = performance.now() + SIZING_MS
  const pages: Page[] = []
  const damaged: { page: number; reason: string }[] = []
  for (let index = 0; index < pageCount; index++) {
    const page: Page = { name: `page ${index + 1}`, mediaType: 'image/jpeg', width: null, height: null, bytes: 0 }
    pages.push(page)
    if (index >= SIZED_PAGES_MAX || performance.now() > deadline) continue
    try {
      const found = await document.getPage(index + 1)
      // Where the page tree leads nowhere pdf.js puts an empty page, which is no object of the file.
      if (found.ref === null && miscounted) damaged.push({ page: index + 1, reason: 'the page is not in the file' })
      else Object.assign(page, sizeOf(found))
    } catch (error) {
      damaged.push({ page: index + 1, reason: String(error) })
    }
  }
  if (damaged.length === pageCount) {
    throw new BookFault('parser', 'This PDF is damaged: none of its pages can be found.', { pageCount, reason: damaged[0]?.reason })
  }
  return { pages, problem: miscounted ? describeMiscount(damaged, pageCount) : null }
}

/** Single damaged pages are told when somebody opens them; a page count that is wrong means that pages may be lost unseen. */
function describeMiscount(damaged: { page: number; reason: string }[], pageCount: number): Problem {
  return {
    type: 'parser',
    message: `This PDF claims another number of pages than the ${pageCount} that are in it: it is damaged, and some may be lost.`,
    details: { damaged: damaged.slice(0, NAMES_IN_PROBLEM_MAX) },
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

async function makeCover(document: PDFDocumentProxy): Promise<{ cover: Cover | null; problem: Problem | null }> {
  try {
    const { incomplete, ...cover } = await renderPage(document, 0, THUMBNAIL_LONGEST_SIDE)
    const problem: Problem = {
      type: 'pdf_rendering',
      message: 'Page 1 is shown without a picture that is too large to draw.',
      fatal: false,
    }
    return { cover, problem: incomplete ? problem : null }
  } catch (error) {
    if (!(error instanceof BookFault)) throw error
    return { cover: null, problem: { ...error.problem, fatal: false } }
  }
}

/**
 * One page as JPEG, its longer side about `longestSide` pixels. The document stays open for a minute, so that the next page
 * comes faster; rendering the same page twice is not noticed here.
 */
export async function renderPdfPage(request: { path: string; index: number; longestSide: number }): Promise<PageOutcome> {
  try {
    const { size, mtimeNs } = statSync(request.path, { bigint: true })
    const file = { path: request.path, bytes: Number(size), mtimeNs }
    const { jpeg } = await withPdf(file, (document) => renderPage(document, request.index, request.longestSide))
    // A slice of pooled memory cannot be moved to another thread.
    return { bytes: Uint8Array.from(jpeg), mediaType: 'image/jpeg' }
  } catch (error) {
    return { problem: error instanceof BookFault ? { ...error.problem, fatal: false } : fileRefusal(error) }
  }
}
