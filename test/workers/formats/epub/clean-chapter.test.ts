import fc from 'fast-check'
import t from 'tap'
import { onlyCost } from '#test/support/lane-size.ts'
import { findDangers } from '#test/support/markup-check.ts'
import { assertInTime } from '#test/support/timed-property.ts'
import { cleanChapter } from '#workers/formats/epub/clean-chapter.ts'

t.setTimeout(120_000)

const XHTML = 'application/xhtml+xml'

function clean(text: string | Uint8Array, mediaType = XHTML, isFlowing = false): string {
  const outcome = cleanChapter({ bytes: typeof text === 'string' ? Buffer.from(text) : text, mediaType, isFlowing })
  return 'bytes' in outcome ? Buffer.from(outcome.bytes).toString() : `refused: ${outcome.problem.message}`
}
const page = (body: string) => `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>A</title></head><body>${body}</body></html>`
/** What remains of the body. */
const body = (text: string) => /<body[^>]*>([\s\S]*)<\/body>/.exec(clean(page(text)))?.[1]

t.test('what a chapter contains for readers remains as it was', async (t) => {
  const chapter =
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="ja" xml:lang="ja" dir="rtl"><head>' +
    '<title>A &amp; B</title><meta name="viewport" content="width=600,height=800"/><link rel="stylesheet" type="text/css" href="../a%20b.css"/>' +
    '<link rel="alternate stylesheet" title="Night" href="n.css"/><style>p &gt; b { color: red }</style></head>' +
    '<body epub:type="bodymatter" id="é"><p class="a &quot;b&quot;" style="color: red">One<br/><i>two</i> &lt;three&gt; 𝒳</p>' +
    '<img src="a.png" alt=""/><img src="data:image/png;base64,AA==" alt=""/><a href="c2.xhtml#n1" epub:type="noteref">1</a>' +
    '<a href="https://example.org/">x</a><a href="mailto:a@example.org">y</a><video src="f.mp4" controls=""></video>' +
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 1 1"><image xlink:href="b.png"></image></svg>' +
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>x</mi></math><ruby>漢<rt>kan</rt></ruby></body></html>'
  t.equal(clean(chapter), chapter)
  t.equal(clean(`\uFEFF<?xml version="1.0"?>\r\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">\r\n${chapter}`), chapter)
  t.equal(clean(Buffer.from(`\uFEFF${chapter}`, 'utf16le')), chapter)
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"><animate attributeName="r" to="2"></animate></circle></svg>'
  t.equal(clean(svg, 'image/svg+xml'), svg)
  const styled = '<?xml-stylesheet href="a.css" type="text/css"?>'
  t.equal(clean(`<?xml version='1.0'?>${styled}${svg}`, 'image/svg+xml'), styled + svg)
})

t.test('what could run, send or contact another site is removed', async (t) => {
  const cases: [given: string, remains: string][] = [
    ['<script>alert(1)</script>', ''],
    ['<script><![CDATA[</script><p>]]></script>', ''],
    ['<SCRIPT src="a.js"/><ScRiPt>x</ScRiPt>', ''],
    ['<h:script xmlns:h="http://www.w3.org/1999/xhtml">x</h:script>', ''],
    [
      '<svg:svg xmlns:svg="http://www.w3.org/2000/svg"><svg:script>x</svg:script></svg:svg>',
      '<svg:svg xmlns:svg="http://www.w3.org/2000/svg"></svg:svg>',
    ],
    ['<s<script>x</script>cript>', 'xcript&gt;'],
    ['<p onclick="a" ONLOAD="b" x:onfocus="c" xmlns:x="d" on="e">1</p>', '<p xmlns:x="d">1</p>'],
    ['<!-- <script>x</script> --><?php echo 1 ?><![CDATA[<script>]]>', '&lt;script&gt;'],
    ['&lt;script&gt; &#60;b&#x3e; &amp;lt;', '&lt;script&gt; &lt;b&gt; &amp;lt;'],
    ['&script; &#0; &#xD800; \u0001', '&amp;script; \uFFFD \uFFFD '],
    ['<iframe src="/admin" srcdoc="x">x</iframe><embed src="a"/>1<frame/>', '1'],
    ['<object data="a.swf"><param name="a"/><p>instead</p></object>', '<p>instead</p>'],
    [
      '<form action="/api/v1/x" method="post"><p>Name <input formaction="y"/></p><button formaction="z">Go</button></form>',
      '<p>Name </p>Go',
    ],
    ['<base href="//stranger/"/><p xml:base="//stranger/">1</p>', '<p>1</p>'],
    ['<link rel="preconnect" href="//stranger"/><link rel="stylesheet dns-prefetch" href="//stranger"/>', ''],
    ['<LINK REL="prefetch" href="a"/><link href="a"/><link rel="stylesheet" href="//stranger/a.css"/>', '<link rel="stylesheet"/>'],
    [
      '<meta http-equiv="refresh" content="0;url=//stranger"/><meta name="viewport" http-equiv="refresh" content="0"/>',
      '<meta name="viewport" content="0"/>',
    ],
    ['<a href="javascript:x">1</a><a href=" java&#10;script:x">2</a><a href="&#9; JaVaScRiPt:x">3</a>', '<a>1</a><a>2</a><a>3</a>'],
    ['<a href="data:text/html,x" ping="/x" target="_top">1</a><a href="blob:x">2</a>', '<a>1</a><a>2</a>'],
    ['<img src="http://stranger/a.png" srcset="//stranger/b 1x"/><img src="\\\\stranger\\a" attributionsrc=""/>', '<img/><img/>'],
    ['<video poster="//stranger/a" src="https://stranger/b"></video>', '<video></video>'],
    [
      '<svg xmlns="s"><a><set attributeName="href" to="javascript:x"/><animate attributeName="xlink:href" values="x"/></a></svg>',
      '<svg xmlns="s"><a></a></svg>',
    ],
    [
      '<svg xmlns="s"><use href="data:image/svg+xml,x"/><foreignObject><script/></foreignObject></svg>',
      '<svg xmlns="s"><use></use><foreignObject></foreignObject></svg>',
    ],
    ['<template><img onerror="x"/></template><noscript><p>2</p></noscript>', '<p>2</p>'],
  ]
  for (const [given, remains] of cases) t.equal(body(given), remains, given)
  const xsl = '<?xml-stylesheet href="a.xsl" type="text/xsl"?><?xml-stylesheet href="//stranger/a.css" type="text/css"?>'
  t.equal(clean(`${xsl}<svg xmlns="s"/>`, 'image/svg+xml'), '<svg xmlns="s"></svg>')
  t.equal(
    clean('<!DOCTYPE p [<!ENTITY x "<script>1</script>"><!ENTITY y SYSTEM "//stranger">]><p>&x;&y;</p>', 'text/xml'),
    '<p>&amp;x;&amp;y;</p>',
  )
})

