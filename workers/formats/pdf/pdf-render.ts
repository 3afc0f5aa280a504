import type { Canvas } from '@napi-rs/canvas'
import { BookProblem } from '../../book-problem.ts'
import type { DrawnPage } from '../../drawing.ts'
import { DRAWING_MS_MAX } from '../../limits.ts'
import type { PDFDocumentProxy, PDFPageProxy } from './pdf-document.ts'
import { withWarning } from './pdf-warnings.ts'

/** A4 at 600 dpi is 7,016 high, more than any screen shows; a square canvas of this side takes 100 MB. */
const SIDE_MAX = 5_000

const JPEG_QUALITY = 85

type RenderRequest = Pick<Parameters<PDFPageProxy['render']>[0], 'canvas' | 'viewport'>

/** The part of pdf.js' canvas factory that we use; its own type is only `Object`. */
interface CanvasFactory {
  create(width: number, height: number): { canvas: Canvas }
  destroy(target: { canvas: Canvas }): void
}

/** When to stop drawing a page: at a deadline, or when the request is canceled. */
export interface PaintLimits {
  deadlineMs?: number
  signal?: AbortSignal
}

/**
 * Draws page `index` (0-based) as JPEG on white, its longer side `longestSide` pixels (at most 5,000), with rotation and
 * crop box applied. Throws {@link BookProblem} (`pdf_rendering`), also when drawing is stopped.
 */
export async function renderPage(
  document: PDFDocumentProxy,
  index: number,
  longestSide: number,
  limits: PaintLimits = {},
): Promise<DrawnPage> {
  const page = await getPage(document, index)
  const natural = page.getViewport({ scale: 1 })
  const longest = Math.max(natural.width, natural.height)
  if (!(longest > 0) || !Number.isFinite(longest))
    throw new BookProblem('pdf_rendering', `Page ${index + 1} has no size.`, { page: index + 1 })
  const viewport = page.getViewport({ scale: Math.min(longestSide, SIDE_MAX) / longest })
  const [width, height] = [Math.max(1, Math.round(viewport.width)), Math.max(1, Math.round(viewport.height))]
  const canvases = document.canvasFactory as CanvasFactory
  const target = canvases.create(width, height)
  try {
    // The types accept only a browser's canvas.
    const canvas = target.canvas as unknown as RenderRequest['canvas']
    const { warning } = await withWarning('Image exceeded maximum allowed size', () => paint(page, { canvas, viewport }, limits))
    return { jpeg: await target.canvas.encode('jpeg', JPEG_QUALITY), width, height, incomplete: warning !== null }
  } catch (error) {
    throw renderingProblem(index, error)
  } finally {
    canvases.destroy(target)
    page.cleanup()
  }
}

async function getPage(document: PDFDocumentProxy, index: number): Promise<PDFPageProxy> {
  try {
    return await document.getPage(index + 1)
  } catch (error) {
    throw renderingProblem(index, error)
  }
}

/** Paints in slices and may stop between them; only the end of its process stops a single endless operation. */
async function paint(page: PDFPageProxy, request: RenderRequest, { deadlineMs = DRAWING_MS_MAX, signal }: PaintLimits): Promise<void> {
  const task = page.render(request)
  const giveUp = () => task.cancel()
  const timer = setTimeout(giveUp, deadlineMs)
  signal?.addEventListener('abort', giveUp, { once: true })
  // By default pdf.js continues in microtasks, and no timer would ever fire.
  task.onContinue = (next: () => void) => setImmediate(next)
  try {
    await task.promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

function renderingProblem(index: number, error: unknown): BookProblem {
  if (error instanceof BookProblem) return error
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const tooSlow = name === 'RenderingCancelledException'
  return new BookProblem(
    'pdf_rendering',
    tooSlow ? `Page ${index + 1} takes too long to draw.` : `Page ${index + 1} cannot be drawn: it is damaged.`,
    tooSlow ? { page: index + 1, stopped: 'deadline' } : { page: index + 1, reason: `${name}: ${message}` },
  )
}
