import t from 'tap'
import { type Analysis, failedAnalysis } from '#core/fields/analysis.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { fileAt } from '#test/support/file-at.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { readAnalyses } from '#workers/pool/read-analyses.ts'
import { writeAnalyses } from '#workers/pool/write-analyses.ts'

const INFO =
  '<ComicInfo><Title>One</Title><Writer>Ada, Bob</Writer><Genre>Drama</Genre><Web>https://example.org/1</Web><Year>1999</Year></ComicInfo>'
const folder = t.testdir({
  'a.cbz': buildZip([...(await numberedPages(3)), { name: 'ComicInfo.xml', data: Buffer.from(INFO) }]),
  'b.epub': buildEpub({ metadata: '<dc:title>Two</dc:title>' }),
  'c.cbz': 'rubbish',
})
const analyses = await Promise.all(
  ['a.cbz', 'b.epub', 'c.cbz'].map((name) => analyze({ ...fileAt(`${folder}/${name}`), verifyPages: false })),
)
const missing = failedAnalysis({ type: 'other', message: 'gone', details: { code: 'EIO' }, fatal: true })

t.test('what was written is read', async (t) => {
  const all = [...analyses, missing, null]
  const read = readAnalyses(writeAnalyses(all), all.length) ?? []
  t.equal(read.length, 5)
  const plain = (one: Analysis | null) => JSON.parse(JSON.stringify(one && { ...one, cover: one.cover && [...one.cover.jpeg] }))
  t.same(read.map(plain), all.map(plain))
  t.match(read[0], { pageCount: 3, embedded: { title: 'One', genres: ['Drama'], book: { year: 1999 } } })
})

t.test('anything else is nothing', async (t) => {
  const [comic] = analyses
  const text = Buffer.from(writeAnalyses([comic as Analysis])).toString()
  const changed = (change: (one: Analysis) => unknown) => Buffer.from(JSON.stringify([change(JSON.parse(text)[0])]))
  t.ok(
    readAnalyses(
      changed((one) => one),
      1,
    ),
  )
  const table: [what: string, bytes: Uint8Array][] = [
    ['another number of files', writeAnalyses([null, null])],
    ['no JSON', Buffer.from('{')],
    ['no list', Buffer.from('{}')],
    ['nothing', Buffer.alloc(0)],
    ['a text', changed(() => 'x')],
    ['no pages', changed(({ pages, ...rest }) => rest)],
    ['a page without a name', changed((one) => ({ ...one, pages: [{ ...one.pages[0], name: 1 }] }))],
    ['a negative offset', changed((one) => ({ ...one, pages: [{ ...one.pages[0], zip: { ...one.pages[0]?.zip, offset: -1 } }] }))],
    ['too many pages', changed((one) => ({ ...one, pages: Array.from({ length: 5_000 }, () => one.pages[0]) }))],
    ['another hash', changed((one) => ({ ...one, file: { ...one.file, sha256: '../../x' } }))],
    ['an unknown format', changed((one) => ({ ...one, format: 'exe' }))],
    ['a cover that is no JPEG', changed((one) => ({ ...one, cover: { jpeg: 'AAAA', width: 1, height: 1 } }))],
    ['an unknown problem', changed((one) => ({ ...one, problems: [{ type: 'x', message: '', fatal: true }] }))],
    ['an unknown field of books', changed((one) => ({ ...one, embedded: { book: { path: '/etc' } } }))],
    ['a field of another type', changed((one) => ({ ...one, embedded: { book: { year: 'x' } } }))],
    ['a list of numbers', changed((one) => ({ ...one, embedded: { genres: [1] } }))],
    ['a long title', changed((one) => ({ ...one, embedded: { title: 'x'.repeat(5_000) } }))],
  ]
  for (const [what, bytes] of table) t.equal(readAnalyses(bytes, 1), null, what)
})
