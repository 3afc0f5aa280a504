import t from 'tap'
import { moved, placeOfDragged, shiftOf } from '../../../../../web/src/pages/lists/order.ts'

t.test('one item takes another place, the others keep their order', async (t) => {
  t.same(moved(['a', 'b', 'c', 'd'], 0, 2), ['b', 'c', 'a', 'd'])
  t.same(moved(['a', 'b', 'c', 'd'], 3, 0), ['d', 'a', 'b', 'c'])
  t.same(moved(['a'], 5, 0), ['a'], 'what is not there')
})

t.test('a dragged row stands after those whose middle it has passed, and they make room', async (t) => {
  const boxes = [0, 50, 150, 200].map((top, index, all) => ({ top, height: (all[index + 1] ?? 250) - top }))
  t.equal(placeOfDragged(boxes, 0, 20), 0)
  t.equal(placeOfDragged(boxes, 0, 80), 1)
  t.equal(placeOfDragged(boxes, 0, 1000), 3)
  t.equal(placeOfDragged(boxes, 3, -60), 2)
  t.equal(placeOfDragged(boxes, 3, -1000), 0)
  t.equal(placeOfDragged([], 2, 5), 2, 'rows that are gone')
  const drag = { from: 1, to: 3, height: 100 }
  t.same(
    [0, 2, 3, 4].map((index) => shiftOf(index, drag)),
    [0, -100, -100, 0].map((each) => each + 0),
  )
  t.equal(shiftOf(0, { from: 2, to: 0, height: 40 }), 40)
})
