import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import type { Author } from '#core/fields/field.ts'
import type { Corpus, ExpectedBook } from '#test/support/corpus.ts'
import { readComicInfo } from '#workers/metadata/comic-info.ts'
import { Remarks } from '#workers/metadata/metadata-values.ts'
import { readOpfMetadata } from '#workers/metadata/opf-metadata.ts'
import { parseXml } from '#workers/metadata/xml.ts'

type Texts = Record<string, string | string[] | { length: number; starts: string }>

/** The metadata of a file according to independent tools. */
interface ExpectedMetadata extends ExpectedBook {
  titleAlt?: string[]
  authors?: string[]
  language?: string
  isbn?: string[]
  isbnAlt?: string[]
  isbnOptional?: boolean
  fields?: Texts
  comicInfo?: { file: string; root: string; wellFormed: boolean; fields?: Texts }
  recoverableFields?: { Title: string }
  wellFormed?: boolean
  creators?: { name: string; role?: string; fileAs?: string }[]
  publisher?: string
  date?: string[]
  subjects?: string[]
  series?: { name: string; position: string }
  collections?: { name: string; type: string | null; position: string | null }[]
  titleTypes?: Record<string, string>
  pageProgressionDirection?: string
  subject?: string
  keywords?: string
  passwordNeeded?: string
}

const fold = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Tests the metadata of the books of the corpus, as the analysis found it, and of separate metadata files. */
export function testMetadata(t: Test, corpus: Corpus, seen: ReadonlyMap<string, Analysis>): void {
  const { folder } = corpus
  const files = corpus.files as ExpectedMetadata[]

  t.test('every ComicInfo.xml alone', async (t) => {
    const infos = files.filter(({ path }) => /^comicinfo\/[^/]+\.xml$/.test(path))
    t.ok(infos.length > (corpus.isOurs ? 1 : 90), `${infos.length} files`)
    for (const file of infos) {
      const { embedded, problem } = readComicInfo('ComicInfo.xml', readFileSync(folder + file.path))
      const isOther = file.path.endsWith('wrong-root.xml') || file.path.endsWith('deep-nesting.xml')
      if (isOther) t.same([embedded, problem?.type], [{}, 'metadata'], file.path)
      else if (file.wellFormed) checkComicInfo(t, file.path, file.fields ?? {}, embedded)
      else if (file.recoverableFields) t.equal(embedded.title, file.recoverableFields.Title, file.path)
      t.notMatch(JSON.stringify(embedded), /root:|&[a-z];/, `${file.path}: no entity is expanded or visible`)
      if (file.isbn) t.equal(embedded.book?.isbns, file.isbn.join(','), file.path)
      else t.equal(embedded.book?.isbns, undefined, file.path)
    }
  })

  t.test('ComicInfo.xml in comics', async (t) => {
    const comics = files.filter(({ comicInfo }) => comicInfo?.wellFormed)
    t.ok(comics.length > (corpus.isOurs ? 0 : 15), `${comics.length} comics`)
    for (const file of comics) {
      const { embedded, problems } = seen.get(file.path)!
      if (problems.some(({ fatal }) => fatal)) continue
      checkComicInfo(t, file.path, file.comicInfo?.fields ?? {}, embedded)
    }
  })

  t.test('package documents alone', async (t) => {
    const documents = files.filter(({ format }) => format === 'opf')
    t.ok(documents.length >= (corpus.isOurs ? 1 : 25), `${documents.length} documents`)
    for (const file of documents) {
      const { root, unknownEntities } = parseXml(readFileSync(folder + file.path))
      checkOpf(t, file, readOpfMetadata(root, unknownEntities, new Remarks()))
    }
  })

  t.test('package documents in EPUBs', async (t) => {
    const books = files.filter(({ path, format }) => format === 'epub' && path.startsWith('epub/'))
    t.ok(books.length >= (corpus.isOurs ? 2 : 50), `${books.length} books`)
    for (const file of books) {
      const { embedded, problems } = seen.get(file.path)!
      if (!problems.some(({ fatal }) => fatal)) checkOpf(t, file, embedded)
    }
  })

  t.test('document information and XMP of PDFs', async (t) => {
    const books = files.filter(({ path, format, passwordNeeded }) => format === 'pdf' && path.startsWith('pdf/') && !passwordNeeded)
    t.ok(books.length > (corpus.isOurs ? 2 : 40), `${books.length} books`)
    for (const file of books) {
      const { embedded, problems } = seen.get(file.path)!
      if (problems.some(({ fatal }) => fatal)) continue
      const names = ((embedded.book?.authors as Author[] | undefined) ?? []).map(({ name }) => name)
      for (const author of (file.authors ?? []).filter((name) => !name.startsWith('http')))
        t.ok(names.includes(fold(author)), `${file.path}: ${author}`)
      if (file.subject) t.equal(fold(String(embedded.book?.summary)), fold(file.subject), `${file.path}: subject`)
      if (file.keywords) t.same(embedded.book?.subjects, file.keywords.split(/[,;]/).map(fold), `${file.path}: keywords`)
    }
  })
}

/** The text of the first element with this name, ignoring case. */
function textsOf(fields: Texts): (name: string) => string | undefined {
  const byName = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => {
    const value = byName.get(name.toLowerCase())
    const text = Array.isArray(value) ? value.join(',') : typeof value === 'object' ? value.starts : value
    return text === undefined || text.trim() === '' ? undefined : text
  }
}

