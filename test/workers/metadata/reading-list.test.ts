import fc from 'fast-check'
import t from 'tap'
import { READING_LIST_ENTRIES_MAX, type ReadingList } from '#core/shelves/reading-list.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'
import { readReadingList } from '#workers/metadata/reading-list.ts'

const read = (text: string | Buffer) => readReadingList(Buffer.from(text as string)) as ReadingList
const refused = (text: string | Buffer) => (readReadingList(Buffer.from(text as string)) as { refused: string }).refused
const list = (books: string, name = '<Name>Event</Name>') => `<ReadingList>${name}<Books>${books}</Books></ReadingList>`

t.test('lists as programs write them', async (t) => {
  const written = `<?xml version="1.0" encoding="utf-8"?>
    <ReadingList xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
      <Name>Blackest Night</Name>
      <NumIssues>2</NumIssues>
      <Books>
        <Book Series="Green Lantern" Number="43" Volume="2005" Year="2009" Format="Main Series">
          <Id>0c1a7a8e-9cb5-4c1f-8c5f-0d4f3b0b1a11</Id>
          <Database Name="cv" Series="18216" Issue="160294" />
        </Book>
        <Book Series="Blackest Night" Number="0.5"/>
      </Books>
      <Matchers />
    </ReadingList>`
  const expected = {
    name: 'Blackest Night',
    entries: [
      { series: 'Green Lantern', number: '43', volume: '2005', year: '2009' },
      { series: 'Blackest Night', number: '0.5', volume: '', year: '' },
    ],
  }
  t.same(read(written), expected)
  t.same(read(written.replaceAll('\n', '\r\n')), expected, 'line ends of Windows')
  t.same(read(`\ufeff${written}`), expected, 'a byte order mark')
  const utf16 = Buffer.from(`\ufeff${written.replace('utf-8', 'utf-16')}`, 'utf16le')
  t.same(read(utf16), expected, 'UTF-16')
  t.same(read(Buffer.from(utf16).swap16()), expected, 'UTF-16, big endian')
  t.same(
    read(written.replaceAll(/(<\/?)(ReadingList|Name|Books?)\b/g, (_, open, name: string) => open + name.toLowerCase())),
    expected,
    'lower case',
  )
  t.same(read(written.replaceAll(/\b(Series|Number|Volume|Year)=/g, (word) => word.toLowerCase())), expected, 'also of the attributes')
  t.same(read(written.replace('<ReadingList ', '<ReadingList xmlns="urn:cbl" ')), expected, 'with a name space')
})

t.test('entities and white space in text', async (t) => {
  const first = (attributes: string) => read(list(`<Book ${attributes}/>`)).entries[0]
  t.match(first('Series="Law &amp; Order &#38; &lt;b&gt; &quot;x&quot; &#x2019;"'), { series: 'Law & Order & <b> "x" ’' })
  t.match(first("Series='single \"quotes\"' Number=' 1A '"), { series: 'single "quotes"', number: '1A' }, 'no space around')
  t.match(first('Series="A & B"'), { series: 'A & B' }, 'a stray ampersand is forgiven')
  t.match(first('Series="Asterix – Čapek 本 😀"'), { series: 'Asterix – Čapek 本 😀' })
  t.match(first('Number="1"'), { series: '', number: '1', volume: '', year: '' }, 'missing attributes are empty')
  t.equal(first(`Series="${'x'.repeat(1_000)}"`)?.series.length, 500)
  const cut = first(`Series="${'x'.repeat(499)}😀"`)?.series ?? ''
  t.ok(cut.isWellFormed() && cut.length <= 500, 'no half of a character')
  t.equal(read(list('', '<Name><![CDATA[A & B]]></Name>')).name, 'A & B')
  t.equal(read(list('', '<Name>\n  Two\n</Name>')).name, 'Two')
  t.equal(read(list('', '')).name, '', 'a list without a name')
  const windows = Buffer.from('<?xml version="1.0" encoding="windows-1252"?>' + list('<Book Series="Ast\xe9rix \x96 No"/>'), 'latin1')
  t.match(read(windows).entries[0], { series: 'Astérix – No' })
})

t.test('missing elements give an empty list', async (t) => {
  t.same(read('<ReadingList/>'), { name: '', entries: [] })
  t.same(read('<ReadingList><Name>None</Name></ReadingList>'), { name: 'None', entries: [] })
  t.same(read('<ReadingList><Book Series="outside"/></ReadingList>').entries, [], 'only books inside of Books count')
  t.equal(read('<ReadingList><Books><Book/></Books><Books><Book/></Books></ReadingList>').entries.length, 2)
})

t.test('other files are refused with a message', async (t) => {
  const bad = ['', ' ', 'not XML', '{"name":"x"}', '<ReadingList>', '<ReadingList><Books></ReadingList>']
  for (const text of bad) t.type(refused(text), 'string', JSON.stringify(text))
  t.type(refused(Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0])), 'string', 'a zip')
  t.match(refused('<ComicInfo/>'), /is <ComicInfo>, not <ReadingList>/)
  t.ok(refused(`<${'x'.repeat(10_000)}/>`).length < 600, 'the message quotes only the beginning')
  t.type(refused('<a>'.repeat(1_000)), 'string', 'deep')
})

t.test('entities of its own are never expanded', async (t) => {
  const bomb = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "${'&a;'.repeat(10)}"><!ENTITY x SYSTEM "file:///etc/passwd">]>`
  const found = read(bomb + list('<Book Series="&b;" Number="&x;"/>', '<Name>&x;</Name>'))
  t.notMatch(JSON.stringify(found), /aaaaaaaaaa|root:/)
})

t.test('the number of entries is limited', async (t) => {
  const book = '<Book Series="Green Lantern" Number="43" Volume="2005" Year="2009"><Id>0c1a7a8e-9cb5-4c1f-8c5f-0d4f3b0b1a11</Id></Book>'
  t.equal(read(list(book.repeat(READING_LIST_ENTRIES_MAX))).entries.length, READING_LIST_ENTRIES_MAX)
  t.equal(refused(list(book.repeat(READING_LIST_ENTRIES_MAX + 1))), `it contains more than ${READING_LIST_ENTRIES_MAX} books`)
})

t.test('a list of too many entries is refused soon', onlyCost, async (t) => {
  const started = threadCpuMs()
  t.type(refused(list('<Book Series="Green Lantern" Number="43" Volume="2005" Year="2009"/>'.repeat(10_000))), 'string')
  t.ok(threadCpuMs() - started < 5_000)
})

t.test('any bytes give an outcome', async () => {
  const piece = fc.constantFrom(
    '<ReadingList>',
    '</ReadingList>',
    '<Books>',
    '</Books>',
    '<Book Series="',
    '"/>',
    '&',
    '<',
    '\0',
    '\ud800',
    '<![CDATA[',
    'x',
  )
  assertInTime(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const answer = readReadingList(Buffer.from(pieces.join('')))
      return 'refused' in answer ? answer.refused.length > 0 : answer.entries.every(({ series }) => series.isWellFormed())
    }),
    { numRuns: 300 },
  )
})