t.test('a chapter that is not well-formed is shown as far as it can be understood', async (t) => {
  const cases: [given: string, remains: string][] = [
    ['<p>One<br>two</p><hr>3', '<p>One<br/>two</p><hr/>3'],
    ['<p><b>One</p>two</i>', '<p><b>One</b></p>two'],
    ['<p>Salt & Pepper &nbsp;&alpha;&rarr;</p>', '<p>Salt &amp; Pepper \u00A0α→</p>'],
    ['<p class=a data-x>1</p>', '<p class="a" data-x="">1</p>'],
    ['<p id="1" id="2">1</p>', '<p id="1">1</p>'],
    ['<o:p>1</o:p><p o:x="2" epub:type="z">2</p>', '1<p xmlns:epub="http://www.idpf.org/2007/ops" epub:type="z">2</p>'],
    ['<p xmlns:a="u" xmlns:b="u" a:x="1" b:x="2" xmlns:c="" c:x="3">1</p>', '<p xmlns:a="u" xmlns:b="u" a:x="1">1</p>'],
    ['<p 1="a" x"y="b" é="c">1</p>', '<p>1</p>'],
  ]
  for (const [given, remains] of cases) t.equal(body(given), remains, given)
  t.match(clean(`${page('<p>1</p>')}<p>2</p>`), /<p>1<\/p><\/body><p>2<\/p><\/html>$/, 'joined files are one document')
  t.match(clean('<html><body><p>1'), /^<html xmlns="http:\/\/www.w3.org\/1999\/xhtml"><body><p>1<\/p><\/body><\/html>$/)
  const html = '<HTML><BODY><P>One<P>Two &copy; &rarr;<IMG SRC=a.png><SVG viewBox="0 0 1 1"></SVG><script>1</script></BODY></HTML>'
  t.match(clean(html, 'text/html'), /<p>One<\/p><p>Two © →<img src="a.png"\/><svg xmlns="[^"]*"/)
  t.match(
    clean('Text <p>1<p>2', 'text/html'),
    /<html xmlns="[^"]*"><head><title><\/title><\/head><body><p>1<\/p><p>2<\/p><\/body><\/html>$/,
  )
})

t.test('a chapter of a text that flows has a body, whatever its root is', async (t) => {
  const SVG = 'xmlns="http://www.w3.org/2000/svg"'
  const cases: [mediaType: string, given: string, remains: string][] = [
    ['image/svg+xml', `<svg ${SVG} viewBox="0 0 2 3"><script/><text>A</text></svg>`, `<svg ${SVG} viewBox="0 0 2 3"><text>A</text></svg>`],
    ['image/svg+xml', `<svg ${SVG} width="20px" height="30.5"/>`, `<svg ${SVG} width="20px" height="30.5" viewBox="0 0 20 30.5"></svg>`],
    ['image/svg+xml', `<svg ${SVG} width="100%" height="30"/>`, `<svg ${SVG} width="100%" height="30"></svg>`],
    ['application/x-dtbook+xml', '<dtbook xmlns="d"><book><p>A</p></book></dtbook>', '<dtbook xmlns="d"><book><p>A</p></book></dtbook>'],
    ['application/xml', '<story onload="x">A<base/></story>', '<story>A</story>'],
  ]
  for (const [mediaType, given, remains] of cases) {
    const outcome = cleanChapter({ bytes: Buffer.from(`<?xml version="1.0"?>${given}`), mediaType, isFlowing: true })
    t.match(outcome, { mediaType: XHTML }, given)
    const html = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title></title></head><body>'
    t.equal(clean(given, mediaType, true), `${html}${remains}</body></html>`, given)
  }
  const whole = page('<p>A</p>')
  for (const mediaType of [XHTML, 'text/xml']) t.equal(clean(whole, mediaType, true), whole, mediaType)
})

