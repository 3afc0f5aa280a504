import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import { processCpuMs } from '#test/support/cpu-time.ts'
import { analyzeBytes as analyze, coloredPicture as picture } from '#test/support/epub-analysis.ts'
import { buildComicEpub, buildEpub, imagePage, svgPage, textPage } from '#test/support/epub-builder.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { resolveHref } from '#workers/formats/epub/epub-package.ts'

const folder = t.testdir()
/** Type and severity of each problem. */
const faults = (book: Pick<Analysis, 'problems'>) => book.problems.map((problem) => [problem.type, problem.fatal])

/** The color of a single-color cover, by name. */
async function colorOf(jpeg: Uint8Array | undefined): Promise<string> {
  if (jpeg === undefined) return 'none'
  const channels = await sharp(jpeg).resize(1, 1).raw().toBuffer()
  const bright = [...channels].map((value) => (value > 200 ? 1 : 0)).join('')
  return { '100': 'red', '010': 'green', '001': 'blue', '111': 'white' }[bright] ?? bright
}

t.test('a text book: title, positions, no pages, no cover, no problem', async (t) => {
  const long = Array.from({ length: 4000 }, (_, index) => ((index * 7919) % 10_007).toString(36)).join(' ')
  const book = await analyze(
    buildEpub({
      metadata:
        '<dc:title> </dc:title><dc:title id="t">\n A &lt;small&gt;\t book&#x2019;s\u00a0title </dc:title><dc:title>Other</dc:title>',
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="c2" href="c%202.xhtml#top" media-type="application/xhtml+xml"/>',
      spine: '<itemref idref="c1"/><itemref idref="c2" linear="no"/><itemref idref="c1"/>',
      files: { 'c 2.xhtml': textPage(long) },
    }),
  )
  t.equal(book.embedded.title, 'A <small> book’s title')
  t.equal(book.pageSource, 'none')
  t.same(book.pages, [])
  t.equal(book.cover, null)
  t.same(book.problems, [])
  t.ok(
    book.pageCount > 1 + 8 && book.pageCount < 1 + 20,
    `1 for the small chapter, which is referred to twice, one for each started KiB of the long: ${book.pageCount}`,
  )
})

t.test('positions follow the compressed size, stored or not', async (t) => {
  const stored = new Uint8Array(Buffer.from(textPage('x'.repeat(3 * 1024))))
  t.equal((await analyze(buildEpub({ files: { 'c1.xhtml': stored } }))).pageCount, Math.ceil(stored.length / 1024))
  t.equal((await analyze(buildEpub({ files: { 'c1.xhtml': textPage('x'.repeat(3 * 1024)) } }))).pageCount, 1, 'deflated well')
})

t.test('no entry is larger than its file', async (t) => {
  const chapter = Buffer.from(textPage('x'))
  const names = ['mimetype', 'META-INF/container.xml', 'OPS/package.opf']
  const [mimetype, container, opf] = [
    'application/epub+zip',
    '<container><rootfiles><rootfile full-path="OPS/package.opf"/></rootfiles></container>',
    `<package><metadata/><manifest><item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c1"/></spine></package>`,
  ]
  for (const compressedBytes of [2 ** 63, 2 ** 32, 5_000_000]) {
    const bytes = buildZip([
      ...[mimetype, container, opf].map((text, index) => ({ name: names[index] as string, data: Buffer.from(text as string) })),
      { name: 'OPS/c1.xhtml', data: chapter, compressedBytes, zip64: true },
    ])
    const book = await analyze(bytes)
    t.equal(book.pageCount, Math.ceil((bytes.length + 1) / 1024), `${compressedBytes}`)
    t.match((await analyze(bytes, true)).problems, [{ type: 'page_extraction', message: /cut off/ }])
  }
})

t.test('EPUB 2, upper-case Dublin Core, prefixed package', async (t) => {
  const book = await analyze(
    buildEpub({
      files: {
        'package.opf':
          '<opf:package xmlns:opf="http://www.idpf.org/2007/opf" version="2.0"><opf:metadata><opf:dc-metadata xmlns:dc="urn:dc">' +
          '<dc:Title>Old &amp; good</dc:Title></opf:dc-metadata></opf:metadata><opf:manifest>' +
          '<opf:item id="c1" href="C1.XHTML" media-type="application/xhtml+xml"/></opf:manifest>' +
          '<opf:spine toc="ncx"><opf:itemref idref="c1"/></opf:spine></opf:package>',
      },
    }),
  )
  t.equal(book.embedded.title, 'Old & good')
  t.same(book.problems, [], 'C1.XHTML is found as c1.xhtml')
  t.equal(book.pageCount, 1)
})

