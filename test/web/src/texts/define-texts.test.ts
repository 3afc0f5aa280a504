import t from 'tap'

// Texts ask the address for the pseudo language.
Object.assign(globalThis, { location: { search: '' } })
const { defineTexts } = await import('../../../../web/src/texts/define-texts.ts')
const texts = defineTexts({ removed: '{name} is removed', books: { one: '{count} book of {name}', other: '{count} books of {name}' } })

t.test('a value that is written from right to left is isolated from its sentence', async (t) => {
  t.equal(texts.removed({ name: '\u05e9\u05dc\u05d5\u05dd (3)' }), '\u2068\u05e9\u05dc\u05d5\u05dd (3)\u2069 is removed')
  t.equal(texts.books({ count: 1200, name: '\u0628' }), '1,200 books of \u2068\u0628\u2069')
  t.equal(texts.removed({ name: 'Tide (3)' }), 'Tide (3) is removed', 'others can be searched for as they are')
})

t.test('no value ends its isolation, or turns what follows', async (t) => {
  t.equal(texts.removed({ name: 'Tide\u202e' }), '\u2068Tide\u202e\u2069 is removed')
  t.equal(texts.removed({ name: '\u2069\u202eTide' }), '\u2068\u202eTide\u2069 is removed')
  t.equal(texts.removed({ name: 'Tide\u2067' }), '\u2068Tide\u2069 is removed')
})
