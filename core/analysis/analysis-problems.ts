import { type Analysis, BOOK_ERROR_TYPES, type BookErrorType } from '#core/fields/analysis.ts'

/** The steps of an analysis in order; a fatal problem prevents the later ones. */
const STEPS: readonly BookErrorType[] = [
  'other',
  'format_detection',
  'parser',
  'page_extraction',
  'pdf_rendering',
  'zero_pages',
  'metadata',
  'thumbnail',
]

/** Error types that this analysis disproves: those of the successful steps. */
export function clearedBy(analysis: Analysis): BookErrorType[] {
  const fatal = analysis.problems.find((problem) => problem.fatal)
  return fatal ? STEPS.slice(0, STEPS.indexOf(fatal.type)) : BOOK_ERROR_TYPES
}
