import { closeSync, fstatSync } from 'node:fs'
import {
  type Analysis,
  type AnalysisRequest,
  type BookFile,
  type CoverOutcome,
  type FileFacts,
  failedAnalysis,
  type Problem,
} from '#core/fields/analysis.ts'
import { BOOK_FORMATS, type BookFormat } from '#core/fields/book-format.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { lstatInsideSync, openInsideSync } from '#core/foundation/open-inside.ts'
import { BookProblem } from '../book-problem.ts'
import type { DrawPdfPage } from '../drawing.ts'
import { withSidecars } from '../metadata/sidecars.ts'
import { analyzeRarComic, analyzeZipComic, type Contents } from './comic/comic.ts'
import { withCoverFile } from './cover-file.ts'
import { detectContainer } from './detect.ts'
import { fileRefusal } from './file-refusal.ts'
import { hashFile } from './hash.ts'
import { type PackedAnalysis, packAnalysis } from './packed-analysis.ts'
import { ZipArchive } from './zip/zip.ts'
import { documentInstead, isEpub } from './zip-document.ts'

/** Has loaded this module. */
export const prepareAnalyses = (_: null): void => {}

/**
 * Analyzes one file: hashes in one read, format by content, pages, cover, problems. Never throws for a bad file; a throw is a bug.
 * `draw` draws covers of PDFs and covers that are not plain pictures; without it this function draws them here.
 */
export async function analyze(request: AnalysisRequest, draw?: DrawPdfPage): Promise<Analysis> {
  let fd: number
  try {
    fd = openInsideSync(request)
  } catch (error) {
    return failedAnalysis(fileRefusal(error))
  }
  try {
    const before = fstatSync(fd, { bigint: true })
    const { sha256, readerHash, bytesRead } = await hashFile(fd)
    const file: FileFacts = { bytes: Number(before.size), mtimeNs: String(fileTime(before)), sha256, readerHash }
    const analysis = await analyzeContents(request, { fd, bytes: file.bytes, draw }, file)
    // By its path: another file may have taken its place. What was read of a file that was deleted meanwhile is whole.
    const after = lstatInsideSync(request) ?? fstatSync(fd, { bigint: true })
    // Size and time are those from before the read, so the next scan sees the difference and analyzes the file again.
    if (bytesRead !== file.bytes || after.size !== before.size || after.mtimeNs !== before.mtimeNs)
      return failedAnalysis(changed(), file, analysis.format)
    return analysis
  } catch (error) {
    return failedAnalysis(fileRefusal(error))
  } finally {
    closeSync(fd)
  }
}

/** The same function for threads, whose results are copied. */
export const analyzePacked = async (request: AnalysisRequest, draw?: DrawPdfPage): Promise<PackedAnalysis> =>
  packAnalysis(await analyze(request, draw))

/** Draws the cover without hashing the file, which is most of the work. Never throws for a bad file. */
export async function drawBookCover(file: BookFile & Pick<AnalysisRequest, 'coverSide'>, draw?: DrawPdfPage): Promise<CoverOutcome> {
  let fd: number
  try {
    fd = openInsideSync(file)
  } catch (error) {
    return { cover: null, problem: fileRefusal(error) }
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    const facts: FileFacts = { bytes: Number(stats.size), mtimeNs: String(fileTime(stats)), sha256: '', readerHash: '' }
    const { cover, problems } = await analyzeContents({ ...file, verifyPages: false }, { fd, bytes: facts.bytes, draw }, facts)
    return { cover, problem: problems.find(({ type, fatal }) => fatal || type === 'thumbnail') ?? null }
  } catch (error) {
    return { cover: null, problem: fileRefusal(error) }
  } finally {
    closeSync(fd)
  }
}

async function analyzeContents(
  request: AnalysisRequest,
  open: { fd: number; bytes: number; draw: DrawPdfPage | undefined },
  file: FileFacts,
): Promise<Analysis> {
  let format: BookFormat | null = null
  const as = async (found: BookFormat, contents: Promise<Contents>): Promise<Analysis> => {
    format = found
    const said = await contents
    return { file, format, ...(await withCoverFile(request, { ...said, ...withSidecars(request, said) }, open.draw)) }
  }
  try {
    const container = detectContainer(open.fd, open.bytes)
    switch (container) {
      case 'zip': {
        const archive = new ZipArchive({ path: request.path, fd: open.fd, bytes: open.bytes })
        if (isEpub(archive)) return await as('epub', (await import('./epub/epub.ts')).analyzeEpub(archive, { ...request, draw: open.draw }))
        if (archive.entries.some((entry) => /(^|\/)license\.lcpl$/.test(entry.name))) return failedAnalysis(locked(), file)
        const instead = documentInstead(archive)
        if (instead !== null) return failedAnalysis(unknownFormat(instead, true), file)
        return await as('cbz', analyzeZipComic(archive, { ...request, draw: open.draw }))
      }
      case 'rar':
        return await as('cbr', analyzeRarComic(request, open.draw))
      case 'pdf':
        return await as('pdf', (await import('./pdf/pdf-analysis.ts')).analyzePdf(request, open.draw))
      default:
        return failedAnalysis(unknownFormat(container.instead, !container.mayContinue), file)
    }
  } catch (error) {
    if (error instanceof BookProblem) return failedAnalysis(error.problem, file, format)
    throw error
  }
}

/** @param instead what the file is, as part of a sentence */
const unknownFormat = (instead: string, isFinal: boolean): Problem => ({
  type: 'format_detection',
  message: `This file is ${instead}; Carrel reads ${BOOK_FORMATS.join(', ').toUpperCase()}.`,
  fatal: true,
  isFinal,
})

/** Readium LCP packs audio books and PDFs in zips of its own. */
function locked(): Problem {
  return { type: 'format_detection', message: 'This book is locked by Readium LCP. Carrel cannot open it.', fatal: true, isFinal: true }
}

function changed(): Problem {
  return { type: 'other', message: 'The file changed while Carrel read it. The next scan analyzes it again.', fatal: true }
}
