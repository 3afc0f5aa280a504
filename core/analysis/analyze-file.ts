import { fitAnalysis } from '#core/analysis/fit-analysis.ts'
import { type Analysis, type AnalysisRequest, type Analyze, failedAnalysis } from '#core/fields/analysis.ts'
import type { Log } from '#core/foundation/log.ts'

/** Waking disks, returning network shares and temporarily missing descriptors: a retry within seconds is worthwhile. */
const PASSING_CODES = new Set<unknown>(['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE'])
/** The queue's number of attempts; the last failure is recorded. */
const TRIES_MAX = 4

/** @throws when the disk failed and the queue has a try left */
export function refuseToGiveUp(analysis: Analysis, attempt: number): void {
  if (analysis.file !== null || attempt >= TRIES_MAX) return
  const passing = analysis.problems.find(({ details }) => PASSING_CODES.has(details?.code))
  if (passing) throw new Error(passing.message)
}

/** @throws only when the task was canceled or the server stops; any other error becomes a problem of the book */
export async function analyzeOrDescribe(
  { analyze, log }: { analyze: Analyze; log: Log },
  request: AnalysisRequest,
  signal: AbortSignal,
): Promise<Analysis> {
  try {
    // The pool applies the deadline and the memory limit, from the moment when a thread takes the file.
    return fitAnalysis(await analyze(request, { signal }))
  } catch (error) {
    if (signal.aborted) throw error
    log.error({ err: error, path: request.path }, 'An analysis failed unexpectedly')
    return failedAnalysis({
      type: 'other',
      message: 'The analysis of this file failed because of an error in the server.',
      details: { reason: error instanceof Error ? error.message : String(error) },
      fatal: true,
    })
  }
}
