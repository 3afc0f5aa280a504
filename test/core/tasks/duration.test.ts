import fc from 'fast-check'
import t from 'tap'
import { CLASSES, classOf, percentileOf } from '#core/tasks/duration.ts'

t.test('percentiles of counted durations are near the true ones', async (t) => {
  t.equal(percentileOf([], 0.5, 0), 0)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1, maxLength: 200 }), (durations) => {
      const counts = Array.from({ length: CLASSES }, () => 0)
      for (const ms of durations) counts[classOf(ms)]!++
      const sorted = durations.toSorted((a, b) => a - b)
      const longest = sorted.at(-1) as number
      for (const share of [0.5, 0.95]) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] as number
        const told = percentileOf(counts, share, longest)
        // Never less, but for rounding, and at most one class more.
        if (told < exact - 1 || told > Math.max(2, exact * Math.SQRT2 + 1)) t.fail(`${share}: ${exact} is told as ${told}`)
      }
    }),
  )
  t.pass()
})
