import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findContract } from '#test/support/contract.ts'
import { type ExpectedBook, findOutsideCorpus } from '#test/support/corpus.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'

interface ListedBook {
  id: string
  filePath: string
  fileFormat: string
  fileSize: number
  fileHash: string
  readerHash: string | null
  pageCount: number
  analyzed: boolean
  title: string
}
interface ListedPage {
  pageNumber: number
  fileName: string
  width: number | null
  height: number | null
}
interface ErrorGroups {
  totalPages: number
  groups: { errorType: string; books: { book: ListedBook; errors: { errorType: string; message: string }[] }[] }[]
}

const BOOK_FORMATS = ['cbz', 'cbr', 'epub', 'pdf']
const corpus = findOutsideCorpus()

async function listBooks(server: RunningServer): Promise<ListedBook[]> {
  const all: ListedBook[] = []
  for (let page = 1; ; page++) {
    const { data, totalPages } = await server.get<{ data: ListedBook[]; totalPages: number }>(`/api/v1/books?pageSize=100&page=${page}`)
    all.push(...data)
    if (page >= totalPages) return all
  }
}

async function listErrors(server: RunningServer): Promise<Map<string, { errorType: string; message: string }[]>> {
  const byPath = new Map<string, { errorType: string; message: string }[]>()
  for (let page = 0; ; page++) {
    const answer = await server.get<ErrorGroups>(`/api/v1/books/errors?pageSize=100&page=${page}`)
    for (const group of answer.groups) for (const entry of group.books) byPath.set(entry.book.filePath, entry.errors)
    if (page + 1 >= answer.totalPages) return byPath
  }
}

/** The fact list spells hostile names the way its tools do; both sides are brought to one separator and stripped of what leads out. */
const plainName = (name: string) =>
  name
    .replace(/^\(absolute path\)/, '')
    .replaceAll('\\', '/')
    .replace(/^(\w:)?(\.*\/)+(tmp\/)?/, '')
const sameName = (name: string | undefined, wanted: string) => {
  if (name === undefined) return false
  // Very long names are cut, ours at 4,096 characters.
  return name.length > 4000 ? wanted.startsWith(name.slice(0, 4000)) : plainName(name) === plainName(wanted)
}

/** What differs between the server's answer and the independent facts, as sentences. */
function differences(expected: ExpectedBook, book: ListedBook, pages: ListedPage[], errors: { errorType: string }[]): string[] {
  const found: string[] = []
  if (book.fileSize !== expected.size) found.push(`size ${book.fileSize} instead of ${expected.size}`)
  if (book.fileHash !== expected.sha256) found.push(`hash ${book.fileHash} instead of ${expected.sha256}`)
  if (book.readerHash !== expected.readerHash) found.push(`readerHash ${book.readerHash} instead of ${expected.readerHash}`)

  const types = errors.map((error) => error.errorType)
  const acceptable = expected.acceptableErrorTypes
  if (!acceptable && types.length > 0 && !expected.errorOptional) found.push(`errors ${types} on a good book`)
  if (acceptable && types.length === 0 && !expected.errorOptional) found.push(`no error instead of one of ${acceptable}`)
  if (acceptable && types.length > 0 && !types.some((type) => acceptable.includes(type)))
    found.push(`errors ${types} instead of one of ${acceptable}`)

  if (book.analyzed && expected.format !== 'epub' && expected.pageCount !== null) {
    const counts = [expected.pageCount, ...(expected.pageCountAlt ?? [])]
    // A file that contradicts itself may be read either way when it is reported.
    const reported = expected.errorOptional && types.length > 0
    if (!reported && !counts.includes(book.pageCount)) found.push(`${book.pageCount} pages instead of ${counts}`)
    if (book.pageCount === expected.pageCount && expected.pages?.length === expected.pageCount && expected.format !== 'pdf') {
      for (const wanted of expected.pages) {
        const page = pages[wanted.page - 1]
        const name = expected.expectedPageNames?.[wanted.page - 1] ?? wanted.name
        if (!sameName(page?.fileName, name))
          found.push(`page ${wanted.page} is ${page?.fileName.slice(0, 80)} instead of ${name.slice(0, 80)}`)
        const width = wanted.orientedWidth ?? wanted.width
        const height = wanted.orientedHeight ?? wanted.height
        // Of two entries with one name the fact list measured the last one twice.
        if (
          page &&
          width !== undefined &&
          !expected.duplicateNames &&
          page.width !== null &&
          (page.width !== width || page.height !== height)
        ) {
          found.push(`page ${wanted.page} is ${page.width} × ${page.height} instead of ${width} × ${height}`)
        }
      }
    }
  }
  return found
}

