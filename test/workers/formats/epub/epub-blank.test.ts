import t from 'tap'
import { analyzeBytes as analyze, coloredPicture as picture } from '#test/support/epub-analysis.ts'
import type { EpubFiles } from '#test/support/epub-builder.ts'
import { buildFixedLayoutEpub as blankBook, xhtmlPage as page } from '#test/support/fixed-layout-epub.ts'

const linked = '<link rel="stylesheet" href="style.css"/>'
const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 90">${content}</svg>`

t.test('a page without a picture in a fixed-layout book is a blank page of the size of its spread', async (t) => {
  const [small, tall] = [await picture('red', 60, 90), await picture('blue', 50, 100)]
  for (const blank of [
    '',
    '<div class="blank"></div>',
    '<p>&#160;</p>',
    '<svg xmlns="http://www.w3.org/2000/svg"><title>Blank</title></svg>',
  ]) {
    const css = '@font-face { src: url(a.otf) } p { color: red }'
    const book = await analyze(blankBook([small, page(blank, linked), tall], { files: { 'style.css': css } }))
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
  const first = await analyze(blankBook([page(''), tall, page('')]))
  t.same(
    first.pages.map(({ width, height }) => [width, height]),
    [
      [50, 100],
      [50, 100],
      [50, 100],
    ],
  )
  t.equal((await analyze(blankBook([small, tall, small, tall, page('<p>Printed by somebody</p>')]))).pageSource, 'zip', 'an imprint')
  const texts: Record<string, Buffer> = {
    'not fixed': blankBook([small, page(''), tall], { metadata: '' }),
    'as many pages of words as pictures': blankBook([small, page('<p>Words</p>'), tall, page('<p>Words</p>')]),
    'a drawing': blankBook([small, page(svg('<path d="M0 0"/>')), tall]),
    'no picture at all': blankBook([page(''), page('')]),
  }
  for (const [name, bytes] of Object.entries(texts))
    t.same([(await analyze(bytes)).pageSource, (await analyze(bytes)).pages], ['none', []], name)
})

/** The source of the pages of a book with one page between two pictures. */
async function sourceWith(between: string, files: EpubFiles = {}): Promise<string> {
  const red = await picture('red')
  return (await analyze(blankBook([red, between, red], { files: { 'c.jpg': red, ...files } }))).pageSource
}

t.test('a style sheet of the whole book leaves a page blank unless a rule with a picture may be for that page', async (t) => {
  const blank = '<body id="p9" class="page blank"><div class="empty" title="cover"></div></body>'
  const others = [
    '@namespace epub url(http://www.idpf.org/2007/ops);',
    '@namespace epub "http://www.idpf.org/2007/ops"; @import url(c.jpg); @charset "utf-8";',
    '@font-face { font-family: x; src: url(c.jpg) }',
    '/* body { background: url(c.jpg) } */',
    '/* not closed: body { background: url(c.jpg) }',
    '.a { content: "} body { background: url(c.jpg) }" }',
    '.cover { background: url(c.jpg) }',
    'body .cover, #cover, section, div#cover.empty, div.page { background: #fff URL( "c.jpg" ) no-repeat }',
    'body.cover::before { content: url(c.jpg) }',
    'div.empty > img, body.blank + figure { background-image: linear-gradient(red, blue) }',
    'ul { list-style-image: url(c.jpg) } svg|image { background: url(c.jpg) }',
    'body[epub|type~="cover"], body[epub\\:type="cover"], [id=cover], [title^=front], [lang] { background: url(c.jpg) }',
    'body:not(.blank), :is(.cover, #cover) { background: url(c.jpg) }',
    '@media screen { .cover { background: url(c.jpg) } }',
    '@media amzn-kf8, print { body { background: url(c.jpg) } }',
    '@page { background: url(c.jpg) }',
    'body { cursor: url(c.jpg), auto; clip-path: url(#c) }',
    'body { background: url(missing.jpg) } div { background: url(data:image/gif;base64,R0lGODlhAQABAAAAACw=) }',
    '.outer { .page { background: url(c.jpg) } }',
    '<!-- .cover { background: url(c.jpg) } -->',
  ]
  for (const css of others) {
    t.equal(await sourceWith(page(blank, linked), { 'style.css': css }), 'zip', css)
    t.equal(await sourceWith(page(blank, `<style><![CDATA[${css}]]></style>`)), 'zip', `in the page: ${css}`)
  }
  const own = [
    '.blank { background-image: url(c.jpg) }',
    'body{margin:0}div.empty{color:red;background:white url( "c.jpg" )}',
    '/* a */ #p9 > .empty::before, .cover { content: url(c.jpg) }',
    '.a { color: "red;}" } * { background: url(c.jpg) }',
    '@media only screen { html .page:first-child { background: -webkit-linear-gradient(red, blue) } }',
    'body:not(.cover) { background: image-set("c.jpg" 1x) }',
    ':is(.cover, .blank) > div { border-image: url(c.jpg) 3 }',
    '[title="cover"], [id=p1] { background: url(c.jpg) }',
    '.page { & .empty { background: url(c.jpg) } }',
    'div { background: url(c.jpg)',
  ]
  for (const css of own) {
    t.equal(await sourceWith(page(blank, linked), { 'style.css': css }), 'none', css)
    t.equal(await sourceWith(page(blank, `<style><![CDATA[${css}]]></style>`)), 'none', `in the page: ${css}`)
  }
  t.equal(
    await sourceWith(page(blank, linked), { 'style.css': `p { color: red }${' '.repeat(300_000)}` }),
    'none',
    'a sheet too long to be read',
  )
  t.equal(await sourceWith(page(blank, '<link rel="alternate stylesheet" href="style.css"/>'), { 'style.css': own[0] as string }), 'zip')
  t.equal(
    await sourceWith(page(blank, '<link rel="stylesheet" media="print" href="style.css"/>'), { 'style.css': own[0] as string }),
    'zip',
  )
  t.equal(await sourceWith(page('<div style="background: url(c.jpg)"/>')), 'none', 'the style of an element')
  t.equal(await sourceWith(page('<div style="cursor: url(c.jpg); background: url(missing.jpg)"/>')), 'zip', 'a style without a picture')
  const nested = `${':is('.repeat(50_000)} { background: url(c.jpg) }`
  t.equal(await sourceWith(page(blank, linked), { 'style.css': nested }), 'none', 'a selector of any depth')
  const folders = { 'css/style.css': '.blank { background: url(../c.jpg) }' }
  t.equal(await sourceWith(page(blank, '<link rel="stylesheet" href="css/style.css"/>'), folders), 'none', 'relative to the sheet')
})

t.test('shapes that cannot be seen on white leave a page blank', async (t) => {
  const unseen = [
    '<rect width="60" height="90" fill="#fff"/>',
    '<rect width="60" height="90" fill="WHITE" stroke="none"/>',
    '<rect width="60" height="90" style="fill: #FFFFFF; stroke: black; stroke-width: 0"/>',
    '<rect width="60" height="90" fill="red" style="fill:rgb(255, 255, 255)"/>',
    '<rect width="60" height="90" class="st0"/>',
    '<g fill="none"><g class="line"><path d="M0 0h60"/><circle r="3" fill="inherit"/></g></g>',
    '<rect width="60" height="90" fill="red" fill-opacity="0"/><polygon points="0,0" opacity="0.0"/>',
    '<defs><clipPath id="c"><rect width="60" height="90"/></clipPath></defs><clipPath id="d"><rect/></clipPath>',
  ]
  const css = '.st0 { fill: rgba(100%, 100%, 100%, 1) !important } .line { stroke: #ffff }'
  for (const content of unseen) t.equal(await sourceWith(page(svg(content), linked), { 'style.css': css }), 'zip', content)
  const seen = [
    '<rect width="60" height="90"/>',
    '<rect width="60" height="90" fill="#fffffe"/>',
    '<rect width="60" height="90" fill="#fff" stroke="#000"/>',
    '<rect width="60" height="90" fill="white" style="fill:rgb(255,255,25)"/>',
    '<rect width="60" height="90" fill="white" class="st1"/>',
    '<g fill="white"><rect width="60" height="90" fill="url(#gradient)"/></g>',
    '<rect width="60" height="90" fill="white"/><path d="M0 0h60"/>',
    '<use href="#white" fill="white"/>',
  ]
  for (const content of seen) t.equal(await sourceWith(page(svg(content), '<style>.st1 { fill: #000 }</style>')), 'none', content)
})
