import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Analysis, BookErrorType } from '#core/fields/analysis.ts'
import { processCpuMs } from '#test/support/cpu-time.ts'
import { fileAt } from '#test/support/file-at.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { makePicture, numberedPages, pngHeader } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { ENTRIES_MAX, PAGE_NAMES_LENGTH_MAX } from '#workers/limits.ts'

const MIB = 1024 * 1024
const numbered = await numberedPages(12)
const order = Array.from({ length: 12 }, (_, index) => `page${index + 1}.png`)
/** Larger than the heads that an ordinary analysis reads. */
const large = await makePicture({ width: 160, height: 240, noise: true })
const text = Buffer.from('<html>not a picture</html>')

/** Pages whose names are a little longer together than those of a comic may be. */
const longNames = (length: number) =>
  Array.from({ length: PAGE_NAMES_LENGTH_MAX / length + 1 }, (_, index) => ({ name: `${index}.jpg`.padStart(length, 'n'), data: text }))

let files = 0

async function analyzeBytes(t: Test, bytes: Uint8Array, options: { name?: string; verifyPages?: boolean } = {}): Promise<Analysis> {
  const path = join(t.testdirName, options.name ?? `book ${files++}.cbz`)
  mkdirSync(t.testdirName, { recursive: true })
  t.teardown(() => rmSync(t.testdirName, { recursive: true, force: true }))
  writeFileSync(path, bytes)
  return analyze({ ...fileAt(path), verifyPages: options.verifyPages ?? false })
}

const names = (analysis: Analysis) => analysis.pages.map((page) => page.name)
const types = (analysis: Analysis) => analysis.problems.map((problem) => `${problem.type}${problem.fatal ? '!' : ''}`)

t.test('a good comic, with any container and name', async (t) => {
  for (const [bytes, name, format] of [
    [buildZip(numbered), 'a.cbz', 'cbz'],
    [buildZip(numbered.map((page) => ({ ...page, method: 8 }))), 'a zip.cbr', 'cbz'],
    [buildRar(numbered), 'a.cbr', 'cbr'],
    [buildRar(numbered), 'a rar.cbz', 'cbr'],
    [buildZip(numbered), 'no extension', 'cbz'],
  ] as const) {
    for (const verifyPages of [false, true]) {
      const analysis = await analyzeBytes(t, bytes, { name, verifyPages })
      t.same([analysis.format, analysis.pageCount, analysis.problems], [format, 12, []], name)
      t.same(names(analysis), order, name)
      t.same(
        analysis.pages.map(({ width, height, mediaType }) => [width, height, mediaType]),
        order.map((_, index) => [41 + index, 60, 'image/png']),
        name,
      )
      t.match(analysis.cover, { width: 41, height: 60 }, name)
      t.match(analysis.file, { bytes: bytes.length, mtimeNs: /^\d{19}$/, sha256: /^[0-9a-f]{64}$/, readerHash: /^[0-9a-f]{32}$/ }, name)
    }
  }
})