t.test('fixed layout counts spine items', async (t) => {
  const long = new Uint8Array(Buffer.from(textPage('x'.repeat(5000))))
  const files = { 'c1.xhtml': long }
  const layout = (metadata: string) => ({ metadata: `<dc:title>F</dc:title>${metadata}`, files })
  t.equal((await analyze(buildEpub(layout('')))).pageCount, 6, 'reflowable')
  t.equal((await analyze(buildEpub(layout('<meta property="rendition:layout">pre-paginated</meta>')))).pageCount, 1)
  t.equal((await analyze(buildEpub(layout('<meta name="fixed-layout" content="true"/>')))).pageCount, 1)
  t.equal((await analyze(buildEpub(layout('<meta property="rendition:layout" refines="#c1">pre-paginated</meta>')))).pageCount, 6)
  const options = '<display_options><platform name="*"><option name="fixed-layout">true</option></platform></display_options>'
  t.equal((await analyze(buildEpub({ files: { ...files, '/META-INF/com.apple.ibooks.display-options.xml': options } }))).pageCount, 1)
  t.equal((await analyze(buildEpub({ files: { ...files, '/META-INF/com.apple.ibooks.display-options.xml': '<broken' } }))).pageCount, 6)
})

t.test('a comic EPUB has pages in spine order, with their offsets', async (t) => {
  const pictures = [
    { name: 'images/10.jpg', bytes: await picture('red', 60, 90) },
    { name: 'images/2.jpg', bytes: await picture('green', 120, 90) },
    { name: 'images/page 3.jpg', bytes: await picture('blue', 70, 90) },
  ]
  const bytes = buildComicEpub(pictures)
  const book = await analyze(bytes, true)
  t.equal(book.pageSource, 'zip')
  t.equal(book.pageCount, 3)
  t.same(
    book.pages.map((page) => [page.name, page.mediaType, page.width, page.height, page.bytes]),
    pictures.map(({ name, bytes }, index) => [`OPS/${name}`, 'image/jpeg', [60, 120, 70][index], 90, bytes.length]),
  )
  const [first] = book.pages
  t.same(bytes.subarray(first?.zip?.offset, (first?.zip?.offset ?? 0) + (first?.bytes ?? 0)), pictures[0]?.bytes, 'the offset is correct')
  t.equal(await colorOf(book.cover?.jpeg), 'red')
  t.same([book.cover?.width, book.cover?.height], [60, 90], 'never enlarged')
  t.same(book.problems, [])

  const spineOfBitmaps = await analyze(
    buildEpub({
      manifest: '<item id="a" href="a.jpg" media-type="image/jpeg"/><item id="b" href="b.jpg" media-type="image/jpeg"/>',
      spine: '<itemref idref="b"/><itemref idref="a"/>',
      files: { 'a.jpg': await picture('red'), 'b.jpg': await picture('blue') },
    }),
  )
  t.same(
    spineOfBitmaps.pages.map((page) => page.name),
    ['OPS/b.jpg', 'OPS/a.jpg'],
  )
  t.equal(spineOfBitmaps.pageCount, 2, 'reflowable by its metadata, but pages all the same')
})

