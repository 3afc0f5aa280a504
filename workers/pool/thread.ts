/**
 * The tasks of a pool thread, by name. Each task loads only the libraries that it needs: a thread that reads comics
 * never loads the PDF library.
 */
import type {
  Analysis,
  AnalysisRequest,
  CoverOutcome,
  LibraryFile,
  Page,
  PageOutcome,
  PageRequest,
  Problem,
} from '#core/metadata/analysis.ts'
import type { PublicationOutcome } from '#core/reading/publication.ts'
import type { ReadingListOutcome } from '#core/shelves/reading-list.ts'
import { analyze as analyzeFile, drawBookCover as drawCoverOfFile } from '../formats/analyze.ts'
import { BEGUN, drawElsewhere, ENDED, type Job, monotonicMs } from './job.ts'
import { moved } from './moved.ts'

// pdf.js leaves promises behind that reject after nobody awaits them. Awaited promises report their own failure; the others must
// not end the thread and lose what the current file has yielded so far.
process.on('unhandledRejection', () => {})

export const analyze = announced(
  (request: AnalysisRequest, jobId): Promise<Analysis> => analyzeFile(request, (drawing) => drawElsewhere(jobId, drawing)),
)

export const drawBookCover = announced(
  (request: LibraryFile, jobId): Promise<CoverOutcome> => drawCoverOfFile(request, (drawing) => drawElsewhere(jobId, drawing)),
)

export const readRarPage = announced(async (request: PageRequest): Promise<PageOutcome> => {
  const rar = await import('../formats/rar/rar-page.ts')
  const outcome = await rar.readRarPage(request)
  // A page of a megabyte is transferred, not copied.
  return 'bytes' in outcome ? moved(outcome, outcome.bytes) : outcome
})

export const extractRar = announced(async (request: LibraryFile & { pages: Page[]; folder: string }): Promise<Problem | null> => {
  const rar = await import('../formats/rar/rar-page.ts')
  return rar.extractRarPages(request)
})

export const readPublication = announced(async (request: LibraryFile): Promise<PublicationOutcome> => {
  const publication = await import('../formats/epub/publication.ts')
  return publication.readPublication(request)
})

export const readReadingList = announced(async (bytes: Uint8Array): Promise<ReadingListOutcome> => {
  const readingList = await import('../metadata/reading-list.ts')
  return readingList.readReadingList(bytes)
})

/** An empty task, with which the pool checks that a thread works. */
export const answer = announced(async (): Promise<true> => true)

/** Records when the work began and ended: a task without an end died with its thread. */
function announced<Request, Result>(work: (request: Request, jobId: number) => Promise<Result>) {
  return async ({ id, request, times }: Job<Request>): Promise<Result> => {
    times[BEGUN] = monotonicMs()
    try {
      return await work(request, id)
    } finally {
      times[ENDED] = monotonicMs()
    }
  }
}
