import fc from 'fast-check'
import t from 'tap'
import { TokenBucket } from '#core/foundation/token-bucket.ts'

const PACE = { perSecond: 2, burst: 3 }

t.test('a bucket starts full, is emptied at once and fills with time', async (t) => {
  const bucket = new TokenBucket(PACE, 0)
  t.same([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false])
  t.equal(bucket.secondsUntil(1, PACE), 0.5)
  t.equal(bucket.secondsUntil(3, PACE), 1.5)
  bucket.refill(PACE, 0.4)
  t.equal(bucket.take(), false)
  bucket.refill(PACE, 0.5)
  t.equal(bucket.whole, 1)
  t.equal(bucket.secondsUntil(1, PACE), 0)
  bucket.refill(PACE, 100)
  t.equal(bucket.whole, 3, 'never more than the burst')
  bucket.refill({ perSecond: 1, burst: 2 }, 100)
  t.equal(bucket.whole, 2, 'a smaller burst takes the rest away')
  bucket.refill(PACE, 50)
  t.equal(bucket.whole, 2, 'a clock that goes back takes nothing')
  t.equal(bucket.refilledAt, 50)
})

t.test('a client that waits for the requested time gets a token, and no client exceeds the pace', async (t) => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 1_000, noNaN: true }),
      fc.integer({ min: 1, max: 100 }),
      fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { maxLength: 50 }),
      (perSecond, burst, waits) => {
        const pace = { perSecond, burst }
        const bucket = new TokenBucket(pace, 0)
        let now = 0
        let taken = 0
        for (const wait of waits) {
          now += wait
          bucket.refill(pace, now)
          if (bucket.take()) taken++
        }
        const told = now + bucket.secondsUntil(1, pace)
        bucket.refill(pace, told)
        return taken <= burst + perSecond * now + 1e-6 && bucket.take()
      },
    ),
    { numRuns: 300 },
  )
  t.pass()
})
