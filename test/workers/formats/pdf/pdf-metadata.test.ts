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
    'Presentación de PowerPoint',
    'Presentacio\u0301n de PowerPoint',
    'Apresentação do PowerPoint',
    'PowerPoint-presentatie',
    'Présentation PowerPoint',
    'Prezentacja programu PowerPoint',
    'Презентация PowerPoint',
    'PowerPoint プレゼンテーション',
    'Microsoft Word Document',
    'Microsoft Word-Dokument',
    'New Microsoft Word Document (2)',
    'Documento nuevo',
    'Document sans titre',
    'Documento sin título',
    'Unbenanntes Dokument',
    'Dokument bez tytułu',
    'Документ без названия',
    '無題のドキュメント',
    '제목 없는 문서',
    'Sans nom 1',
    'Senza nome 1',
    'Bez názvu 1',
    'Névtelen 2',
    'Untitled design',
    'Design sem nome',
    'Untitled Artwork',
    'Untitled spreadsheet',
    'Full page photo',
    'Scanned from a Xerox Multifunction Printer',
    'Scanned from a Xerox multifunction device001',
    'Scanned with CamScanner',
    'CamScanner 03-12-2020 10.22',
    'IMG_20200101_123456',
    ...'cdr sla afpub idml odg bmp gif webp pptm'.split(' ').map((extension) => `book.${extension}`),
    'draft.docx [Compatibility Mode]',
    'draft.doc [Read-Only] [Compatibility Mode] - Word',
    'novel.docx - Google Docs',
    'novel.odt - LibreOffice Writer',
    'draft.docx (1)',
    'Untitled document - Google Docs',
    'Untitled-1 copy',
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
    'Excel – Formeln und Funktionen',
    'Excel - Das Handbuch',
    'Word - The Complete Guide',
    'PowerPoint – Basics',
    'Microsoft Excel – Das Handbuch',
    'Mastering PowerPoint',
    'PowerPoint Basics',
    'Sans nom',
    'Sin Nombre',
    'Design',
    'Artwork',
    'Opera',
    'The Document',
    'Documents of the War',
    'New Project',
    'Scanned',
    'Full Page',
    'Dune [Illustrated]',
    'Image 3',
    'My Novel - Google Docs',
    'Archive.org',
    'Mr. Image',
    'The Slide',
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
