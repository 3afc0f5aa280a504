import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The results of independent tools for one file of the corpus; only the members that the tests compare. */
export interface ExpectedBook {
  path: string
  format: string
  size: number
  sha256: string
  readerHash: string
  pageCount: number | null
  pageCountAlt?: number[]
  pages?: {
    page: number
    name: string
    width?: number
    height?: number
    orientedWidth?: number
    orientedHeight?: number
    decodes?: boolean
    error?: string
  }[]
  /** The correct names, where the tools decode another code page. */
  expectedPageNames?: string[]
  duplicateNames?: boolean
  /** Other correct formats. */
  formatAlt?: string[]
  title?: string | null
  expectedErrorType?: string
  acceptableErrorTypes?: string[]
  errorOptional?: boolean
  hostile?: boolean
  notABook?: boolean
  contentIs?: string
}

const folder = fileURLToPath(new URL('../../../shared/corpus/', import.meta.url))

/** Problems that Carrel reports and the tools do not: an ISBN of nine digits, a page that is missing at its place in the page tree. */
const REMARKED: Record<string, string[]> = { 'epub/epublib-testbook1.epub': ['metadata'], 'pdf/pages-tree-refs.pdf': ['page_extraction'] }

/** The corpus beside the repository, which some machines have; null, with a message, where it is missing. */
export function findCorpus(): { folder: string; files: ExpectedBook[] } | null {
  if (!existsSync(`${folder}expected.json`)) {
    console.error(`\n*** SKIPPED: no corpus of real books at ${folder}; the repository's own fixtures still run. ***\n`)
    return null
  }
  const { files } = JSON.parse(readFileSync(`${folder}expected.json`, 'utf8')) as { files: ExpectedBook[] }
  for (const file of files) {
    const remarked = REMARKED[file.path]
    if (remarked) file.acceptableErrorTypes = remarked
  }
  return { folder: `${folder}open/`, files }
}
