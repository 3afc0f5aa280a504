import t from 'tap'
import { openByteBudget } from '#core/reading/byte-budget.ts'

t.test('the budget is limited in total and per owner', async (t) => {
  const budget = openByteBudget({ bytesMax: 100, perOwnerMax: 60 })
  const first = budget.take('ann', 40)
  t.ok(first)
  t.equal(budget.take('ann', 21), null, 'above the limit per owner')
  t.ok(budget.take('ann', 20))
  t.ok(budget.take('ben', 40), 'other owners have their own share')
  t.equal(budget.take('cid', 1), null, 'above the total')
  first?.()
  first?.()
  t.equal(budget.take('cid', 41), null, 'a second release does nothing')
  t.ok(budget.take('cid', 40))
})
