import t from 'tap'
import { placesOfLetters } from '../../../../../web/src/pages/browse/letter-places.ts'

const groups = [
  { group: 'a', count: 2 },
  { group: 'b', count: 3 },
  { group: 'z', count: 1 },
]

t.test('letters lead to the first item of theirs, also in a list that is sorted downwards', (t) => {
  t.strictSame(
    placesOfLetters(groups, false).map(({ letter, index }) => [letter, index]),
    [
      ['A', 0],
      ['B', 2],
      ['Z', 5],
    ],
  )
  t.strictSame(
    placesOfLetters(groups, true).map(({ letter, index }) => [letter, index]),
    [
      ['Z', 0],
      ['B', 1],
      ['A', 4],
    ],
  )
  t.end()
})

t.test('a writing with thousands of signs does not make a rail of thousands of letters', (t) => {
  const many = Array.from({ length: 3_000 }, (_, index) => ({ group: String.fromCodePoint(0x4e00 + index), count: 1 }))
  t.ok(placesOfLetters(many, false).length <= 60)
  t.end()
})
