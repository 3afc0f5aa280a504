import { statSync } from 'node:fs'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawingOutcome, PageDrawing } from '../../drawing.ts'
import { fileRefusal } from '../file-refusal.ts'
import { type DescribedPdf, describePdf, writeDescription } from './pdf-description.ts'
import { openPdf, type PDFDocumentProxy, type PdfHandle, withPdf } from './pdf-document.ts'
import { type PaintLimits, renderPage } from './pdf-render.ts'

/** Sends the description of a document, which is needed even if drawing ends the process. */
type Describe = (description: Uint8Array) => Promise<void>

/** Opens and describes a PDF in this thread. Rethrows errors of the file system. */
export async function describePdfFile(file: LibraryFile): Promise<DescribedPdf> {
  try {
    const handle = await openPdf(file)
    return await describePdf(handle).finally(() => handle.close())
  } catch (error) {
    if (error instanceof BookProblem) return { problem: error.problem }
    throw error
  }
}

/**
 * Draws one page as JPEG in this thread. For the purpose `page` the document stays open for a minute, so that the next page is
 * faster; drawing the same page twice is not detected here.
 * @param describe receives the description that the request asks for
 */
export async function drawPdfPage(request: PageDrawing, limits: PaintLimits = {}, describe?: Describe): Promise<DrawingOutcome> {
  const draw = (document: PDFDocumentProxy) => renderPage(document, request.index, request.longestSide, limits)
  try {
    const { root, path, linkTargets } = request
    const { size, mtimeNs } = statSync(path, { bigint: true })
    if (request.purpose === 'page') return await withPdf({ root, path, linkTargets, bytes: Number(size), mtimeNs }, draw)
    const handle = await (request.describes && describe ? openDescribed(request, describe) : openPdf(request))
    try {
      return await draw(handle.document)
    } finally {
      await handle.close()
    }
  } catch (error) {
    return { problem: error instanceof BookProblem ? { ...error.problem, fatal: false } : fileRefusal(error) }
  }
}

/** Throws the problem of the file, after describing that. */
async function openDescribed(file: LibraryFile, describe: Describe): Promise<PdfHandle> {
  let handle: PdfHandle | null = null
  try {
    handle = await openPdf(file)
    await describe(writeDescription(await describePdf(handle)))
    return handle
  } catch (error) {
    await handle?.close()
    if (error instanceof BookProblem) await describe(writeDescription({ problem: error.problem }))
    throw error
  }
}
