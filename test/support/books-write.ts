// Writes the small books of test/books, and what tests expect of them: node test/support/books-write.ts, then npm run format.
// They are committed, so that a change of these builders, or of a library that draws pictures, changes no book.
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { buildComicEpub, buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { jpegPage, makePicture, numberedPages } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'

const root = join(import.meta.dirname, '..', 'books')

/** A file, and the members of `ExpectedBook` that do not follow from its bytes. */
type Made = [path: string, bytes: Buffer, expected: Record<string, unknown>]

const pages = (await numberedPages(5)).toReversed()
const expectedPages = (shown: readonly { name: string; width: number; height: number }[]) => ({
  pageCount: shown.length,
  pages: shown.map(({ name, width, height }, index) => ({ page: index + 1, name, width, height })),
})
const stored = (parts: readonly ZipPart[]) => parts.map(({ name, data }) => ({ name, data }))

const comicFields = {
  ...{ Title: 'The Lighthouse', Series: 'Harbor Tales', Number: '3', Volume: '2', Count: '12', Year: '2019' },
  ...{ Summary: 'A keeper finds a map.', Writer: 'Ann Author, Ben Writer', Penciller: 'Cy Artist', Editor: 'Dee Editor' },
  ...{ Publisher: 'Small House', Imprint: 'Tide', Genre: 'Adventure, Mystery', LanguageISO: 'en-US', Format: 'Annual' },
}
const comicInfo = (fields: Record<string, string>, prolog = '') =>
  Buffer.from(
    `<?xml version="1.0" encoding="utf-8"?>${prolog}<ComicInfo>${Object.entries(fields)
      .map(([name, text]) => `<${name}>${text}</${name}>`)
      .join('')}</ComicInfo>`,
  )

async function makeComics(): Promise<Made[]> {
  const jpegs = await Promise.all([71, 72].map(async (width) => ({ width, height: 90, data: await jpegPage({ width, height: 90 }) })))
  const mixed = [
    { name: 'Chapter 1/1.jpg', ...jpegs[0]! },
    { name: 'Chapter 2/1.jpg', ...jpegs[1]! },
    { name: 'Chapter 10/1.webp', width: 60, height: 90, data: await makePicture({ width: 60, height: 90, format: 'webp' }) },
  ]
  const turned = { name: '1.jpg', width: 90, height: 60, data: await makePicture({ width: 60, height: 90, orientation: 6 }) }
  return [
    ['comics/cbz/plain.cbz', buildZip(stored(pages.toReversed())), { format: 'cbz', ...expectedPages(pages) }],
    ['comics/cbz/deflated.cbz', buildZip(pages.map((page) => ({ ...page, method: 8 }))), { format: 'cbz', ...expectedPages(pages) }],
    [
      'comics/cbz/described.cbz',
      buildZip([...stored(pages), { name: 'ComicInfo.xml', data: comicInfo(comicFields), method: 8 }]),
      {
        ...{ format: 'cbz', title: comicFields.Title, ...expectedPages(pages) },
        comicInfo: { file: 'ComicInfo.xml', root: 'ComicInfo', wellFormed: true, fields: comicFields },
      },
    ],
    [
      'comics/cbz/chapters.cbz',
      buildZip([
        ...stored(mixed.toReversed()),
        { name: '__MACOSX/._1.jpg', data: Buffer.from('x') },
        { name: 'notes.txt', data: Buffer.from('x') },
      ]),
      { format: 'cbz', ...expectedPages(mixed) },
    ],
    ['comics/cbz/turned.cbz', buildZip(stored([turned])), { format: 'cbz', ...expectedPages([turned]) }],
    ['comics/cbr/stored.cbr', buildRar(pages.toReversed()), { format: 'cbr', ...expectedPages(pages) }],
    ['comics/cbr/solid.cbr', buildRar(pages, { solid: true }), { format: 'cbr', ...expectedPages(pages) }],
    ['comics/cbr/zip-inside.cbr', buildZip(stored(pages)), { format: 'cbz', formatAlt: ['cbz', 'cbr'], ...expectedPages(pages) }],
  ]
}

/** Words that compress badly, so that a chapter has several positions. */
const prose = (seed: number, words: number) =>
  Array.from({ length: words }, (_, index) => ((index + 1) * 2_654_435_761 * seed).toString(36).slice(-9)).join(' ')

async function makeDocuments(): Promise<Made[]> {
  const chapters = [textPage(prose(3, 900)), textPage(prose(5, 200)), textPage('The end.')]
  // One for each started KiB of the packed chapter.
  const positions = chapters.reduce((sum, chapter) => sum + Math.ceil(deflateRawSync(Buffer.from(chapter)).length / 1024), 0)
  const pictures = await Promise.all([61, 62, 63].map((width) => jpegPage({ width, height: 90 })))
  const creators = [
    { name: 'Ann Author', role: 'aut', fileAs: 'Author, Ann' },
    { name: 'Dee Editor', role: 'edt' },
  ]
  const described = {
    title: 'A novel',
    language: 'de-AT',
    publisher: 'Small House',
    subjects: ['Sea', 'Light'],
    date: ['2015-04-01'],
    creators,
  }
  const metadata =
    '<dc:title>A novel</dc:title><dc:creator opf:role="aut" opf:file-as="Author, Ann">Ann Author</dc:creator>' +
    '<dc:creator opf:role="edt">Dee Editor</dc:creator><dc:language>de-AT</dc:language><dc:publisher>Small House</dc:publisher>' +
    '<dc:subject>Sea</dc:subject><dc:subject>Light</dc:subject><dc:date>2015-04-01</dc:date>' +
    '<meta name="calibre:series" content="Harbor Tales"/><meta name="calibre:series_index" content="2"/>'
  const novel = buildEpub({
    version: '2.0',
    metadata,
    manifest: chapters.map((_, index) => `<item id="c${index}" href="c${index}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
    spine: chapters.map((_, index) => `<itemref idref="c${index}"/>`).join(''),
    files: { 'c1.xhtml': null, ...Object.fromEntries(chapters.map((chapter, index) => [`c${index}.xhtml`, chapter])) },
  })
  const opf = `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="2.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">${metadata}</metadata></package>`
  const series = { name: 'Harbor Tales', position: '2' }
  return [
    ['epub/novel.epub', novel, { format: 'epub', pageCount: chapters.length, positions, ...described, series }],
    [
      'epub/comic.epub',
      buildComicEpub(pictures.map((bytes, index) => ({ name: `${index + 1}.jpg`, bytes }))),
      { format: 'epub', pageCount: 3, positions: 3, layout: 'pre-paginated', title: 'A comic' },
    ],
    ['epub/opf/series.opf', Buffer.from(opf), { format: 'opf', ...described, series }],
    [
      'pdf/two-pages.pdf',
      buildPdf({ pages: [{ text: 'One' }, { text: 'Two', width: 300, height: 400 }], title: 'Two pages' }),
      {
        format: 'pdf',
        pageCount: 2,
        title: 'Two pages',
        pageSizes: [
          [612, 792],
          [300, 400],
        ],
      },
    ],
    [
      'pdf/turned.pdf',
      buildPdf({ pages: [{ text: 'On its side', width: 300, height: 400, rotate: 90 }] }),
      { format: 'pdf', pageCount: 1, pageSizes: [[400, 300]] },
    ],
    [
      'pdf/pictures.pdf',
      buildPdf({
        pages: pictures.map((bytes, index) => ({ width: 61 + index, height: 90, jpeg: { bytes, width: 61 + index, height: 90 } })),
      }),
      { format: 'pdf', pageCount: 3, pageSizes: [61, 62, 63].map((width) => [width, 90]) },
    ],
  ]
}

async function makeBroken(): Promise<Made[]> {
  const bad = (type: string, ...others: string[]) => ({ pageCount: 0, expectedErrorType: type, acceptableErrorTypes: [type, ...others] })
  // Larger than the head of a page, which is all that an ordinary analysis reads of it.
  const large = { name: 'page3.jpg', width: 160, height: 240, data: await jpegPage({ width: 160, height: 240, noise: true }) }
  const damaged = pages.map((page, index) => (index === 2 ? { ...large, crc32: 1 } : page))
  const zip = buildZip(stored(pages))
  const pdf = buildPdf({ pages: [{ text: 'One' }, { text: 'Two' }] })
  const zeros = Buffer.alloc(48 * 1024 * 1024)
  const lol = '<!DOCTYPE ComicInfo [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
  return [
    [
      'broken/cbz/bad-crc-page3-stored.cbz',
      buildZip(damaged),
      { format: 'cbz', ...bad('page_extraction'), ...expectedPages(damaged), errorOptional: true },
    ],
    ['broken/cbz/cut.cbz', zip.subarray(0, zip.length / 2), { format: 'cbz', ...bad('parser') }],
    [
      'broken/cbz/bomb.cbz',
      buildZip([{ name: '1.png', data: zeros, method: 8 }]),
      { format: 'cbz', hostile: true, ...bad('page_extraction') },
    ],
    [
      'broken/cbr/encrypted.cbr',
      buildRar(pages.map((page) => ({ ...page, encrypted: true }))),
      { format: 'cbr', ...bad('page_extraction', 'parser') },
    ],
    [
      'broken/epub/no-container.epub',
      buildEpub({ files: { '/META-INF/container.xml': null } }),
      { format: 'epub', ...bad('parser', 'metadata', 'zero_pages') },
    ],
    ['broken/pdf/cut.pdf', pdf.subarray(0, 300), { format: 'pdf', ...bad('parser', 'pdf_rendering', 'zero_pages') }],
    ['comicinfo/full.xml', comicInfo(comicFields), { format: 'comicinfo', wellFormed: true, root: 'ComicInfo', fields: comicFields }],
    ['comicinfo/entities.xml', comicInfo({ Title: '&c;' }, lol), { format: 'comicinfo', wellFormed: false }],
  ]
}

/** The MD5 by which KOReader knows a file: of 1 KiB at the start, at 1 KiB, and at four times as far each. */
function readerHashOf(bytes: Buffer): string {
  const hash = createHash('md5')
  for (const at of [0, ...Array.from({ length: 11 }, (_, power) => 1024 * 4 ** power)]) hash.update(bytes.subarray(at, at + 1024))
  return hash.digest('hex')
}

rmSync(root, { recursive: true, force: true })
const files = [...(await makeComics()), ...(await makeDocuments()), ...(await makeBroken())].map(([path, bytes, expected]) => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { path, size: bytes.length, sha256, readerHash: readerHashOf(bytes), ...expected }
})
writeFileSync(join(root, 'expected.json'), `${JSON.stringify({ files }, null, 2)}\n`)
