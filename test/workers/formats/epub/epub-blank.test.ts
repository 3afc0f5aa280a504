import t from 'tap'
import { analyzeBytes as analyze, coloredPicture as picture } from '#test/support/epub-analysis.ts'
import { buildEpub, imagePage } from '#test/support/epub-builder.ts'

t.test('a page without a picture in a fixed-layout book is a blank page of the size of its spread', async (t) => {
  const [small, tall] = [await picture('red', 60, 90), await picture('blue', 50, 100)]
  const blankBook = (pages: (string | Buffer)[], more: { fixed?: boolean; css?: string } = {}) =>
    buildEpub({
      metadata: `<dc:title>C</dc:title>${more.fixed === false ? '' : '<meta property="rendition:layout">pre-paginated</meta>'}`,
      manifest: pages
        .map(
          (_, index) =>
            `<item id="p${index}" href="p${index}.xhtml" media-type="application/xhtml+xml"/><item id="i${index}" href="i${index}.jpg" media-type="image/jpeg"/>`,
        )
        .join(''),
      spine: pages.map((_, index) => `<itemref idref="p${index}"/>`).join(''),
      files: Object.fromEntries([
        ['c1.xhtml', null],
        ['style.css', more.css ?? ''],
        ...pages.flatMap((page, index) =>
          typeof page === 'string'
            ? [[`p${index}.xhtml`, page]]
            : [
                [`p${index}.xhtml`, imagePage(`i${index}.jpg`)],
                [`i${index}.jpg`, page],
              ],
        ),
      ]),
    })
  const body = (content: string, head = '') =>
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title>${head}</head><body>${content}</body></html>`
  const linked = '<link rel="stylesheet" href="style.css"/>'
  for (const blank of [
    '',
    '<div class="blank"></div>',
    '<p>&#160;</p>',
    '<svg xmlns="http://www.w3.org/2000/svg"><title>Blank</title></svg>',
  ]) {
    const book = await analyze(blankBook([small, body(blank, linked), tall], { css: '@font-face { src: url(a.otf) } p { color: red }' }))
    t.same([book.pageSource, book.pageCount, book.problems], ['zip', 3, []], blank)
    t.same(
      book.pages.map(({ width, height, isBlank = false }) => [width, height, isBlank]),
      [
        [60, 90, false],
        [60, 90, true],
        [50, 100, false],
      ],
    )
  }
  const first = await analyze(blankBook([body(''), tall, body('')]))
  t.same(
    first.pages.map(({ width, height }) => [width, height]),
    [
      [50, 100],
      [50, 100],
      [50, 100],
    ],
  )
  t.equal((await analyze(blankBook([small, tall, small, tall, body('<p>Printed by somebody</p>')]))).pageSource, 'zip', 'an imprint')
  const texts: Record<string, Buffer> = {
    'not fixed': blankBook([small, body(''), tall], { fixed: false }),
    'as many pages of words as pictures': blankBook([small, body('<p>Words</p>'), tall, body('<p>Words</p>')]),
    'a picture by a style sheet': blankBook([small, body('<div class="a"/>', linked)], { css: '.a { background-image: url(i0.jpg) }' }),
    'a picture by a style': blankBook([small, body('<div style="background: url(i0.jpg)"/>')]),
    'a drawing': blankBook([small, body('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>')]),
    'no picture at all': blankBook([body(''), body('')]),
  }
  for (const [name, bytes] of Object.entries(texts))
    t.same([(await analyze(bytes)).pageSource, (await analyze(bytes)).pages], ['none', []], name)
})
