import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Analysis, FileFacts } from '#core/fields/analysis.ts'

/** An invented analysis of a comic of one page, changed by `more`. */
export const fakeAnalysis = (more: Partial<Analysis> = {}): Analysis => ({
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

/** The facts of a file as a real analysis would return them. */
export function factsOfFile(path: string): FileFacts {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { bytes: Number(size), mtimeNs: String(mtimeNs), sha256, readerHash: sha256.slice(0, 32) }
}
