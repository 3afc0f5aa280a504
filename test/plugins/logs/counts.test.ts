import fc from 'fast-check'
import t from 'tap'
import { Counts, MEASUREMENTS_KEPT, Measurements, OTHER } from '#plugins/logs/counts.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('counts are correct, up to the maximum number of names', async (t) => {
  assertInTime(
    fc.property(fc.array(fc.constantFrom(...'abcdefghij__proto__'.split(''))), fc.integer({ min: 2, max: 12 }), (adds, max) => {
      const counts = new Counts(max)
      for (const name of adds) counts.add(name)
      const record = counts.toRecord()
      const sum = Object.values(record).reduce((a, b) => a + b, 0)
      const named = Object.entries(record).filter(([name]) => name !== OTHER)
      return (
        sum === adds.length &&
        Object.keys(record).length <= max &&
        named.every(([name, count]) => count === adds.filter((one) => one === name).length)
      )
    }),
  )
  const counts = new Counts(3)
  for (const name of ['__proto__', 'x'.repeat(10_000), 'late', 'later']) counts.add(name)
  t.same(Object.entries(counts.toRecord()), [
    ['__proto__', 1],
    ['x'.repeat(100), 1],
    [OTHER, 2],
  ])
})

t.test('percentiles cover the last measurements', async (t) => {
  t.equal(new Measurements().percentiles(), null)
  const hundred = new Measurements()
  for (let value = 100; value > 0; value -= 1) hundred.add(value)
  t.same(hundred.percentiles(), { p50: 50, p95: 95, p99: 99, max: 100 })
  for (const nonsense of [Number.NaN, -1, Number.POSITIVE_INFINITY]) hundred.add(nonsense)
  t.same(hundred.percentiles(), { p50: 50, p95: 95, p99: 99, max: 100 }, 'invalid times are not counted')
  assertInTime(
    fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: MEASUREMENTS_KEPT * 3 }), (values) => {
      const measured = new Measurements()
      for (const value of values) measured.add(value)
      const last = values.slice(-MEASUREMENTS_KEPT)
      const { p50, p95, p99, max } = measured.percentiles()!
      // By definition: the smallest value that so many percent do not exceed.
      const isRank = (value: number, percent: number) =>
        last.filter((one) => one <= value).length >= (percent / 100) * last.length &&
        last.filter((one) => one < value).length < (percent / 100) * last.length
      return isRank(p50, 50) && isRank(p95, 95) && isRank(p99, 99) && max === Math.max(...last)
    }),
    { numRuns: 50 },
  )
})