t.setTimeout(600_000)
t.test(
  'the corpus of real and broken books',
  { skip: corpus === null && 'no corpus beside the repository', timeout: 300_000 },
  async (t) => {
    if (!corpus) return
    const dataFolder = mkdtempSync(join(tmpdir(), 'carrel corpus '))
    const server = await startServer({ dataFolder, args: ['--library', corpus.folder] })
    t.teardown(async () => {
      await server.stop()
      rmSync(dataFolder, { recursive: true, force: true })
    })
    const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
    const state = await awaitScan(server, data[0]?.id as string, { analyzed: true, timeoutMs: 240_000 })
    t.equal(state.status, 'completed', 'the scan completes')

    const books = new Map((await listBooks(server)).map((book) => [book.filePath, book]))
    const errors = await listErrors(server)
    const expectedBooks = corpus.files.filter((file) => BOOK_FORMATS.includes(file.format) && !file.notABook)
    const contract = findContract('Book')
    const contextContract = findContract('BookContext')

    for (const expected of expectedBooks) {
      const path = join(corpus.folder, expected.path)
      const book = books.get(path)
      if (!book) {
        t.fail(`${expected.path} is not in the library`)
        continue
      }
      const pages = book.analyzed ? await server.get<ListedPage[]>(`/api/v1/books/${book.id}/pages`) : []
      t.same(differences(expected, book, pages, errors.get(path) ?? []), [], expected.path)
      t.same(contract(book), [], `${expected.path} fits the contract`)
      t.same(contextContract(await server.get(`/api/v1/books/${book.id}/context`)), [], `and so does its context`)
    }
    t.same(
      corpus.files
        .filter((file) => file.notABook && !file.expectedErrorType && books.has(join(corpus.folder, file.path)))
        .map((file) => file.path),
      [],
      'later volumes of a set are no books of their own',
    )
    const unreadable: string[] = []
    for (const book of books.values()) {
      if (!book.analyzed) continue
      const headers = server.headers
      const [thumbnail, file] = await Promise.all([
        fetch(`${server.url}/api/v1/books/${book.id}/thumbnail`, { headers }),
        fetch(`${server.url}/api/v1/books/${book.id}/file`, { headers, method: 'HEAD' }),
      ])
      await thumbnail.arrayBuffer()
      if (file.status !== 200 || Number(file.headers.get('content-length')) !== book.fileSize)
        unreadable.push(`${book.filePath}: file ${file.status}`)
      if (thumbnail.status >= 500) unreadable.push(`${book.filePath}: thumbnail ${thumbnail.status}`)
      if (book.fileFormat !== 'epub') {
        // Its one picture of 81 megapixels takes seconds, and was the cover already.
        if (book.filePath.endsWith('/enormous-2160pt.pdf')) {
          if (thumbnail.status !== 200) unreadable.push(`${book.filePath}: thumbnail ${thumbnail.status}`)
          continue
        }
        // What is drawn is drawn small: most of the work of a PDF's page is in its pixels.
        const asked = book.fileFormat === 'pdf' ? '?width=480' : ''
        const page = await fetch(`${server.url}/api/v1/books/${book.id}/pages/1${asked}`, { headers })
        await page.arrayBuffer()
        if (page.status !== 200 && !errors.has(book.filePath)) unreadable.push(`${book.filePath}: page 1 ${page.status}`)
      }
    }
    t.same(unreadable, [], 'every good book gives its file, its cover and its first page')
  },
)
