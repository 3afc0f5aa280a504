import t from 'tap'
import { Placement, pauseMs, SHARED_PLACE } from '#plugins/runtime/placement.ts'
import { pluginProgram } from '#test/support/guests.ts'

const [one, other] = [pluginProgram('', { place: 'one' }), pluginProgram('', { place: 'other' })]
const { plugin: _, ...server } = pluginProgram('', { place: 'templates' })

t.test('strict: one runner for each place', async (t) => {
  const placement = new Placement('strict')
  t.equal(placement.placeOf(one, 0), 'one')
  t.equal(placement.placeOf(server, 0), 'templates')
  placement.blame({ culprit: 'one' }, 0)
  t.equal(placement.placeOf(one, 1), 'one')
  t.notOk(placement.isShared('one'))
})

t.test('grouped: plugins share a runner; programs of the server, programs that run alone and suspected plugins do not', async (t) => {
  const placement = new Placement('grouped')
  t.equal(placement.placeOf(one, 0), SHARED_PLACE)
  t.equal(placement.placeOf(server, 0), 'templates')
  t.equal(placement.placeOf({ ...one, alone: true }, 0), 'one')
  placement.blame({ suspects: ['one', 'other'] }, 0)
  t.equal(placement.placeOf(one, 1), 'one')
  t.equal(placement.placeOf(other, 1), 'other')
  t.equal(placement.clear(other), true, 'it was another')
  t.equal(placement.clear(other), false)
  t.equal(placement.placeOf(other, 1), SHARED_PLACE)
  placement.blame({ culprit: 'one' }, 2)
  t.equal(placement.clear(one), false, 'the known cause stays alone after any answer')
  t.equal(placement.placeOf(one, 60_000), 'one')
  placement.tidy(601_000)
  t.equal(placement.placeOf(one, 601_000), SHARED_PLACE, 'for ten minutes')
})

t.test('a place that keeps killing its runner waits longer and longer, until a call succeeds', async (t) => {
  const placement = new Placement('strict')
  const waits: number[] = []
  for (let times = 0; times < 12; times++) {
    placement.blame({ culprit: 'one' }, 1_000)
    waits.push(placement.waitsUntil(one) - 1_000)
  }
  t.same(waits.slice(0, 5), [0, 100, 200, 400, 800])
  t.equal(waits.at(-1), 10_000)
  t.equal(placement.waitsUntil(other), 0, 'nobody else does')
  placement.clear(one)
  placement.blame({ culprit: 'one' }, 1_000)
  t.equal(placement.waitsUntil(one), 1_000)
  t.equal(pauseMs(1_000), 10_000)
})
