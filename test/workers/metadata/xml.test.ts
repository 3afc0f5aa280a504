import t from 'tap'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import {
  childrenNamed,
  descendantsNamed,
  findDescendant,
  foldSpace,
  parseXml,
  textOf,
  XML_BYTES_MAX,
  XmlError,
} from '#workers/metadata/xml.ts'

const rootOf = (text: string) => parseXml(Buffer.from(text)).root

t.test('a tree of elements and text in document order', async (t) => {
  const root = rootOf('<a x="1"><b>one</b>two<b y=\'2\'>three<c/></b><!-- no --><?pi no?></a>')
  t.equal(root.name, 'a')
  t.equal(root.attributes.get('x'), '1')
  t.equal(textOf(root), 'onetwothree')
  t.same(childrenNamed(root, 'b').map(textOf), ['one', 'three'])
  t.same(childrenNamed(root, 'B').length, 2, 'case does not matter')
  t.equal(childrenNamed(root, 'c').length, 0, 'children only')
  t.equal(findDescendant(root, 'c')?.name, 'c')
  t.equal(findDescendant(root, 'a'), undefined, 'not the element itself')
  t.same([...descendantsNamed(root, 'b')].length, 2)
  t.equal(foldSpace(' a\n\t b  '), 'a b')
  t.equal(textOf(rootOf('<a> x </a>')), ' x ', 'white space as written')
  t.equal(textOf(rootOf('<a>a\r\nb\rc</a>')), 'a\nb\nc', 'line ends are normalized')
  t.equal(textOf(rootOf('<a>007</a>')), '007', 'numbers stay text')
})

t.test('prefixes are removed, and attributes that differ by prefix stay separate', async (t) => {
  const root = rootOf(
    '<o:p xmlns:o="urn:o" xmlns="urn:d" xml:lang="en" id="plain" o:id="prefixed"><dc:title o:role="aut">T</dc:title></o:p>',
  )
  t.equal(root.name, 'p')
  t.equal(root.prefix, 'o')
  t.equal(root.attributes.get('id'), 'plain', 'the plain attribute wins, whatever the order')
  t.equal(rootOf('<p o:id="prefixed" id="plain"/>').attributes.get('id'), 'plain')
  t.equal(root.attributes.get('lang'), 'en')
  t.notOk(root.attributes.has('o') || root.attributes.has('xmlns'), 'declarations are not attributes')
  const [title] = childrenNamed(root, 'title')
  t.equal(title?.prefix, 'dc')
  t.equal(title?.attributes.get('role'), 'aut')
})

t.test('encodings by byte order mark, first bytes, declaration and content', async (t) => {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le')
  const cases: [name: string, bytes: Buffer][] = [
    ['UTF-8', Buffer.from('<a>é€</a>')],
    ['UTF-8 with a mark', Buffer.from('\uFEFF<a>é€</a>')],
    ['UTF-16 little endian with a mark', utf16('\uFEFF<a>é€</a>')],
    ['UTF-16 big endian with a mark', utf16('\uFEFF<a>é€</a>').swap16()],
    ['UTF-16 little endian without', utf16('<a>é€</a>')],
    ['UTF-16 big endian without', utf16('<a>é€</a>').swap16()],
    ['Windows-1252, declared', Buffer.from('<?xml version="1.0" encoding="windows-1252"?><a>\xe9\x80</a>', 'latin1')],
    ['ISO 8859-1, declared, meaning Windows-1252', Buffer.from("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9\x80</a>", 'latin1')],
    ['declared UTF-8, in fact Windows-1252', Buffer.from('<?xml version="1.0" encoding="UTF-8"?><a>\xe9\x80</a>', 'latin1')],
    ['declared UTF-16, in fact UTF-8', Buffer.from('<?xml version="1.0" encoding="UTF-16"?><a>é€</a>')],
    ['declared nonsense', Buffer.from('<?xml version="1.0" encoding="klingon"?><a>é€</a>')],
    ['white space before the declaration', Buffer.from('\n  <?xml version="1.0"?><a>é€</a>')],
    ['NULs after the end', Buffer.from('<a>é€</a>\0\0\0\n')],
  ]
  for (const [name, bytes] of cases) t.equal(textOf(parseXml(bytes).root), 'é€', name)
})

