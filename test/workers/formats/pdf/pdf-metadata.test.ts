import t from 'tap'
import { metadataOf } from '#workers/formats/pdf/pdf-metadata.ts'

const titleOf = (title: string, xmp?: string) =>
  metadataOf({ info: { Title: title }, xmp: xmp === undefined ? {} : { 'dc:title': [xmp] }, damage: null }).embedded.title

t.test('titles that programs left are none', async (t) => {
  for (const left of [
    'Microsoft Word - draft3.doc',
    'Microsoft Word - Final chapter',
    'Microsoft PowerPoint - slides',
    'PowerPoint Presentation',
    'untitled',
    'Untitled',
    'Untitled-1',
    'Untitled document',
    '(untitled)',
    'Ohne Titel 2',
    'Sem título',
    '제목 없음',
    '无标题文档1',
    'Layout 1',
    'Scan_0001',
    'about:blank',
    'Unbenannt 2',
    'Document1',
    'Dokument1',
    'New Document',
    'draft3.doc',
    'My Novel FINAL v2.docx',
    'C:\\Users\\ann\\novel.odt',
    '/home/ann/novel.tex',
    'book.indd',
    'scan0001.tif',
    'the book.PDF',
    'index.html',
    'unknown',
  ]) {
    t.equal(titleOf(left), undefined, left)
    t.equal(titleOf(left, 'The real one'), 'The real one')
    t.equal(titleOf(left, left), undefined)
  }
})

t.test('titles of a PDF are kept, but for those that programs left there', async (t) => {
  for (const title of [
    'Node.js',
    'ASP.NET',
    'Dr. No',
    'Mr. Doc',
    'Book 1',
    'The Untitled',
    'Layout',
    'Scan 7',
    'Blank Pages',
    'Untitled Goose Game',
    'Microsoft Word for Beginners',
    'Microsoft Word',
    'Dracula 2.0',
    'Page One',
    'Book of Kells',
    'Vol. 2',
    'The Unknown',
  ])
    t.equal(titleOf(title), title, title)
  t.equal(titleOf('A title', 'Another'), 'A title')
})

t.test('the year of any publication date', async (t) => {
  const yearOf = (date: string) => metadataOf({ info: {}, xmp: { 'prism:publicationdate': [date] }, damage: null }).embedded.book?.year
  for (const [date, year] of [
    ['2019-05', 2019],
    ['20190501', 2019],
    ['May 2019', 2019],
    ['0000', undefined],
    ['soon', undefined],
  ] as const)
    t.equal(yearOf(date), year, date)
})
