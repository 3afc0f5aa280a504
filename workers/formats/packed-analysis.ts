import type { Analysis, Page } from '#core/fields/analysis.ts'
import { readLines, runsOf, writeLines } from '#core/foundation/json-lines.ts'

/** A copy of so many pages takes two milliseconds. */
const PAGES_COPIED_MAX = 500

/** An analysis on its way from a thread: the pages of a long book are lines of JSON. */
export type PackedAnalysis = Analysis & { bytes?: Uint8Array }

export const packAnalysis = (analysis: Analysis): PackedAnalysis =>
  analysis.pages.length <= PAGES_COPIED_MAX
    ? analysis
    : { ...analysis, pages: [], bytes: writeLines([...runsOf(analysis.pages)].map((run) => `[${run}]`)) }

export async function unpackAnalysis({ bytes, ...analysis }: PackedAnalysis): Promise<Analysis> {
  if (bytes === undefined) return analysis
  const pages: Page[] = []
  for await (const run of readLines(bytes)) pages.push(...(run as Page[]))
  return { ...analysis, pages }
}
