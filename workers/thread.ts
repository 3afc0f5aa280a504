/**
 * What a thread of the pool can do, by name. Each task loads only the libraries it needs: a thread that reads comics
 * never pays for the PDF library.
 */
import type { Analysis, AnalysisRequest, Page, PageOutcome, PageRequest, Problem } from '#core/book/analysis.ts'
import { analyse as analyseFile } from './analyse.ts'
import { moved } from './pool.ts'

export function analyse(request: AnalysisRequest): Promise<Analysis> {
  return analyseFile(request)
}

export async function readRarPage(request: PageRequest): Promise<PageOutcome> {
  const rar = await import('./rar-page.ts')
  return moveBytes(await rar.readRarPage(request))
}

export async function extractRar(request: { path: string; pages: Page[]; folder: string }): Promise<Problem | null> {
  const rar = await import('./rar-page.ts')
  return rar.extractRarPages(request)
}

export async function renderPdfPage(request: { path: string; index: number; longestSide: number }): Promise<PageOutcome> {
  const pdf = await import('./pdf.ts')
  return moveBytes(await pdf.renderPdfPage(request))
}

/** A page of a megabyte is handed over, not copied. */
function moveBytes(outcome: PageOutcome): PageOutcome {
  return 'bytes' in outcome ? moved(outcome, outcome.bytes) : outcome
}
