import type { DescribedCover, Page, Problem } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawPdfPage } from '../../drawing.ts'
import { isNotDrawn, makeThumbnail } from '../../images/image.ts'
import { makePlainCover } from '../../images/plain-picture.ts'
import { COVER_TRIES_MAX, PIXELS_MAX, THUMBNAIL_LONGEST_SIDE } from '../../limits.ts'
import type { PageProblems } from './comic-problems.ts'

/**
 * The page `first` as a thumbnail. If it cannot be decoded, that is a problem, and the next page that can be decoded replaces
 * it. `read` returns the bytes of a page or throws {@link BookProblem}, which is then recorded for that page too.
 */
export async function makeCover(
  { pages, first, side = THUMBNAIL_LONGEST_SIDE }: { pages: readonly Page[]; first: number; side?: number | undefined },
  problems: PageProblems,
  read: (index: number) => Promise<Uint8Array>,
  draw?: DrawPdfPage,
): Promise<{ cover: DescribedCover | null; problem: Problem | null }> {
  const which = first === 0 ? 'The first page' : `Page ${first + 1}`
  let refusal: string | null = null
  let isForeign = true
  let tries = 0
  for (const index of new Set([first, ...pages.keys()])) {
    const page = pages[index] as Page
    if (problems.all || tries === COVER_TRIES_MAX) break
    const known = problems.get(index)
    if (known) {
      refusal ??= known.message
      isForeign = false
      continue
    }
    tries++
    let bytes: Uint8Array | null = null
    try {
      refuseHuge(page)
      bytes = await readNoting(index, problems, read)
      const cover = { ...(await makeThumbnail(await makePlainCover(bytes, side, draw), side)), page: index + 1 }
      return { cover, problem: refusal === null || isForeign ? null : coverProblem(which, `Page ${index + 1} is used instead.`, refusal) }
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      refusal ??= error.message
      isForeign &&= bytes !== null && isNotDrawn(bytes)
    }
  }
  if (isForeign && tries > 0 && !problems.all) return { cover: null, problem: FOREIGN }
  // A book without any page has a worse problem than its cover.
  return {
    cover: null,
    problem: problems.all ? null : coverProblem(which, 'None of the next pages can be decoded either.', refusal ?? 'It cannot be decoded.'),
  }
}

async function readNoting(index: number, problems: PageProblems, read: (index: number) => Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    return await read(index)
  } catch (error) {
    if (error instanceof BookProblem) problems.add(index, error)
    throw error
  }
}

/** The size is in the head, so a huge page is refused without unpacking it. */
function refuseHuge(page: Page): void {
  if ((page.width ?? 0) * (page.height ?? 0) > PIXELS_MAX) {
    throw new BookProblem('thumbnail', `"${page.name}" claims ${page.width} × ${page.height} pixels, which is more than Carrel decodes.`)
  }
}

/** A remark, no error of the thumbnail: nothing is wrong with the book. */
const FOREIGN: Problem = {
  type: 'other',
  message:
    'The first pages are of a kind that Carrel does not draw, so the book has the placeholder as its cover. The book itself is whole.',
  fatal: false,
}

function coverProblem(which: string, consequence: string, reason: string): Problem {
  return { type: 'thumbnail', message: `${which} cannot be made into a cover: ${reason} ${consequence}`, fatal: false }
}
