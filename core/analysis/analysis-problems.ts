import { type Analysis, BOOK_ERROR_TYPES, type BookErrorType, type Problem } from '#core/fields/analysis.ts'

/** One row per type: the fatal one if there is one, otherwise the first. */
export function uniqueByType(problems: readonly Problem[]): Problem[] {
  const byType = new Map<BookErrorType, Problem>()
  for (const problem of problems) {
    const known = byType.get(problem.type)
    if (!known || (problem.fatal && !known.fatal)) byType.set(problem.type, problem)
  }
  return [...byType.values()]
}

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
