/**
 * What a thread of the pool can do, by name. Each task loads only the libraries it needs: a thread that reads comics
 * never pays for the PDF library.
 */
import type { Analysis, AnalysisRequest, Page, PageOutcome, PageRequest, Problem } from '#core/book/analysis.ts'
import type { ReadingListOutcome } from '#core/shelf/reading-list.ts'
import { analyse as analyseFile } from './analyse.ts'
import { type Errand, monotonicMs, moved } from './pool.ts'

export const analyse = announced((request: AnalysisRequest): Promise<Analysis> => analyseFile(request))

export const readRarPage = announced(async (request: PageRequest): Promise<PageOutcome> => {
  const rar = await import('./rar-page.ts')
  return moveBytes(await rar.readRarPage(request))
})

export const extractRar = announced(async (request: { path: string; pages: Page[]; folder: string }): Promise<Problem | null> => {
  const rar = await import('./rar-page.ts')
  return rar.extractRarPages(request)
})

export const renderPdfPage = announced(async (request: { path: string; index: number; longestSide: number }): Promise<PageOutcome> => {
  const pdf = await import('./pdf.ts')
  return moveBytes(await pdf.renderPdfPage(request))
})

export const readReadingList = announced(async (bytes: Uint8Array): Promise<ReadingListOutcome> => {
  const readingList = await import('./reading-list.ts')
  return readingList.readReadingList(bytes)
})

/** Tells the pool when the work began: its deadline is for the work, not for the start of a thread on a busy machine. */
function announced<Request, Result>(work: (request: Request) => Promise<Result>) {
  return ({ request, begun }: Errand<Request>): Promise<Result> => {
    begun[0] = monotonicMs()
    return work(request)
  }
}

/** A page of a megabyte is handed over, not copied. */
function moveBytes(outcome: PageOutcome): PageOutcome {
  return 'bytes' in outcome ? moved(outcome, outcome.bytes) : outcome
}
