import fc from 'fast-check'
import t from 'tap'
import { element, xmlDocument, xmlText } from '#api/opds/xml.ts'
import { attribute, withXml } from '#test/support/opds.ts'

/** Everything that a name in a library may hold: any UTF-16 units, halves of surrogate pairs among them, with those that XML minds more often. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom(
      '&',
      '<',
      '>',
      '"',
      "'",
      ']]>',
      '\u0000',
      '\u0008',
      '\t',
      '\n',
      '\r',
      '\r\n',
      '\u0085',
      '\ud800',
      '\udfff',
      '\ufffe',
      '\ufdd0',
    ),
    fc.constantFrom('漫画', '🐉', '\u{1fffe}', 'a', ' '),
  ),
  maxLength: 60,
})

t.test('any text comes back from a parser as it was, less what XML cannot hold', async (t) => {
  fc.assert(
    fc.property(anyText, anyText, (text, value) => {
      const bytes = xmlDocument(element('a', { b: value }, [element('c', {}, [text]), element('d'), null, text]))
      withXml(bytes, (root) => {
        t.equal(root.content, xmlText(text) + xmlText(text))
        t.equal(attribute(root, 'b'), xmlText(value))
      })
    }),
    { numRuns: 300 },
  )
})

t.test('what is left out, and what is not', async (t) => {
  t.equal(xmlText('a\u0000b\u001fc\u007fd\u009fe\ud800f\udc00g\uffffh\ufdd0i\u{1ffff}j'), 'abcdefghij')
  const kept = 'Ætt "1" – 漫画 🐉\t\n\u00a0\ue000 <&>'
  t.equal(xmlText(kept), kept)
  fc.assert(fc.property(anyText, (text) => xmlText(xmlText(text)) === xmlText(text) && xmlText(text).isWellFormed()))
})

t.test('elements and attributes that are not there', async (t) => {
  const bytes = xmlDocument(element('a', { b: null, c: undefined, d: 0, e: '' }, [null, '']))
  t.equal(bytes.toString(), '<?xml version="1.0" encoding="UTF-8"?>\n<a d="0" e=""/>\n')
})