t.test('books that are not comics', async (t) => {
  const jpeg = await picture('red')
  const withPage = (content: string) =>
    buildEpub({
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="c2" href="c2.xhtml" media-type="application/xhtml+xml"/>',
      spine: '<itemref idref="c1"/><itemref idref="c2"/>',
      files: { 'c1.xhtml': imagePage('a.jpg'), 'c2.xhtml': content, 'a.jpg': jpeg, 'a.svg': '<svg/>' },
    })
  const cases: Record<string, string> = {
    'a page of text': textPage('words'),
    'a picture with words': imagePage('a.jpg').replace('<div>', '<div>words'),
    'two pictures': imagePage('a.jpg').replace('</div>', '<img src="a.jpg"/></div>'),
    'an empty page': textPage(''),
    'a picture and a drawing': svgPage('a.jpg').replace('</svg>', '<path d="M0 0"/></svg>'),
    'a picture elsewhere': imagePage('http://example.org/a.jpg'),
    'a picture inside the page': imagePage('data:image/png;base64,AAAA'),
    'an SVG file': imagePage('a.svg'),
    'not XML': '<html><body><img src="a.jpg"></body></html>',
  }
  for (const [name, content] of Object.entries(cases)) {
    const book = await analyze(withPage(content))
    t.same([book.pages, book.pageSource, book.pageCount, book.problems], [[], 'none', 2, []], name)
  }
})

t.test('a comic with missing and damaged pages keeps the others', async (t) => {
  const good = await picture('green')
  const book = await analyze(
    buildComicEpub([
      { name: 'a.jpg', bytes: Buffer.from('not a picture at all') },
      { name: 'b.jpg', bytes: good },
    ]),
  )
  t.same(
    book.pages.map((page) => page.width),
    [null, 60],
  )
  t.same(faults(book), [
    ['page_extraction', false],
    ['thumbnail', false],
  ])
  t.match(book.problems[0]?.message, /1 of 2 pages.*"OPS\/a\.jpg"/)

  const bytes = buildComicEpub([
    { name: 'a.jpg', bytes: good },
    { name: 'b.jpg', bytes: good },
  ])
  const at = bytes.lastIndexOf(good)
  bytes[at + good.length - 10] = (bytes[at + good.length - 10] ?? 0) ^ 0xff
  t.same((await analyze(bytes)).problems, [], 'only a complete read detects a wrong checksum')
  t.same(faults(await analyze(bytes, true)), [['page_extraction', false]])
})

t.test('covers by the rules of OPF', async (t) => {
  const files = { 'red.jpg': await picture('red'), 'green.jpg': await picture('green', 800, 1200), 'blue.jpg': await picture('blue') }
  const page = '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>'
  const item = (id: string, properties = '') => `<item id="${id}" href="${id}.jpg" media-type="image/jpeg" ${properties}/>`
  const all = page + item('red') + item('green') + item('blue')
  const title = '<dc:title>C</dc:title>'
  const color = async (recipe: Parameters<typeof buildEpub>[0]) => {
    const book = await analyze(buildEpub({ ...recipe, files: { ...files, ...recipe?.files } }))
    t.same(book.problems, [])
    return colorOf(book.cover?.jpeg)
  }
  const guide = (href: string) => `<guide><reference type="cover" href="${href}"/></guide>`

  t.equal(
    await color({
      manifest: page + item('red') + item('green', 'properties="other cover-image"'),
      metadata: `${title}<meta name="cover" content="red"/>`,
    }),
    'green',
    'EPUB 3 first',
  )
  t.equal(
    await color({ manifest: all, metadata: `${title}<meta content="red" name="cover"/>`, afterSpine: guide('blue.jpg') }),
    'red',
    'EPUB 2',
  )
  t.equal(
    await color({ manifest: all, metadata: `${title}<meta name="cover" content="blue.jpg"/>` }),
    'blue',
    'an href where an id should be',
  )
  t.equal(
    await color({ manifest: all, afterSpine: guide('cover.xhtml#x'), files: { 'cover.xhtml': svgPage('green.jpg') } }),
    'green',
    'guide, page',
  )
  t.equal(await color({ manifest: all, afterSpine: guide('blue.jpg') }), 'blue', 'guide, picture')
  t.equal(
    await color({ manifest: all, files: { 'c1.xhtml': imagePage('red.jpg').replace('</div>', 'and words</div>') } }),
    'red',
    'first picture of the first page',
  )
  t.equal(
    await color({ manifest: all, metadata: `${title}<meta name="cover" content="nothing"/>` }),
    'none',
    'a dangling reference is not a problem',
  )

  const green = await analyze(buildEpub({ manifest: page + item('green', 'properties="cover-image"'), files }))
  t.same([green.cover?.width, green.cover?.height], [267, 400], 'the longest side becomes 400')

  const broken = await analyze(
    buildEpub({
      manifest: page + item('red', 'properties="cover-image"') + item('blue'),
      metadata: `${title}<meta name="cover" content="blue"/>`,
      files: { 'red.jpg': 'no picture', 'blue.jpg': files['blue.jpg'] },
    }),
  )
  t.equal(await colorOf(broken.cover?.jpeg), 'blue', 'the next candidate is used')
  const hopeless = await analyze(
    buildEpub({ manifest: page + item('red', 'properties="cover-image"'), files: { 'red.jpg': 'no picture' } }),
  )
  t.same(faults(hopeless), [['thumbnail', false]])
})

