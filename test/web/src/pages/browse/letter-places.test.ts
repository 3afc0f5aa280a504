import t from 'tap'
import { placesOfLetters } from '../../../../../web/src/pages/browse/letter-places.ts'

const groups = [
  { group: 'a', count: 2 },
  { group: 'b', count: 3 },
  { group: 'z', count: 1 },
]

t.test('letters lead to the first item of theirs, also in a list that is sorted downwards', (t) => {
  t.strictSame(
    placesOfLetters(groups, false, 800).map(({ letter, index }) => [letter, index]),
    [
      ['A', 0],
      ['B', 2],
      ['Z', 5],
    ],
  )
  t.strictSame(
    placesOfLetters(groups, true, 800).map(({ letter, index }) => [letter, index]),
    [
      ['Z', 0],
      ['B', 1],
      ['A', 4],
    ],
  )
  t.end()
})

t.test('letters that would be too small to hit are left out evenly', (t) => {
  const many = Array.from({ length: 3_000 }, (_, index) => ({ group: String.fromCodePoint(0x4e00 + index), count: 1 }))
  const shown = placesOfLetters(many, false, 800)
  t.equal(shown.length, 28, '24 pixels for each')
  t.same([shown[0]?.index, shown.at(-1)?.index], [0, 2_999], 'the first and the last are there')
  t.equal(new Set(shown).size, 28)
  t.same(
    placesOfLetters(groups, false, 100).map(({ letter }) => letter),
    ['A', 'Z'],
    'a window without room',
  )
  t.end()
})