t.test('references are resolved once, entities never expanded', async (t) => {
  const document = parseXml(Buffer.from('<a t="&quot;&#65;&#x42;">&lt;&amp;lt;&nbsp;&eacute;&mdash;&#0;&#xD800;<![CDATA[&amp;<x>]]></a>'))
  t.equal(document.root.attributes.get('t'), '"AB')
  t.equal(textOf(document.root), '<&lt;\u00a0é—\uFFFD\uFFFD&amp;<x>')
  t.same(document.unknownEntities, [])

  const laughs = parseXml(Buffer.from('<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;"> <!-- ]> --> ]><a d="&c;">&c;&c;</a>'))
  t.equal(textOf(laughs.root), '&c;&c;')
  t.same(laughs.unknownEntities, ['c'])

  const external = parseXml(
    Buffer.from('<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x/"> %p; <!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'),
  )
  t.equal(textOf(external.root), '&x;')
  t.equal(textOf(rootOf('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://x/y>z.dtd"><a>ok</a>')), 'ok')
  t.equal(textOf(rootOf('<a>Salt & Pepper &c. &; <![CDATA[& ]]>&</a>')), 'Salt & Pepper &c. &; & &', 'stray ampersands are forgiven')
})

t.test('refused documents, with messages', async (t) => {
  const cases: [name: string, text: string | Buffer, message: RegExp][] = [
    ['empty', '', /empty/],
    ['white space', ' \n', /empty/],
    ['an open element', '<a><b></b>', /Unclosed tag 'a'/],
    ['open elements', '<a><b><c></c>', /elements left open: a, b$/],
    ['crossed elements', '<a><b></a></b>', /^line 1: Expected closing tag 'b'/],
    ['two roots', '<a></a><b></b>', /root/],
    ['no markup', 'hello', /./],
    ['JSON', '{"a": 1}', /./],
    ['open DOCTYPE', '<!DOCTYPE a [<!ENTITY x "', /DOCTYPE is not closed/],
    ['a dangerous name', '<__proto__ x="1"/>', /./],
    ['too deep', '<a>'.repeat(300) + '</a>'.repeat(300), /nested/],
    ['too many elements', `<a>${'<b/>'.repeat(200_001)}</a>`, /more than 200000 elements/],
    ['too large', Buffer.alloc(XML_BYTES_MAX + 1, ' '), /larger than 8 MB/],
    ['a megabyte of tag', `<${'<'.repeat(1_000_000)}`, /./],
  ]
  for (const [name, text, message] of cases) {
    try {
      parseXml(Buffer.from(text))
      t.fail(`${name} was accepted`)
    } catch (error) {
      t.ok(error instanceof XmlError, `${name}: ${String(error)}`)
      t.match((error as XmlError).message, message)
      t.ok((error as XmlError).message.length <= 200, 'the message stays short')
    }
  }
  t.same(Object.keys(Object.prototype), [], 'no prototype was touched')
})

t.test('hostile documents take linear time', onlyCost, async (t) => {
  const megabyte = 1_000_000
  const shapes = {
    blanks: `<a>${' '.repeat(megabyte)}</a>`,
    'blanks at the end': `<a/>${' '.repeat(megabyte)}.`,
    'blanks in a tag': `<a ${' '.repeat(megabyte)}b="1"/>`,
    ampersands: `<a>${'&'.repeat(megabyte)}</a>`,
    'open CDATA': `<a>${'<![CDATA['.repeat(megabyte / 9)}`,
    'CDATA and ampersands': `<a>${'<![CDATA[& ]]>&'.repeat(megabyte / 15)}</a>`,
    'open comments': `<a>${'<!--'.repeat(megabyte / 4)}`,
    'entity declarations': `<!DOCTYPE a [${'<!ENTITY a "x">'.repeat(megabyte / 15)}]><a>&a;</a>`,
    'open instructions': `<?xml version="1.0"?>${'<?a '.repeat(megabyte / 4)}`,
    'open quotes': `<a ${'"'.repeat(megabyte)}`,
  }
  for (const [name, text] of Object.entries(shapes)) {
    const started = threadCpuMs()
    try {
      parseXml(Buffer.from(text))
    } catch (error) {
      t.ok(error instanceof XmlError, `${name}: ${String(error)}`)
    }
    const took = threadCpuMs() - started
    t.ok(took < 5_000, `${name}: ${took.toFixed(0)} ms`)
  }
})
