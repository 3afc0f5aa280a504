import t from 'tap'
import { HtmlError, parseHtml } from '../../plugin-sdk/html.ts'

const PAGE = `<!doctype html><html><head><title>Shop &mdash; Dune</title><style>.a{}</style></head><body>
  <div class="book" data-ID=7><h1>Dune <small>(1965)</small></h1>
    <p>Sand&nbsp;and   <b>spice</b>.<br>And worms.<p>Never &lt;closed&gt;
    <ul><li><a href="/a?x=1&amp;y=2">A</a><li><a HREF="/b">B</a></ul>
    <table><tr><th>Pages<td>412<tr><th>Year<td>1965</table>
    <script>document.write("<p>no</p>")</script><template><i>no</i></template></div></body></html>`

t.test('elements are found by selectors', async (t) => {
  const page = parseHtml(PAGE)
  t.same(
    page.select('li > a').map((link) => [link.attribute('href'), link.text]),
    [
      ['/a?x=1&y=2', 'A'],
      ['/b', 'B'],
    ],
  )
  const book = page.first('div.book[data-id="7"]')
  t.equal(book?.name, 'div')
  t.same(book?.attributes, { class: 'book', 'data-id': '7' })
  t.equal(book?.attribute('DATA-ID'), '7')
  t.equal(book?.attribute('toString'), null)
  t.equal(book?.first('table tr:nth-child(2) td')?.text, '1965')
  t.same(
    book?.children.map(({ name }) => name),
    ['h1', 'p', 'p', 'ul', 'table', 'script', 'template'],
    'unclosed elements end where others begin',
  )
  t.equal(page.first('b')?.parent?.name, 'p')
  t.equal(page.first('html')?.parent, null)
  t.ok(page.first('b')?.matches('p > b'))
  t.notOk(page.first('b')?.matches('div'))
  t.equal(page.first('video'), null)
  t.same(page.select('video'), [])
  t.equal(page.select('th:contains("Year") + td')[0]?.text, '1965')
})

t.test('text is the visible text', async (t) => {
  const page = parseHtml(PAGE)
  t.equal(page.first('.book')?.text, 'Dune (1965)\nSand and spice.\nAnd worms.\nNever <closed>\nA\nB\nPages 412\nYear 1965')
  t.equal(page.first('title')?.text, 'Shop — Dune')
  t.equal(parseHtml('').text, '')
  t.equal(parseHtml('just text &amp; <!-- no --> more').text, 'just text & more')
  t.equal(parseHtml('<b>a</b><i>b</i> <u>c</u>').text, 'ab c')
})

t.test('broken pages are parsed as far as possible', async (t) => {
  for (const text of ['<', '<<<>', '<a', '<a b', '<a b="', '</p></p>', '<!--', '<![CDATA[', '&#x;', '&#xffffffff;', '\0', '<p>\ud800'])
    t.type(parseHtml(`${text}`).text, 'string', JSON.stringify(text))
  t.equal(parseHtml('</div></div></div>'.repeat(1_000) + '<p>x').text, 'x', 'more end tags than start tags')
})

t.test('everything has a limit', async (t) => {
  t.throws(() => parseHtml('x'.repeat(5 * 1024 * 1024 + 1)), { name: 'HtmlError', message: /5242881 characters; the limit is 5242880/ })
  t.throws(() => parseHtml('<i></i>'.repeat(50_001)), { name: 'HtmlError', message: /more than 50000 elements/ })
  t.throws(() => parseHtml('<div>'.repeat(501)), HtmlError)
  const attributes = (count: number) => Array.from({ length: count }, (_, n) => `a${n}=x`).join(' ')
  t.throws(() => parseHtml(`<p ${attributes(200_001)}>`), { name: 'HtmlError', message: /more than 200000 attributes/ })
  t.equal(
    parseHtml(`<p ${attributes(1_000)}>`)
      .first('p')
      ?.attribute('a999'),
    'x',
  )
  t.equal(parseHtml(`a${'<!-- x -->'.repeat(200_000)}b`).text, 'ab', 'comments are not kept')
  const deep = parseHtml('<div>'.repeat(500) + 'x')
  t.equal(deep.text, 'x')
  t.equal(deep.select('div div').length, 499)
  t.throws(() => deep.select(`a${' a'.repeat(1_000)}`), /at most 1000 characters/)
  t.throws(() => deep.select('a['), Error, 'no selector')
  t.equal(parseHtml('<p>x'.repeat(20_000)).select('p').length, 20_000, 'a paragraph ends where the next begins, so they are not nested')
})
