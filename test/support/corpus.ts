import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What independent tools say of one file of the corpus; only the members the tests compare. */
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
  /** Names as a person would read them, where the tools show another code page. */
  expectedPageNames?: string[]
  duplicateNames?: boolean
  /** Formats that are right as well. */
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

/** What the tools do not mind and Carrel remarks: an ISBN of nine digits, a page that is not where the page tree says. */
const REMARKED: Record<string, string[]> = { 'epub/epublib-testbook1.epub': ['metadata'], 'pdf/pages-tree-refs.pdf': ['page_extraction'] }

/** The corpus that lies beside the repository on some machines; null, and loudly so, where it does not. */
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
