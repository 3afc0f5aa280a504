import t from 'tap'
import { isolate } from '../../../../web/src/texts/isolate.ts'

const english = { isRightToLeft: false }

t.test('a value that is written from right to left is isolated from its sentence', async (t) => {
  t.equal(isolate('\u05e9\u05dc\u05d5\u05dd (3)', english), '\u2068\u05e9\u05dc\u05d5\u05dd (3)\u2069')
  t.equal(isolate('\u0628', english), '\u2068\u0628\u2069')
  t.equal(isolate('\u{1e900}', english), '\u2068\u{1e900}\u2069')
  for (const value of ['Tide (3)', 'ベルセルク', 'Ж', '😀', ''])
    t.equal(isolate(value, english), value, 'others can be searched for as they are')
  t.equal(isolate('Tide (3)', { isRightToLeft: true }), '\u2068Tide (3)\u2069')
})

t.test('no value ends its isolation, or turns what follows', async (t) => {
  t.equal(isolate('Tide\u202e', english), '\u2068Tide\u202e\u2069')
  t.equal(isolate('\u2069\u202eTide', english), '\u2068\u202eTide\u2069')
  t.equal(isolate('Tide\u2067', english), '\u2068Tide\u2069')
})