function checkComicInfo(t: Test, path: string, fields: Texts, { title, book = {}, ...more }: Embedded): void {
  const text = textsOf(fields)
  const line = (name: string) => (text(name) === undefined ? undefined : fold(text(name) as string))
  t.equal(title, Array.isArray(fields.Title) ? fields.Title[0] : line('Title'), `${path}: title`)
  for (const [element, field] of [
    ['Publisher', 'publisher'],
    ['Imprint', 'imprint'],
    ['Format', 'formatDetail'],
  ] as const) {
    t.equal(book[field], line(element), `${path}: ${element}`)
  }
  t.equal(more.series?.fields?.title, line('Series'), `${path}: series`)
  const summary = text('Summary')
  t.ok(
    summary === undefined ? book.summary === undefined : String(book.summary).startsWith(summary.trim().slice(0, 100)),
    `${path}: summary`,
  )
  for (const [element, field] of [
    ['Count', 'count'],
    ['Volume', 'volume'],
    ['Year', 'year'],
  ] as const) {
    const written = text(element)?.trim()
    if (/^\d{1,4}$/.test(written ?? '0') && written !== '0') t.equal(book[field], written && Number(written), `${path}: ${element}`)
    else if (written === '-1') t.equal(book[field], undefined, `${path}: ${element} is not set`)
  }
  const number = text('Number')?.trim()
  if (number === undefined) t.equal(book.number, undefined, `${path}: Number`)
  else if (/^-?\d{1,6}(\.\d+)?$/.test(number)) t.equal(book.number, Number(number), `${path}: Number`)
  for (const [element, role] of [
    ['Writer', 'writer'],
    ['Penciller', 'penciller'],
    ['Inker', 'inker'],
    ['Colorist', 'colorist'],
    ['Letterer', 'letterer'],
    ['CoverArtist', 'cover_artist'],
    ['Editor', 'editor'],
    ['Translator', 'translator'],
  ] as const) {
    const names = (text(element) ?? '').split(',').map(fold)
    const people = (book.authors as Author[] | undefined)?.filter((author) => author.role === role) ?? []
    t.same(
      people.map(({ name }) => name),
      [...new Set(names.filter((name) => name !== ''))],
      `${path}: ${element}`,
    )
  }
  const genres = (text('Genre') ?? '').split(/[,;]/).map(fold)
  t.same(more.genres ?? [], [...new Set(genres.filter((name) => name !== ''))], `${path}: Genre`)
  const language = text('LanguageISO')?.trim().replace('_', '-')
  if (language !== 'English') t.equal(book.languageIso, language && Intl.getCanonicalLocales(language)[0], `${path}: LanguageISO`)
}

function checkOpf(t: Test, file: ExpectedMetadata, { title, book = {}, series }: Embedded): void {
  const { path } = file
  const authors = (book.authors as Author[] | undefined) ?? []
  t.ok([file.title ?? undefined, ...(file.titleAlt ?? [])].includes(title), `${path}: title ${title}`)
  for (const creator of file.creators ?? []) {
    const name = fold(creator.name)
    if (name === '' || ['bkp', 'pbl'].includes(creator.role ?? '')) continue
    const found = authors.find((author) => author.name === name)
    t.ok(found, `${path}: ${name}`)
    if (creator.role === 'aut') t.equal(found?.role, 'author', `${path}: ${name}`)
    if (creator.role === 'edt') t.equal(found?.role, 'editor', `${path}: ${name}`)
    if (creator.fileAs && creator.fileAs !== name && !creator.fileAs.includes(' & '))
      t.equal(found?.sortName, fold(creator.fileAs), `${path}: ${name}`)
  }
  const language = file.language && Intl.getCanonicalLocales(file.language)[0]
  t.equal(book.languageIso, language ?? undefined, `${path}: language`)
  const isbns = String(book.isbns ?? '')
    .split(',')
    .filter((isbn) => isbn !== '')
  if (!(file.isbnOptional && isbns.length === 0)) t.same(isbns, [...new Set(file.isbn ?? [])], `${path}: ISBN`)
  if (file.publisher) t.equal(book.publisher, fold(file.publisher), `${path}: publisher`)
  if (file.subjects) t.same(book.subjects, [...new Set(file.subjects.map(fold).filter((subject) => subject !== ''))], `${path}: subjects`)
  const first = file.collections?.find(({ type }) => type === 'series') ?? file.series
  if (first) {
    t.equal(series?.fields?.title, first.name, `${path}: series`)
    if (first.position) t.equal(book.seriesPosition, Number(first.position), `${path}: place in the series`)
  }
  if (file.titleTypes?.subtitle) t.equal(book.subtitle, fold(file.titleTypes.subtitle), `${path}: subtitle`)
  if (file.titleTypes?.edition) t.equal(book.edition, fold(file.titleTypes.edition), `${path}: edition`)
  if (file.pageProgressionDirection === 'rtl') t.equal(series?.fields?.readingDirection, 'rtl', `${path}: direction`)
  const years = (file.date ?? []).map((date) => Number(/\d{4}/.exec(date)?.[0]))
  if (years.length > 0 && !years.includes(101)) t.ok(years.includes(book.year as number), `${path}: ${book.year} of ${years}`)
}