t.test('a chapter that cannot be cleaned is refused with the reason', async (t) => {
  t.equal(clean(''), 'refused: It has no element that can be shown.')
  t.equal(clean('<script>1</script> text'), 'refused: It has no element that can be shown.')
  t.equal(clean('<!DOCTYPE html [ <p>1</p>'), 'refused: Its DOCTYPE is not closed.')
  t.match(clean(page(`${'<i>'.repeat(500)}1`)), '<i>1</i>')
  t.equal(clean('<i>'.repeat(513)), 'refused: Its elements are nested more than 512 deep.')
  t.equal(clean(page('<i/>'.repeat(600_000))), 'refused: It has more than 600000 elements and attributes.')
})

const FRAGMENTS = [
  ...[
    '<',
    '>',
    '</',
    '/>',
    '"',
    "'",
    '=',
    ' ',
    '&',
    ';',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?',
    '?>',
    '<!DOCTYPE x [',
    ']>',
    '\0',
    '\n',
    'é',
    '\u{1F600}',
  ],
  ...[
    '<html>',
    '</html>',
    '<body>',
    '<p>',
    '</p>',
    '<br>',
    '<svg xmlns="http://www.w3.org/2000/svg">',
    '</svg>',
    '<a',
    '<img',
    '<link',
    '<meta',
  ],
  ...[
    '<script>',
    '</script>',
    '<x:script xmlns:x="http://www.w3.org/1999/xhtml">',
    '<iframe',
    '<form>',
    '<object',
    '<base',
    '<set',
    '<animate',
    '<style>',
  ],
  ...[
    ' href="javascript:x"',
    ' xlink:href=" javascript:x"',
    ' src="//stranger/"',
    ' src=\\\\stranger',
    ' rel="preconnect"',
    ' rel=stylesheet',
  ],
  ...[
    ' onload="x"',
    ' ONCLICK=x',
    ' x:onload="y"',
    ' xmlns:x="u"',
    ' xmlns=""',
    ' xmlns:xml="u"',
    ' xml:base="//x"',
    ' attributeName="href"',
  ],
  ...[
    ' srcdoc="<script>"',
    ' formaction=x',
    ' http-equiv="refresh"',
    '&lt;script&gt;',
    '&#60;script&#62;',
    '&#x3c;',
    'java&#10;script:',
    '&x;',
  ],
]

t.test('no text makes the result malformed or dangerous', async (t) => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ maxLength: 5, unit: 'binary' })), { maxLength: 40 })
  let shown = 0
  assertInTime(
    fc.property(
      texts,
      fc.constantFrom(XHTML, 'text/html', 'image/svg+xml', 'text/xml'),
      fc.boolean(),
      fc.boolean(),
      (parts, mediaType, inPage, isFlowing) => {
        const text = inPage ? page(parts.join('')) : parts.join('')
        const outcome = cleanChapter({ bytes: Buffer.from(text), mediaType, isFlowing })
        if ('problem' in outcome) return outcome.problem.type === 'parser'
        shown++
        const again = cleanChapter({ bytes: outcome.bytes, mediaType: outcome.mediaType })
        if (!('bytes' in again) || !Buffer.from(again.bytes).equals(Buffer.from(outcome.bytes))) throw new Error('the second time differs')
        const dangers = findDangers(outcome.bytes)
        if (dangers.length > 0) throw new Error(dangers.join(', '))
        return true
      },
    ),
    { numRuns: 3_000 },
  )
  t.ok(shown > 500, 'most texts are shown')
})

t.test('markup of any kind takes time in proportion to its size', onlyCost, async (t) => {
  const units = [
    '</a>',
    '&amp;',
    '<',
    '<![CDATA[',
    '<!--',
    '<?x ',
    '<a ',
    'a="',
    "<a b='<",
    '<script/>',
    '<?xml-stylesheet href="',
    '&#x',
    ' \u0001',
    '<a/>',
  ]
  for (const unit of units)
    for (const mediaType of [XHTML, 'text/html']) {
      const begun = process.cpuUsage()
      clean(`<html>${unit.repeat(500_000 / unit.length)}`, mediaType)
      const { user, system } = process.cpuUsage(begun)
      // Half a megabyte takes some 0.3 s at most; what is quadratic takes minutes.
      t.ok(user + system < 15_000_000, `${unit} ${mediaType} takes ${Math.round((user + system) / 1000)} ms`)
    }
})
