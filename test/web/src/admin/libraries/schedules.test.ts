import t from 'tap'
import { choiceOf, SCHEDULES } from '../../../../../web/src/admin/libraries/schedules.ts'

t.test('a stored schedule is one of the usual ones, none, or an own one', async (t) => {
  t.equal(choiceOf(null), 'never')
  t.equal(choiceOf('  '), 'never', 'nothing but spaces')
  t.equal(choiceOf(SCHEDULES.daily), 'daily')
  t.equal(choiceOf(' 0  4 * *   0 '), 'weekly', 'with other spaces')
  t.equal(choiceOf('*/5 * * * *'), 'own')
})
