import { type Analysis, type AnalysisRequest, type Analyze, failedAnalysis } from '#core/fields/analysis.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { fitNumber } from '#core/foundation/column-number.ts'
import type { Log } from '#core/foundation/log.ts'

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

/** An analysis whose numbers fit the columns that they are written to, whatever its file claims. */
function fitAnalysis(analysis: Analysis): Analysis {
  const { book, series, ...embedded } = analysis.embedded
  return {
    ...analysis,
    pageCount: Math.max(0, fitNumber(analysis.pageCount)),
    embedded: {
      ...embedded,
      ...(book && { book: fitValues('book', book) }),
      ...(series && { series: fitSeries(series) }),
    },
  }
}

/** The same for the metadata of a series alone. */
export const fitSeries = <Series extends { fields?: object }>(series: Series): Series =>
  series.fields ? { ...series, fields: fitValues('series', series.fields) } : series

/** The schema of a field has the range of its column, or a part of it. */
function fitValues<Values extends object>(kind: Kind, values: Values): Values {
  const fitted = { ...values } as Record<string, unknown>
  for (const { name, schema } of fieldsOf(kind)) {
    const value = fitted[name]
    if (typeof value === 'number') fitted[name] = fitNumber(value, schema as Parameters<typeof fitNumber>[1])
  }
  return fitted as Values
}
