import type { Analysis, Page, Problem } from '#core/fields/analysis.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { BookProblem } from '../../book-problem.ts'
import { NAMES_IN_PROBLEM_MAX } from '../../limits.ts'
import type { PdfHandle } from './pdf-document.ts'
import { isPdfTexts, metadataOf, type PdfTexts, readPdfTexts } from './pdf-metadata.ts'

/** The resolution in which page sizes are given; enough for a screen. */
const DPI = 150
const POINTS_PER_INCH = 72

/** Each page is a row in the database; the thickest real PDFs (law, bible concordances) have some 20,000. */
const PAGES_MAX = 100_000

/** Finding page n of a flat page tree passes all pages before it, so sizes cost n²: 0.3 s for 5,000 pages, a minute for 100,000. */
const SIZED_PAGES_MAX = 5_000

/** A deadline for page trees that are slower than any we know; pages without a size by then keep none. */
const SIZING_MS = 5_000

/** Longer reasons are no reasons. */
const REASON_LENGTH_MAX = 1_000

/** What a PDF contains besides its pictures, as plain values: the process that draws its cover reads it, and sends it to the server. */
interface PdfDescription {
  pageCount: number
  /** The file states another number. */
  miscounted: boolean
  /** Width and height of the first pages; null where there is none. */
  sizes: (readonly [width: number, height: number] | null)[]
  damaged: { count: number; first: { page: number; reason: string }[] }
  texts: PdfTexts
}

/** Or why there is none. */
export type DescribedPdf = PdfDescription | { problem: Problem }

/** Sizes of pages that are damaged or beyond the limits are null. Throws {@link BookProblem} when no page can be found. */
export async function describePdf({ document, miscounted }: PdfHandle): Promise<PdfDescription> {
  const pageCount = document.numPages
  if (pageCount === 0) throw new BookProblem('zero_pages', 'This PDF has no pages.')
  if (!(pageCount > 0 && pageCount <= PAGES_MAX)) {
    throw new BookProblem('parser', `This PDF claims to have ${pageCount} pages, more than any real PDF has.`, {
      pageCount,
      pagesMax: PAGES_MAX,
    })
  }
  const deadline = performance.now() + SIZING_MS
  const sizes: PdfDescription['sizes'] = []
  const damaged: PdfDescription['damaged'] = { count: 0, first: [] }
  const addDamage = (page: number, reason: string) => {
    damaged.count += 1
    if (damaged.first.length < NAMES_IN_PROBLEM_MAX) damaged.first.push({ page, reason: reason.slice(0, REASON_LENGTH_MAX) })
  }
  for (let index = 0; index < Math.min(pageCount, SIZED_PAGES_MAX) && performance.now() <= deadline; index++) {
    sizes[index] = null
    try {
      const found = await document.getPage(index + 1)
      // Where the page tree leads nowhere, pdf.js inserts an empty page, which is not an object of the file.
      if (found.ref === null && miscounted) addDamage(index + 1, 'the page is not in the file')
      else sizes[index] = sizeOf(found)
    } catch (error) {
      addDamage(index + 1, String(error))
    }
  }
  if (damaged.count === pageCount) {
    throw new BookProblem('parser', 'This PDF is damaged: none of its pages can be found.', { pageCount, reason: damaged.first[0]?.reason })
  }
  return { pageCount, miscounted, sizes, damaged, texts: await readPdfTexts(document) }
}

/** The crop box as shown, at {@link DPI}; the user unit is for printers. */
function sizeOf(page: { view: number[]; rotate: number }): [number, number] | null {
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view
  const [across, up] = [right - left, top - bottom].map((points) => Math.round((Math.abs(points) * DPI) / POINTS_PER_INCH))
  if (!across || !up || !Number.isSafeInteger(across) || !Number.isSafeInteger(up)) return null
  return page.rotate % 180 === 0 ? [across, up] : [up, across]
}

/** The analysis of a described PDF, without its cover. */
export function documentOf(description: PdfDescription): Omit<Analysis, 'file' | 'format' | 'cover'> {
  const { pageCount, miscounted, sizes, damaged, texts } = description
  const pages: Page[] = Array.from({ length: pageCount }, (_, index) => {
    const [width, height] = sizes[index] ?? [null, null]
    return { name: `page ${index + 1}`, mediaType: 'image/jpeg', width, height, bytes: 0 }
  })
  const { embedded, problem } = metadataOf(texts)
  const problems = [miscounted ? describeMiscount(pageCount) : null, damaged.count > 0 ? describeDamage(damaged, pageCount) : null, problem]
  return { pageCount, pageSource: 'pdf', pages, embedded, problems: problems.filter((each) => each !== null) }
}

/** A wrong page count means that pages may be missing. */
function describeMiscount(pageCount: number): Problem {
  return {
    type: 'parser',
    message: `This PDF is damaged: its page count differs from the ${pageCount} pages that were found, so some may be missing.`,
    fatal: false,
  }
}

function describeDamage({ count, first }: PdfDescription['damaged'], pageCount: number): Problem {
  return {
    type: 'page_extraction',
    message: `${count} of ${pageCount} pages cannot be read: they are damaged. The first is page ${first[0]?.page}.`,
    details: { count, pages: first },
    fatal: false,
  }
}

/** As the process that draws sends it. */
export const writeDescription = (described: DescribedPdf): Uint8Array => Buffer.from(JSON.stringify(described))

/** Reads what {@link writeDescription} wrote. A malicious file may control the process that wrote it: null if anything is not as it should be. */
export function readDescription(bytes: Uint8Array): DescribedPdf | null {
  try {
    const value: unknown = JSON.parse(bufferOf(bytes).toString())
    if (isRecord(value) && 'problem' in value) return problemOf(value['problem'])
    return isDescription(value) ? value : null
  } catch {
    return null
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const isCount = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max

/** Why there is no description; null for what {@link describePdf} and opening never throw. */
function problemOf(value: unknown): { problem: Problem } | null {
  if (!isRecord(value)) return null
  const { type, message, details } = value
  if ((type !== 'parser' && type !== 'zero_pages') || typeof message !== 'string') return null
  if (details !== undefined && !isRecord(details)) return null
  return { problem: { type, message: message.slice(0, REASON_LENGTH_MAX), ...(details && { details }), fatal: true } }
}

function isDescription(value: unknown): value is PdfDescription {
  if (!isRecord(value) || !isCount(value['pageCount'], PAGES_MAX) || value['pageCount'] === 0) return false
  const { miscounted, sizes, damaged, texts } = value
  return (
    typeof miscounted === 'boolean' &&
    Array.isArray(sizes) &&
    sizes.length <= SIZED_PAGES_MAX &&
    sizes.every(isSize) &&
    isDamage(damaged) &&
    isPdfTexts(texts)
  )
}

const isSize = (size: unknown): boolean =>
  size === null || (Array.isArray(size) && size.length === 2 && size.every((side) => isCount(side, Number.MAX_SAFE_INTEGER) && side > 0))

function isDamage(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value['count'], PAGES_MAX)) return false
  const { first } = value
  return (
    Array.isArray(first) &&
    first.length <= NAMES_IN_PROBLEM_MAX &&
    first.every((one) => isRecord(one) && isCount(one['page'], PAGES_MAX) && typeof one['reason'] === 'string')
  )
}
