import t from 'tap'
import { inOrder, moved, readHomeOrder, USUAL_ORDER } from '../../../../../web/src/pages/home/home-order.ts'

const IDS = ['reading', 'deck', 'added', 'view:1']

t.test('shelves stand as the user arranged them, and new ones where they stand usually', (t) => {
  t.same(inOrder(IDS, USUAL_ORDER), IDS)
  t.same(inOrder(IDS, { order: ['view:1', 'added', 'reading'], hidden: [] }), ['view:1', 'added', 'reading', 'deck'])
  t.same(inOrder(IDS, { order: ['gone', 'added', 'added'], hidden: [] }), ['reading', 'deck', 'added', 'view:1'])
  t.end()
})

t.test('a shelf moves by one place and not past the ends', (t) => {
  t.same(moved(IDS, 'added', -1), ['reading', 'added', 'deck', 'view:1'])
  t.same(moved(IDS, 'reading', -1), IDS)
  t.same(moved(IDS, 'view:1', 1), IDS)
  t.end()
})

t.test('a preference with nonsense is the usual order', (t) => {
  for (const bad of [null, undefined, 1, 'x', [], { order: 'x', hidden: 3 }, { order: [1, null] }]) t.same(readHomeOrder(bad), USUAL_ORDER)
  t.end()
})
