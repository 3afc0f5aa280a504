import t from 'tap'
import {
  countSelected,
  EVERYTHING,
  isSelected,
  NOTHING,
  toggled,
  withRange,
} from '../../../../../../web/src/pages/browse/selection/selection.ts'

t.test('Items are selected one by one, and a range grows and shrinks from the last one selected without shift', (t) => {
  const one = toggled(NOTHING, 'b', 1)
  t.ok(isSelected(one, 'b'))
  t.notOk(isSelected(one, 'a'))
  const long = withRange(one, ['b', 'c', 'd', 'e'], 1)
  t.same([...long.ids], ['b', 'c', 'd', 'e'])
  const short = withRange(long, ['b', 'c'], 1)
  t.same([...short.ids], ['b', 'c'])
  t.equal(countSelected(toggled(short, 'c', 2), 10), 1)
  t.end()
})

t.test('All of a list is selected without knowing its items, but those taken out', (t) => {
  t.equal(countSelected(EVERYTHING, 12_431), 12_431)
  const some = toggled(EVERYTHING, 'x', 7)
  t.equal(countSelected(some, 12_431), 12_430)
  t.notOk(isSelected(some, 'x'))
  t.ok(isSelected(some, 'y'))
  t.equal(countSelected(withRange(some, ['x'], 7), 12_431), 12_431, 'a range selects again')
  t.end()
})
