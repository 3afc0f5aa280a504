import t from 'tap'
import { byLetter, letterOf } from '../../../../../web/src/parts/names/letter-of.ts'

t.test('a name stands below its first letter, without accents and in capitals', async (t) => {
  t.same(['Éric', 'anne', ' Zoe', 'ليلى', 'Ωmega', 'ß'].map(letterOf), ['E', 'A', 'Z', 'ل', 'Ω', 'S'])
  t.same(['3 men', '', '«Q»', '🙂'].map(letterOf), ['#', '#', '#', '#'], 'what begins with no letter')
  t.same(['田中', '高橋', '김', '한'].map(letterOf), ['漢', '漢', '한', '한'], 'writings with thousands of signs have one')
})

t.test('letters keep the order in which they come first', async (t) => {
  const names = ['10', 'Anne', 'Éa', 'Eb', 'ando'].map((name) => ({ name }))
  t.same(
    [...byLetter(names)].map(([letter, entries]) => [letter, entries.length]),
    [
      ['#', 1],
      ['A', 2],
      ['E', 2],
    ],
  )
})
