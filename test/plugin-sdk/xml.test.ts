import t from 'tap'
import { parseXml } from '../../plugin-sdk/xml.ts'

const FEED = `\ufeff<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE feed [<!ENTITY lol "ha"><!ENTITY lol2 "&lol;&lol;&lol;"><!ENTITY file SYSTEM "file:///etc/passwd">]>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/terms/">
  <title>Books</title>
  <entry n="1 &amp; 2"><dc:title> Dune &#x26; co &lt;b&gt; <![CDATA[<i>&amp;</i>]]> </dc:title><author><name>Frank</name></author><author><name>Brian</name></author></entry>
  <entry toString="x"><summary type="xhtml"><div>Sand <b>and</b> spice</div></summary></entry>
  <entities>&lol2;&file;&nbsp;&#0;&#xD800;&AMP;</entities>
</feed>`

t.test('a document is a tree of elements', async (t) => {
  const feed = parseXml(FEED)
  t.equal(feed.name, 'feed')
  t.equal(feed.attribute('xmlns'), 'http://www.w3.org/2005/Atom')
  t.equal(feed.all('entry').length, 2)
  const [first, second] = feed.all('entry')
  t.equal(first?.attribute('n'), '1 & 2')
  t.equal(first?.first('dc:title')?.text, 'Dune & co <b> <i>&amp;</i>')
  t.same(
    first?.all('author').map((author) => author.first('name')?.text),
    ['Frank', 'Brian'],
  )
  t.equal(feed.first('entry', 'author', 'name')?.text, 'Frank', 'the first at each level')
  t.equal(feed.first('entry', 'nobody', 'name'), null)
  t.equal(second?.first('summary')?.text, 'Sand and spice', 'inner markup is dropped')
  t.equal(second?.attribute('toString'), 'x')
  t.same(Object.keys(second?.attributes ?? {}), ['toString'])
  t.equal(first?.attribute('constructor'), null)
  t.same(
    feed.children.map(({ name }) => name),
    ['title', 'entry', 'entry', 'entities'],
  )
})

t.test('entities of a DOCTYPE are not expanded, and nothing is fetched', async (t) => {
  t.equal(parseXml(FEED).first('entities')?.text, '&lol2;&file;&nbsp;\ufffd\ufffd&AMP;')
  t.equal(parseXml('<?a ?> <!-- <!DOCTYPE no> --> <!DOCTYPE a><a>&b;</a>').text, '&b;')
  const bomb = `<!DOCTYPE a [<!ENTITY a "${'x'.repeat(1_000)}">${Array.from({ length: 9 }, (_, n) => `<!ENTITY ${'b'.repeat(n + 1)} "${`&${n === 0 ? 'a' : 'b'.repeat(n)};`.repeat(10)}">`).join('')}]><a>&bbbbbbbbb;</a>`
  t.equal(parseXml(bomb).text, '&bbbbbbbbb;')
})

t.test('malformed documents are refused with the reason', async (t) => {
  const wrong: [text: string, message: RegExp][] = [
    ['', /Start tag expected/],
    ['text', /Line 1/],
    ['<a>', /a/],
    ['<a><b></a></b>', /Expected closing tag 'b'/],
    ['<a/><b/>', /second root element, b/],
    ['<a b=c/>', /b/],
    ['<a x="1" x="2"/>', /repeated/],
    ['<!DOCTYPE a [<!ENTITY b "]>"> <!-- ]> --> <a/>', /DOCTYPE is not closed/],
  ]
  for (const [text, message] of wrong) t.throws(() => parseXml(text), { name: 'XmlError', message }, text)
  t.ok(String(t.throws(() => parseXml(`<a>${'<b>'.repeat(50)}${'x'.repeat(100_000)}</a>`))).length < 400, 'the message is short')
})

t.test('everything has a limit', async (t) => {
  t.throws(() => parseXml(`<a>${'x'.repeat(5 * 1024 * 1024)}</a>`), { name: 'XmlError', message: /the limit is 5242880/ })
  t.throws(() => parseXml(`<a>${'<b/>'.repeat(50_000)}</a>`), { message: /more than 50000 elements/ })
  t.equal(parseXml(`<a>${'<b/>'.repeat(49_999)}</a>`).children.length, 49_999)
  t.throws(() => parseXml(`<a>${'<![CDATA[x]]>'.repeat(120_000)}</a>`), { name: 'XmlError', message: /more than 120000 tags/ })
  t.equal(parseXml(`<a>${'<![CDATA[x]]>'.repeat(10_000)}</a>`).text.length, 10_000)
  t.throws(() => parseXml(`${'<a>'.repeat(200)}${'</a>'.repeat(200)}`), { name: 'XmlError' })
})

t.test('no element name changes prototypes', async (t) => {
  const root = parseXml('<a><toString>2</toString><hasOwnProperty x="3"/><valueOf/></a>')
  t.equal(root.first('toString')?.text, '2')
  t.equal(root.first('hasOwnProperty')?.attribute('x'), '3')
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    t.throws(() => parseXml(`<a><${name} polluted="x"><polluted>1</polluted></${name}></a>`), { name: 'XmlError' }, name)
    t.throws(() => parseXml(`<a ${name}="x"/>`), { name: 'XmlError' }, `${name} as an attribute`)
  }
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})
