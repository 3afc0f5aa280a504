import type { Analysis, AnalysisRequest, DescribedCover, LibraryFile, Problem } from '#core/fields/analysis.ts'
import type { DrawingOutcome, DrawPage } from '../../drawing.ts'
import { colorOf } from '../../images/cover-color.ts'
import { THUMBNAIL_LONGEST_SIDE } from '../../limits.ts'
import { type DescribedPdf, documentOf, readDescription } from './pdf-description.ts'

/**
 * Title, pages with their sizes, and page 1 as cover. Returns everything wrong with the file as `problems`. With `draw`, another process opens the
 * file and describes it: pdf.js, which takes 50 MB and a second to load, is loaded here only when that process was lost.
 */
export async function analyzePdf(
  { coverSide = THUMBNAIL_LONGEST_SIDE, root, path, linkTargets }: LibraryFile & Pick<AnalysisRequest, 'coverSide'>,
  draw?: DrawPage,
): Promise<Omit<Analysis, 'file' | 'format'>> {
  const file = { root, path, linkTargets }
  const drawing = draw ?? (await import('./pdf.ts')).drawPdfPage
  const outcome = await drawing({ ...file, index: 0, longestSide: coverSide, purpose: 'cover', describes: true })
  const described = (outcome.description && readDescription(outcome.description)) ?? (await describeHere(file))
  if ('problem' in described) {
    return { pageCount: 0, pageSource: 'pdf', pages: [], embedded: {}, cover: null, problems: [described.problem] }
  }
  const document = documentOf(described)
  const { cover, problem } = await coverOf(outcome)
  return { ...document, cover, problems: [...document.problems, ...(problem ? [problem] : [])] }
}

const describeHere = async (file: LibraryFile): Promise<DescribedPdf> => (await import('./pdf.ts')).describePdfFile(file)

async function coverOf(outcome: DrawingOutcome): Promise<{ cover: DescribedCover | null; problem: Problem | null }> {
  if ('problem' in outcome) return { cover: null, problem: { ...outcome.problem, fatal: false } }
  const { jpeg, width, height, incomplete } = outcome
  const problem: Problem = {
    type: 'pdf_rendering',
    message: 'A picture on page 1 is too large to draw and is left out.',
    fatal: false,
  }
  return { cover: { jpeg, width, height, color: await colorOf(jpeg), page: 1 }, problem: incomplete ? problem : null }
}