t.test('an SVG cover is drawn, and reads nothing from the disk', async (t) => {
  const cover = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="90"><rect width="60" height="90" fill="#0f0"/></svg>'
  const withCover = (svg: string) =>
    buildEpub({
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="s" href="s.svg" media-type="image/svg+xml" properties="cover-image"/>',
      files: { 's.svg': svg },
    })
  t.equal(await colorOf((await analyze(withCover(cover))).cover?.jpeg), 'green')
  const secret = join(folder, 'secret.png')
  await sharp({ create: { width: 60, height: 90, channels: 3, background: '#f00' } })
    .png()
    .toFile(secret)
  const leak = cover.replace('<rect', `<image width="60" height="90" href="file://${secret}"/><rect opacity="0"`)
  t.equal(await colorOf((await analyze(withCover(leak))).cover?.jpeg), 'white', 'the picture does not contain the file')
})

t.test('broken books have the right problem', async (t) => {
  const container = (path: string) =>
    `<container><rootfiles><rootfile full-path="${path}" media-type="application/oebps-package+xml"/></rootfiles></container>`
  const cases: [name: string, bytes: Buffer, type: string, message: RegExp][] = [
    ['no container', buildEpub({ files: { '/META-INF/container.xml': null } }), 'parser', /no META-INF\/container\.xml/],
    [
      'container not well formed',
      buildEpub({ files: { '/META-INF/container.xml': '<container><rootfiles>' } }),
      'parser',
      /cannot be read/,
    ],
    [
      'container without rootfile',
      buildEpub({ files: { '/META-INF/container.xml': '<container/>' } }),
      'parser',
      /names no package document/,
    ],
    [
      'container leads out',
      buildEpub({ files: { '/META-INF/container.xml': container('../../etc/passwd') } }),
      'parser',
      /"etc\/passwd".*not in it/,
    ],
    ['no package document', buildEpub({ files: { 'package.opf': null } }), 'parser', /"OPS\/package\.opf".*not in it/],
    ['package document empty', buildEpub({ files: { 'package.opf': '' } }), 'metadata', /it is empty\.$/],
    [
      'package document cut off',
      buildEpub({ files: { 'package.opf': '<package><metadata><dc:title>x' } }),
      'metadata',
      /left open: package/,
    ],
    ['empty spine', buildEpub({ spine: '' }), 'zero_pages', /spine is empty/],
    ['no spine', buildEpub({ files: { 'package.opf': '<package><metadata/><manifest/></package>' } }), 'zero_pages', /spine is empty/],
    ['spine leads nowhere', buildEpub({ spine: '<itemref idref="nope"/>' }), 'zero_pages', /refers only to items/],
    ['the only chapter is missing', buildEpub({ files: { 'c1.xhtml': null } }), 'page_extraction', /1 of 1 parts/],
  ]
  for (const [name, bytes, type, message] of cases) {
    const book = await analyze(bytes)
    t.same(faults(book), [[type, true]], name)
    t.match(book.problems[0]?.message, message, name)
    t.same(book.pages, [])
  }

  const half = await analyze(
    buildEpub({
      manifest: ['c1.xhtml', 'gone.xhtml', 'https://example.org/far.xhtml', 'c2.xhtml']
        .map((href, index) => `<item id="c${index + 1}" href="${href}" media-type="application/xhtml+xml"/>`)
        .join(''),
      spine: ['c1', 'c2', 'nope', 'c3', 'c4', 'c1', 'c1', 'c2'].map((id) => `<itemref idref="${id}"/>`).join(''),
      files: { 'c2.xhtml': textPage('x') },
    }),
  )
  t.match(half.problems, [
    {
      ...{ type: 'page_extraction', fatal: false },
      message:
        '4 of 8 parts of this EPUB are not in the file and are left out: "OPS/gone.xhtml", "nope", "https://example.org/far.xhtml" and 1 more.',
      details: { count: 4 },
    },
  ])
  t.equal(half.pageCount, 2, 'each file that is there counts once')
  t.equal(half.embedded.title, 'A small book')
})

