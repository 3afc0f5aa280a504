import t from 'tap'
import { analyzeBytes as analyze, coloredPicture as picture } from '#test/support/epub-analysis.ts'
import { buildEpub, imagePage } from '#test/support/epub-builder.ts'
import { buildFixedLayoutEpub } from '#test/support/fixed-layout-epub.ts'

t.test('the name of a picture counts for each page that shows it', async (t) => {
  const name = `${'n'.repeat(4_000)}.jpg`
  const bytes = await picture('red')
  const book = (count: number) => {
    const pages = Array.from({ length: count }, (_, index) => `p${index}`)
    return buildEpub({
      metadata: '<dc:title>C</dc:title><meta property="rendition:layout">pre-paginated</meta>',
      manifest: pages.map((id) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join(''),
      spine: pages.map((id) => `<itemref idref="${id}"/>`).join(''),
      files: Object.fromEntries([['c1.xhtml', null], [name, bytes], ...pages.map((id) => [`${id}.xhtml`, imagePage(name)])]),
    })
  }
  const short = await analyze(book(100))
  t.same([short.pages.length, short.problems], [100, []])
  const long = await analyze(book(1_500))
  t.same(long.pages, [])
  t.match(long.problems, [{ type: 'parser', fatal: true, message: /characters together/ }])
})

t.test('a picture that leads to nothing in a fixed-layout book is a blank page, and one on another host a missing page', async (t) => {
  const red = await picture('red')
  const spacer = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  for (const src of [spacer, '', ' ', '#', '#top', '?', 'about:blank', ' DATA:,']) {
    const book = await analyze(buildFixedLayoutEpub([red, imagePage(src), red]))
    t.same([book.pageSource, book.problems], ['zip', []], src)
    t.same(
      book.pages.map(({ isBlank = false }) => isBlank),
      [false, true, false],
    )
    const beside = imagePage('i0.jpg').replace('<img', `<img src="${src}"/><img`)
    t.match(
      await analyze(buildFixedLayoutEpub([red, beside])),
      { pageSource: 'zip', pages: [{ width: 60 }, { width: 60 }] },
      `beside: ${src}`,
    )
  }
  t.match(
    await analyze(buildFixedLayoutEpub([red, imagePage('').replace(' src=""', '')])),
    { pages: [{}, { isBlank: true }] },
    'no address',
  )
  for (const src of [
    'https://host/p5.jpg',
    '//host/p5.jpg?size=full',
    'https://host/p5.svg',
    'file:///C:/p5.jpg',
    'gone.jpg',
    'gone.svg',
  ]) {
    const book = await analyze(buildFixedLayoutEpub([red, imagePage(src), red]))
    t.equal(book.pageSource, 'zip', src)
    t.same(
      book.pages.map(({ width, isBlank = false }) => [width, isBlank]),
      [
        [60, false],
        [null, false],
        [60, false],
      ],
    )
    t.match(
      book.problems,
      [{ type: 'page_extraction', fatal: false, message: /^1 of 3 pages cannot be read; .*it is not in the file/ }],
      src,
    )
  }
  for (const src of [spacer, 'https://host/p5.jpg'])
    t.equal((await analyze(buildFixedLayoutEpub([red, imagePage(src), red], { metadata: '' }))).pageSource, 'none', `reflowable: ${src}`)
  const named = buildFixedLayoutEpub([red, imagePage('#1.jpg')], { files: { '#1.jpg': red } })
  t.match(await analyze(named), { pages: [{}, { name: 'OPS/#1.jpg', width: 60 }] }, 'a name that begins with a number sign')
})
