import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { onlyFull } from '#test/support/lane-size.ts'

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
  /** Of an EPUB: started KiB of its packed chapters, or chapters in fixed layout. */
  positions?: number
}

export interface Corpus {
  folder: string
  files: ExpectedBook[]
  /** The twenty small books of this repository, of which tests expect less. */
  isOurs: boolean
}

const OURS = fileURLToPath(new URL('../books/', import.meta.url))
const OUTSIDE = fileURLToPath(new URL('../../../shared/corpus/', import.meta.url))

/** Problems that Carrel reports and the tools do not: an ISBN of nine digits, a page that is missing at its place in the page tree. */
const REMARKED: Record<string, string[]> = { 'epub/epublib-testbook1.epub': ['metadata'], 'pdf/pages-tree-refs.pdf': ['page_extraction'] }

const readExpected = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { files: ExpectedBook[] }).files

/** The small books of test/books, which `test/support/books-write.ts` has written; in the lane `full` the corpus beside the repository, if it is there. */
export function findCorpus(): Corpus {
  const outside = onlyFull.skip ? null : findOutsideCorpus()
  return outside ?? { folder: OURS, files: readExpected(`${OURS}expected.json`), isOurs: true }
}

/** The corpus beside the repository, which some machines have; null, with a message, where it is missing. */
export function findOutsideCorpus(): Corpus | null {
  if (!existsSync(`${OUTSIDE}expected.json`)) {
    console.error(`\n*** SKIPPED: no corpus of real books at ${OUTSIDE}; the repository's own books still run. ***\n`)
    return null
  }
  const files = readExpected(`${OUTSIDE}expected.json`)
  for (const file of files) {
    const remarked = REMARKED[file.path]
    if (remarked) file.acceptableErrorTypes = remarked
  }
  return { folder: `${OUTSIDE}open/`, files, isOurs: false }
}