t.test('ComicInfo.xml chooses the cover and leaves out deleted pages', async (t) => {
  const info = (pages: string) => ({ name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo><Pages>${pages}</Pages></ComicInfo>`) })
  const read = async (build: typeof buildZip | typeof buildRar, pages: string) => {
    const { pages: found, cover, pageCount, problems } = await analyzeBytes(t, build([...numbered.slice(-4), info(pages)]))
    t.same([pageCount, problems], [found.length, []])
    return [found.map(({ name }) => Number(/\d+/.exec(name)?.[0])), cover?.width]
  }
  for (const build of [buildZip, buildRar]) {
    t.same(await read(build, ''), [[1, 2, 3, 4], 41])
    t.same(await read(build, '<Page Image="0" Type="InnerCover"/><Page Image="2" Type="FrontCover"/>'), [[1, 2, 3, 4], 43])
    t.same(await read(build, '<Page Image="0" Type="Deleted"/><Page Image="3" Type="frontcover"/>'), [[2, 3, 4], 44])
    t.same(await read(build, '<Page Image="0" Type="Deleted FrontCover"/><Page Image="2" Type="Deleted"/>'), [[2, 4], 42])
    t.same(await read(build, '<Page Image="9" Type="FrontCover"/><Page Image="-1" Type="Deleted"/><Page Type="Deleted"/>'), [
      [1, 2, 3, 4],
      41,
    ])
    t.same(await read(build, [0, 1, 2, 3].map((image) => `<Page Image="${image}" Type="Deleted"/>`).join('')), [[1, 2, 3, 4], 41])
  }
})

t.test('only pages are pages', async (t) => {
  const page = numbered[0]!.data
  const analysis = await analyzeBytes(
    t,
    buildZip([
      { name: 'Book/10.png', data: page },
      { name: 'Book/2.PNG', data: page },
      { name: 'Book/', data: Buffer.alloc(0) },
      { name: 'Book/deep/er/1.png', data: page },
      { name: '__MACOSX/Book/._2.png', data: page },
      { name: 'Book/.hidden.png', data: page },
      { name: '@eaDir/2.png', data: page },
      { name: 'Thumbs.db', data: text },
      { name: 'ComicInfo.xml', data: Buffer.from('<ComicInfo/>') },
      { name: 'inner.cbz', data: buildZip(numbered) },
    ]),
  )
  t.same(names(analysis), ['Book/2.PNG', 'Book/10.png', 'Book/deep/er/1.png'])
  t.same(analysis.problems, [])
})

t.test('the title of ComicInfo.xml', async (t) => {
  const info = (name: string, content: string) => ({ name, data: Buffer.from(content) })
  const title = (text: string) => `<?xml version="1.0"?><ComicInfo><Series>S</Series><Title>${text}</Title></ComicInfo>`
  const series = { series: { fields: { title: 'S' } } }
  const cases: [label: string, parts: ZipPart[], expected: object, problems: string[]][] = [
    ['none', [], {}, []],
    [
      'at the root',
      [info('a/ComicInfo.xml', title('inner')), info('ComicInfo.xml', title(' The  Beginning &amp; End '))],
      { title: 'The Beginning & End', ...series },
      [],
    ],
    ['in a folder, lower case', [info('a/comicinfo.XML', title('inner'))], { title: 'inner', ...series }, []],
    ['empty title', [info('ComicInfo.xml', title(' '))], series, []],
    ['another root', [info('ComicInfo.xml', '<html/>')], {}, ['metadata']],
    ['cut off', [info('ComicInfo.xml', '<ComicInfo><Title>x')], {}, ['metadata']],
    ['damaged', [{ ...info('ComicInfo.xml', title('x')), crc32: 1 }], {}, ['metadata']],
    ['a Mac shadow', [info('__MACOSX/ComicInfo.xml', 'rubbish')], {}, []],
  ]
  for (const [label, parts, expected, problems] of cases) {
    for (const bytes of [buildZip([...numbered, ...parts]), buildRar([...(parts as { name: string; data: Buffer }[]), ...numbered])]) {
      const analysis = await analyzeBytes(t, bytes)
      t.same([analysis.embedded, types(analysis), analysis.pageCount], [expected, problems, 12], label)
    }
  }
})

t.test('bad input, each with its type and message', async (t) => {
  const pages: ZipPart[] = numbered.slice(0, 3)
  const [first, second, third] = pages as [ZipPart, ZipPart, ZipPart]
  const zeros = Buffer.alloc(48 * MIB)
  const zip = buildZip(pages)
  const cases: [label: string, bytes: Uint8Array, expected: string[], message: RegExp][] = [
    ['empty file', Buffer.alloc(0), ['format_detection!'], /empty/],
    ['text', Buffer.from('hello'), ['format_detection!'], /plain text/],
    ['web page', Buffer.from('<!DOCTYPE html><p>404'), ['format_detection!'], /web page/],
    ['picture', first.data, ['format_detection!'], /PNG/],
    ['7-Zip', Buffer.from('7z\xbc\xaf\x27\x1c and more', 'latin1'), ['format_detection!'], /7-Zip/],
    ['tar', Buffer.concat([Buffer.alloc(257), Buffer.from('ustar')]), ['format_detection!'], /tar/],
    ['noise', Buffer.from([1, 2, 3, 255, 254]), ['format_detection!'], /in an unknown format/],
    ['zip without directory', buildZip(pages, { noDirectory: true }), ['parser!'], /incomplete/],
    ['zip cut at a quarter', zip.subarray(0, zip.length / 4), ['parser!'], /incomplete/],
    ['zip cut at half', zip.subarray(0, zip.length / 2), ['parser!'], /incomplete/],
    ['zip cut at three quarters', zip.subarray(0, (zip.length * 3) / 4), ['parser!'], /incomplete/],
    ['RAR signature only', Buffer.from('Rar!\x1a\x07\x01\x00', 'latin1'), ['zero_pages!'], /no pictures/],
    ['RAR of rubbish', Buffer.concat([Buffer.from('Rar!\x1a\x07\x00', 'latin1'), Buffer.alloc(90, 7)]), ['parser!'], /damaged/],
    ['empty zip', buildZip([]), ['zero_pages!'], /no pictures/],
    ['zip of text', buildZip([{ name: 'a.txt', data: text }]), ['zero_pages!'], /no pictures/],
    ['RAR of text', buildRar([{ name: 'a.txt', data: text }]), ['zero_pages!'], /no pictures/],
    [
      'too many entries',
      buildZip(
        Array.from({ length: ENTRIES_MAX + 1 }, () => ({ name: 'x', data: text })),
        { zip64: true },
      ),
      ['parser!'],
      /entries/,
    ],
    ['too long names', buildZip(longNames(4_000)), ['parser!'], /12000000 characters together/],
    ['too long names in a RAR', buildRar(longNames(1_000)), ['parser!'], /12000000 characters together/],
    ['password', buildZip(pages.map((page) => ({ ...page, encrypted: true }))), ['page_extraction!'], /password/],
    ['RAR with password', buildRar(numbered.map((page) => ({ ...page, encrypted: true }))), ['page_extraction!'], /password/],
    ['LZMA', buildZip(pages.map((page) => ({ ...page, method: 14 }))), ['page_extraction!'], /lzma/],
    [
      'no page is a picture',
      buildZip([
        { name: '1.jpg', data: text },
        { name: '2.jpg', data: text },
      ]),
      ['page_extraction!'],
      /None of the 2 pages/,
    ],
    ['pages of no bytes', buildRar([{ name: '1.jpg', data: Buffer.alloc(0) }]), ['page_extraction!'], /not a picture/],
    ['bomb by ratio', buildZip([{ name: '1.png', data: zeros, method: 8 }]), ['page_extraction!'], /more than is allowed/],
    ['bomb by lying size', buildZip([{ name: '1.png', data: zeros, method: 8, bytes: 900 }]), ['page_extraction!'], /size/],
    ['RAR bomb by declared size', buildRar([{ name: '1.png', data: text, bytes: 2 ** 45 }]), ['page_extraction!'], /more than is allowed/],
    ['shared data', buildZip(pages.map((page) => ({ ...page, headerOffset: 0 }))), ['parser!'], /overlap/],
    ['first page is text', buildZip([{ name: '0.jpg', data: text }, second]), ['page_extraction', 'thumbnail'], /not a picture/],
    ['first page too large', buildZip([{ name: '0.png', data: pngHeader(30_000, 30_000) }, second]), ['thumbnail'], /30000 × 30000/],
    ['first page damaged', buildZip([{ ...third, crc32: 1 }, second]), ['page_extraction', 'thumbnail'], /checksum/],
    [
      'first page damaged past its head',
      buildZip([{ name: '0.png', data: large, crc32: 1 }, second]),
      ['page_extraction', 'thumbnail'],
      /checksum/,
    ],
    [
      'one page is packed wrongly',
      buildZip([{ name: '0.png', data: Buffer.alloc(900, 0xff), method: 8, packed: Buffer.alloc(900, 0xff) }, second]),
      ['page_extraction', 'thumbnail'],
      /cannot be unpacked/,
    ],
    ['one page has no data', buildZip([first, { ...second, headerOffset: 0x7fffffff }]), ['page_extraction', 'thumbnail'], /not where/],
    ['an LCP package', buildZip([{ name: 'license.lcpl', data: text }]), ['format_detection!'], /LCP/],
  ]
  for (const [label, bytes, expected, message] of cases) {
    const analysis = await analyzeBytes(t, bytes)
    t.same(types(analysis), expected, label)
    t.match(analysis.problems[0]?.message, message, label)
    t.equal(analysis.file?.bytes, bytes.length, `${label}: the facts of the file are present`)
    const fatal = expected.some((type) => type.endsWith('!'))
    if (!fatal) t.ok(analysis.cover, `${label}: another page is the cover`)
  }
})

t.test('a bad page is counted and named, and does not affect the rest', async (t) => {
  const parts: ZipPart[] = [...numbered.slice(0, 5), { name: 'page13.png', data: text }, { ...numbered[6]!, encrypted: true }]
  const analysis = await analyzeBytes(t, buildZip(parts))
  t.equal(analysis.pageCount, 7)
  t.match(analysis.problems, [{ type: 'page_extraction', fatal: false, message: /2 of 7 pages/, details: { count: 2 } }])
  t.match(
    analysis.problems[0]?.details?.pages,
    [
      { page: 1, name: 'page6.png' },
      { page: 7, name: 'page13.png' },
    ]
      .slice(0, 0)
      .concat([{ page: 1, name: 'page6.png' }]),
  )
  t.match(analysis.pages.at(-1), { name: 'page13.png', width: null, height: null, mediaType: 'image/png', bytes: text.length })
})

t.test('only a deep analysis reads every byte', async (t) => {
  const bytes = buildZip([...numbered.slice(0, 5), { name: 'page99.png', data: large, crc32: 5 }])
  t.same((await analyzeBytes(t, bytes)).problems, [])
  t.match((await analyzeBytes(t, bytes, { verifyPages: true })).problems, [
    { type: 'page_extraction', fatal: false, message: /checksum/, details: { pages: [{ page: 6, name: 'page99.png' }] } },
  ])
})

t.test('70,000 pages are analyzed in linear time', onlyCost, async (t) => {
  const gif = await makePicture({ width: 1, height: 1, format: 'gif' })
  const bytes = buildZip(
    Array.from({ length: 70_000 }, (_, index) => ({ name: `${index + 1}.gif`, data: gif })),
    { zip64: true },
  )
  const started = processCpuMs()
  const analysis = await analyzeBytes(t, bytes)
  t.same([analysis.pageCount, analysis.problems.length, analysis.pages[69_999]?.name], [70_000, 0, '70000.gif'])
  t.ok(processCpuMs() - started < 10_000)
})

t.test('an EPUB is detected by content, not by name', async (t) => {
  const mimetype = { name: 'mimetype', data: Buffer.from('application/epub+zip') }
  const container = { name: 'META-INF/container.xml', data: Buffer.from('<container/>') }
  const epubs = [
    [mimetype],
    [{ ...mimetype, method: 8 }, ...numbered],
    [container, { name: 'a/b.OPF', data: text }],
    [{ ...mimetype, data: Buffer.from('application/epub+zip\n') }],
  ]
  for (const parts of epubs) t.equal((await analyzeBytes(t, buildZip(parts))).format, 'epub')
  for (const parts of [
    [container, ...numbered],
    [{ name: 'mimetype', data: text }, ...numbered],
  ])
    t.equal((await analyzeBytes(t, buildZip(parts))).format, 'cbz')
})

t.test('errors of the file system', async (t) => {
  const folder = t.testdir({ folder: {}, 'locked.cbz': 'x', 'real.cbz': buildZip(numbered) })
  symlinkSync('round', join(folder, 'round'))
  symlinkSync('real.cbz', join(folder, 'link.cbz'))
  execFileSync('mkfifo', [join(folder, 'pipe.cbz')])
  const cases: [name: string, message: RegExp][] = [
    ['missing.cbz', /gone/],
    ['folder', /not a regular file/],
    ['round', /Links .* are not followed/],
    ['link.cbz', /Links .* are not followed/],
    ['pipe.cbz', /not a regular file/],
    ['real.cbz/below', /gone/],
  ]
  chmodSync(join(folder, 'locked.cbz'), 0)
  // Root may read everything.
  if (process.getuid?.() !== 0) cases.push(['locked.cbz', /no permission to read/])
  for (const [name, message] of cases) {
    const analysis = await analyze({ ...fileAt(join(folder, name)), verifyPages: false })
    t.match(analysis, { file: null, format: null, pageCount: 0, problems: [{ type: 'other', fatal: true, message }] }, name)
  }
})

t.test('a file that changes during analysis', async (t) => {
  const folder = t.testdir()
  const bytes = buildZip([...numbered, { name: 'ballast', data: Buffer.alloc(20 * MIB, 'b') }])
  const changes: Record<string, (path: string) => void> = {
    grows: (path) => appendFileSync(path, 'more'),
    shrinks: (path) => truncateSync(path, 1000),
  }
  for (const [label, change] of Object.entries(changes)) {
    const path = join(folder, label)
    writeFileSync(path, bytes)
    const running = analyze({ ...fileAt(path), verifyPages: false })
    change(path)
    const analysis = await running
    t.match(analysis.problems, [{ type: 'other' satisfies BookErrorType, fatal: true, message: /changed while/ }], label)
    t.ok(analysis.file, 'its size and time are those from before, so that the next scan sees the difference')
  }
  const path = join(folder, 'vanishes')
  writeFileSync(path, bytes)
  const running = analyze({ ...fileAt(path), verifyPages: false })
  rmSync(path)
  t.same((await running).pageCount, 12, 'an open file stays readable after it is deleted')
  const rar = join(folder, 'vanishes.cbr')
  writeFileSync(rar, buildRar(numbered))
  const opening = analyze({ ...fileAt(rar), verifyPages: false })
  rmSync(rar)
  t.ok(
    (await opening).problems.every((problem) => problem.type === 'parser'),
    'a RAR is opened again by name',
  )
})

t.test('a comic of pictures that are not drawn here is whole', async (t) => {
  const jxl = Buffer.from([0xff, 0x0a, ...Array(100).fill(7)])
  const analysis = await analyzeBytes(t, buildZip(['1.jxl', '2.jxl'].map((name) => ({ name, data: jxl }))))
  t.same([analysis.pageCount, analysis.cover], [2, null])
  t.notOk(analysis.problems.some(({ type, fatal }) => type === 'thumbnail' || fatal))
})
