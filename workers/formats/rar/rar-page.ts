import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LibraryFile, Page, PageOutcome, PageRequest, Problem } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import { extractOne } from '../comic/comic.ts'
import { PageProblems } from '../comic/comic-problems.ts'
import { fileRefusal } from '../file-refusal.ts'
import { extractRar, listRar, type RarEntry } from './rar.ts'

/** One page of a RAR, unpacked and with its CRC checked. Problems of the page are an outcome; a throw is a bug. */
export async function readRarPage(request: PageRequest): Promise<PageOutcome> {
  const { page } = request
  try {
    const { entries } = await listRar(request)
    const entry = entries.find((candidate) => isPage(candidate, page))
    if (!entry) throw new BookProblem('page_extraction', `"${page.name}" is no longer in the archive.`, { entry: page.name })
    return { bytes: await extractOne(request, entry), mediaType: page.mediaType }
  } catch (error) {
    return { problem: { ...(error instanceof BookProblem ? error.problem : fileRefusal(error)), fatal: false } }
  }
}

/**
 * Extracts every page into `folder`, as files named by 0-based page index, in one pass. Leaves out pages that cannot be
 * unpacked and reports them in the problem, which is fatal when no page is left; null when every page was extracted.
 */
export async function extractRarPages(request: LibraryFile & { pages: Page[]; folder: string }): Promise<Problem | null> {
  const { pages, folder } = request
  try {
    const places = placesOf((await listRar(request)).entries, pages)
    const problems = new PageProblems(pages.map((page) => page.name))
    const found = new Set(places.values())
    for (const [index, page] of pages.entries()) {
      if (!found.has(index)) problems.add(index, new BookProblem('page_extraction', `"${page.name}" is no longer in the archive.`))
    }
    mkdirSync(folder, { recursive: true })
    await extractRar(request, [...places.keys()], (entry, content, problem) => {
      const index = places.get(entry)!
      if (problem) problems.add(index, problem)
      else writeFileSync(join(folder, String(index)), content)
      return true
    })
    return problems.problem()
  } catch (error) {
    return error instanceof BookProblem ? error.problem : fileRefusal(error)
  }
}

const isPage = (entry: RarEntry, page: Page) => entry.name === page.name && entry.bytes === page.bytes

/** The page index of each entry. */
function placesOf(entries: readonly RarEntry[], pages: readonly Page[]): Map<RarEntry, number> {
  const indexes = new Map(pages.map((page, index) => [page.name, index]))
  const places = new Map<RarEntry, number>()
  for (const entry of entries) {
    const index = indexes.get(entry.name)
    if (index !== undefined && isPage(entry, pages[index]!)) places.set(entry, index)
  }
  return places
}
