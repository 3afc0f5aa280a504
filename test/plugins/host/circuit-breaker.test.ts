import t from 'tap'
import {
  admitCall,
  BREAKER,
  type Breakers,
  countFailure,
  countSuccess,
  failuresOf,
  isPaused,
  readBreakers,
} from '#plugins/host/circuit-breaker.ts'

const forAll = { method: 'metadata.series.search', userId: null }
const forMira = { ...forAll, userId: 'mira' }
const forRavi = { ...forAll, userId: 'ravi' }

t.test('failures of one user count once', async (t) => {
  t.equal(failuresOf(['+', '-', 'rita', '-', 'rita', 'ravi', '+']), 4)
  t.equal(failuresOf([]), 0)
})

t.test('calls of a failing capability pause, longer each time, until a probe succeeds', async (t) => {
  const breakers: Breakers = new Map()
  for (let n = 1; n < BREAKER.failures; n++) t.same(countFailure(breakers, forAll, 0), { own: false, shared: false })
  t.equal(admitCall(breakers, forAll, 0), 0)
  t.same(countFailure(breakers, forAll, 0), { own: false, shared: true })
  t.equal(admitCall(breakers, forAll, 1_000), BREAKER.firstMs - 1_000)
  t.ok(isPaused(breakers, 1_000))
  t.equal(admitCall(breakers, { ...forAll, method: 'metadata.book.search' }, 1_000), 0, 'another capability is not paused')

  const probeAt = BREAKER.firstMs + 1
  t.equal(admitCall(breakers, forAll, probeAt), 0, 'the probe')
  t.equal(admitCall(breakers, forAll, probeAt), BREAKER.firstMs, 'calls during the probe wait')
  t.ok(countFailure(breakers, forAll, probeAt).shared)
  t.equal(admitCall(breakers, forAll, probeAt), 2 * BREAKER.firstMs)

  const kept = readBreakers(JSON.parse(JSON.stringify(Object.fromEntries(breakers))))
  t.same(kept, breakers, 'a restart forgives nothing')
  t.equal(admitCall(kept, forAll, probeAt + 2 * BREAKER.firstMs), 0)
  t.ok(countSuccess(kept, forAll))
  t.equal(kept.size, 0)
})

t.test('calls that fail for one user pause for that user', async (t) => {
  const breakers: Breakers = new Map()
  for (let n = 1; n < BREAKER.failures; n++) countFailure(breakers, forMira, 0)
  t.same(countFailure(breakers, forMira, 0), { own: true, shared: false })
  t.ok(admitCall(breakers, forMira, 1) > 0)
  t.equal(admitCall(breakers, forRavi, 1), 0)
  t.notOk(isPaused(breakers, 1))
  t.notOk(countSuccess(breakers, forRavi), 'a success for another user closes no breaker')
})

t.test('any stored value is accepted', async (t) => {
  for (const stored of [null, undefined, 'x', 7]) t.equal(readBreakers(stored).size, 0)
})
