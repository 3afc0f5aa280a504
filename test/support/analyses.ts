import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Analysis, FileFacts } from '#core/metadata/analysis.ts'

/** Analysis made up for one test, with what a real one would say of the rest: a comic of one page. */
export const madeUpAnalysis = (more: Partial<Analysis> = {}): Analysis => ({
  file: null,
  format: 'cbz',
  pageCount: 1,
  pageSource: 'zip',
  pages: [],
  embedded: {},
  cover: null,
  problems: [],
  ...more,
})

/** What a real analysis would say of the file itself. */
export function factsOfFile(path: string): FileFacts {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { bytes: Number(size), mtimeNs: String(mtimeNs), sha256, readerHash: sha256.slice(0, 32) }
}
