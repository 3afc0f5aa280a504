import type { AnalysisRequest, BookFile, DescribedCover, Problem } from '#core/fields/analysis.ts'
import { BookProblem } from '../book-problem.ts'
import type { DrawPdfPage } from '../drawing.ts'
import { makeThumbnail } from '../images/image.ts'
import { makePlainCover } from '../images/plain-picture.ts'
import { THUMBNAIL_LONGEST_SIDE } from '../limits.ts'
import { readCoverFile } from '../metadata/sidecars.ts'

/** The cover of a book: `cover.jpg` beside it replaces that of the file, as `metadata.opf` replaces its metadata; if it cannot be used, that is a problem. */
export async function withCoverFile<Found extends { cover: DescribedCover | null; problems: Problem[] }>(
  file: BookFile & Pick<AnalysisRequest, 'coverSide'>,
  found: Found,
  draw: DrawPdfPage | undefined,
): Promise<Found> {
  const { coverSide: side = THUMBNAIL_LONGEST_SIDE } = file
  const picture = readCoverFile(file)
  if (picture === null) return found
  const others = found.problems.filter(({ type, fatal }) => type !== 'thumbnail' || fatal)
  try {
    if ('problem' in picture) throw new BookProblem('thumbnail', picture.problem.message)
    const cover = await makeThumbnail(await makePlainCover(picture.bytes, side, draw), side)
    return { ...found, cover, problems: others }
  } catch (error) {
    if (!(error instanceof BookProblem)) throw error
    const message = `cover.jpg beside the book cannot be used: ${error.message}`
    return { ...found, problems: [...others, { type: 'thumbnail', message, fatal: false }] }
  }
}
