import fc from 'fast-check'
import t from 'tap'
import { MEASUREMENTS_KEPT, OTHER, openCounts, openMeasurements } from '#plugins/logs/counts.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('counts are correct, up to the maximum number of names', async (t) => {
  assertInTime(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...'abcdefghij__proto__'.split('')), fc.nat(5))),
      fc.integer({ min: 2, max: 12 }),
      (adds, max) => {
        const counts = openCounts(max)
        for (const [name, count] of adds) counts.add(name, count)
        const record = counts.toRecord()
        const sum = Object.values(record).reduce((a, b) => a + b, 0)
        const named = Object.entries(record).filter(([name]) => name !== OTHER)
        return (
          sum === adds.reduce((total, [, count]) => total + count, 0) &&
          counts.total() === sum &&
          Object.keys(record).length <= max &&
          named.every(([name, count]) => count === adds.filter(([one]) => one === name).reduce((total, [, add]) => total + add, 0))
        )
      },
    ),
  )
  const counts = openCounts(3)
  for (const name of ['__proto__', 'x'.repeat(10_000), 'late', 'later']) counts.add(name)
  t.same(Object.entries(counts.toRecord()), [
    ['__proto__', 1],
    ['x'.repeat(100), 1],
    [OTHER, 2],
  ])
})

t.test('percentiles cover the last measurements', async (t) => {
  t.equal(openMeasurements().percentiles(), null)
  const hundred = openMeasurements()
  for (let value = 100; value > 0; value -= 1) hundred.add(value)
  t.same(hundred.percentiles(), { p50: 50, p95: 95, p99: 99, max: 100 })
  for (const nonsense of [Number.NaN, -1, Number.POSITIVE_INFINITY]) hundred.add(nonsense)
  t.equal(hundred.count(), 100, 'invalid times are not counted')
  assertInTime(
    fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: MEASUREMENTS_KEPT * 3 }), (values) => {
      const measured = openMeasurements()
      for (const value of values) measured.add(value)
      const last = values.slice(-MEASUREMENTS_KEPT)
      const { p50, p95, p99, max } = measured.percentiles()!
      // By definition: the smallest value that so many percent do not exceed.
      const isRank = (value: number, percent: number) =>
        last.filter((one) => one <= value).length >= (percent / 100) * last.length &&
        last.filter((one) => one < value).length < (percent / 100) * last.length
      return measured.count() === last.length && isRank(p50, 50) && isRank(p95, 95) && isRank(p99, 99) && max === Math.max(...last)
    }),
    { numRuns: 50 },
  )
})