t.test('entities of a DOCTYPE are neither expanded nor fetched', async (t) => {
  const names = 'abcdefghi'.split('')
  const laughs = names.map((name, index) => `<!ENTITY ${name} "${index === 0 ? 'ha' : `&${names[index - 1]};`.repeat(10)}">`).join('')
  const bomb = await analyze(buildEpub({ prolog: `<!DOCTYPE package [${laughs}]>`, metadata: '<dc:title>&i;</dc:title>' }))
  t.equal(bomb.embedded.title, undefined)
  t.same(faults(bomb), [['metadata', false]])
  t.equal(bomb.pageCount, 1, 'and the book is readable')

  const outside = await analyze(
    buildEpub({
      prolog: '<!DOCTYPE package [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
      metadata: '<dc:title>A&x;B</dc:title><dc:title>Second</dc:title>',
    }),
  )
  t.equal(outside.embedded.title, 'Second')
})

t.test('DRM is reported, obfuscated fonts are not DRM', async (t) => {
  const encryption = (algorithm: string, uri: string) =>
    `<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>` +
    `<enc:EncryptionMethod Algorithm="${algorithm}"/><enc:CipherData><enc:CipherReference URI="${uri}"/></enc:CipherData></enc:EncryptedData></encryption>`
  const locked = await analyze(
    buildEpub({ files: { '/META-INF/encryption.xml': encryption('http://www.w3.org/2001/04/xmlenc#aes128-cbc', 'OPS/c1.xhtml') } }),
  )
  t.same(faults(locked), [['page_extraction', true]])
  t.match(locked.problems[0]?.message, /DRM/)
  t.equal(locked.embedded.title, 'A small book', 'metadata is not encrypted')
  t.equal(locked.pageCount, 1)
  const fonts = encryption('http://www.idpf.org/2008/embedding', 'OPS/font.otf')
  t.same((await analyze(buildEpub({ files: { '/META-INF/encryption.xml': fonts, 'font.otf': 'x' } }))).problems, [])
  t.same((await analyze(buildEpub({ files: { '/META-INF/encryption.xml': '<broken' } }))).problems, [])
})

t.test('hrefs never leave the archive', async (t) => {
  const cases: [href: string, path: string | undefined][] = [
    ['b.xhtml', 'OPS/text/b.xhtml'],
    ['../images/a%20b.jpg?x#y', 'OPS/images/a b.jpg'],
    ['../../../../../etc/passwd', 'etc/passwd'],
    ['..%2f..%2f..%2fetc/passwd', 'etc/passwd'],
    ['..\\..\\..\\windows\\win.ini', 'windows/win.ini'],
    ['/abs/a.jpg', 'abs/a.jpg'],
    ['100%.xhtml', 'OPS/text/100%.xhtml'],
    ['./a//b.jpg', 'OPS/text/a/b.jpg'],
    ['#note', undefined],
    ['', undefined],
    ['http://example.org/a.jpg', undefined],
    ['//example.org/a.jpg', undefined],
    ['file:///etc/passwd', undefined],
    ['data:image/png;base64,AA', undefined],
  ]
  for (const [href, path] of cases) t.equal(resolveHref(href, 'OPS/text/a.xhtml'), path, href)
})

t.test('thousands of chapters are fast', onlyCost, async (t) => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index)
  const bytes = buildEpub({
    manifest: numbers.map((n) => `<item id="c${n}" href="C${n}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
    spine: numbers.map((n) => `<itemref idref="c${n}"/>`).join(''),
    files: Object.fromEntries(numbers.map((n) => [`c${n}.xhtml`, textPage(`${n}`)])),
  })
  const started = processCpuMs()
  t.equal((await analyze(bytes)).pageCount, 5000)
  t.ok(processCpuMs() - started < 5000)
})
