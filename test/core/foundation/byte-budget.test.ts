import t from 'tap'
import { openByteBudget } from '#core/foundation/byte-budget.ts'

t.test('no more than there is, in all and for one', async (t) => {
  const budget = openByteBudget({ bytesMax: 100, perOwnerMax: 60 })
  const first = budget.take('ann', 40)
  t.ok(first)
  t.equal(budget.take('ann', 21), null, 'her part')
  t.ok(budget.take('ann', 20))
  t.ok(budget.take('ben', 40), 'others have theirs')
  t.equal(budget.take('cid', 1), null, 'the whole')
  first?.()
  first?.()
  t.equal(budget.take('cid', 41), null, 'given back once')
  t.ok(budget.take('cid', 40))
})
