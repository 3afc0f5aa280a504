import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { BufferPool, type Lease } from '#core/foundation/buffer-pool.ts'
import { sizeOf } from '#test/support/lane-size.ts'

const LIMITS = { idleBytesMax: 4_096, bytesMin: 16, bytesMax: 1_024, restMs: 60_000 }

t.test('memory that was given back is lent again, and no sooner', async (t) => {
  const pool = new BufferPool(LIMITS)
  const first = pool.take(700)
  const second = pool.take(600)
  t.same([first.bytes.length, second.bytes.length, pool.lent, pool.idleBytes], [700, 600, 2, 0])
  t.not(first.bytes.buffer, second.bytes.buffer)
  first.release()
  t.same([pool.lent, pool.idleBytes], [1, 1_024], 'sizes are powers of two')
  const third = pool.take(1_000)
  t.equal(third.bytes.buffer, first.bytes.buffer)
  t.not(third.bytes.buffer, second.bytes.buffer)
  t.same([third.bytes.length, pool.lent, pool.idleBytes], [1_000, 2, 0])
})

t.test('only the first release counts', async (t) => {
  const pool = new BufferPool(LIMITS)
  const { bytes, release } = pool.take(700)
  release()
  release()
  t.same([pool.lent, pool.idleBytes], [0, 1_024])
  const [one, other] = [pool.take(700), pool.take(700)]
  t.equal(one.bytes.buffer, bytes.buffer)
  t.not(one.bytes.buffer, other.bytes.buffer, 'two never get the same memory')
  release()
  t.same([pool.lent, pool.idleBytes], [2, 0], 'not even after it was lent to somebody else')
})

t.test('short memory is none of the pool', async (t) => {
  const pool = new BufferPool(LIMITS)
  for (const length of [0, 1, 15]) {
    const { bytes, release } = pool.take(length)
    t.equal(bytes.length, length)
    release()
    t.equal(bytes.length, length)
  }
  t.same([pool.lent, pool.idleBytes], [0, 0])
})

t.test('memory that is too long or too much to keep is freed when it is given back', async (t) => {
  const pool = new BufferPool(LIMITS)
  const long = pool.take(1_025)
  t.equal(long.bytes.length, 1_025)
  long.release()
  t.same([long.bytes.length, pool.lent, pool.idleBytes], [0, 0, 0])
  const many = Array.from({ length: 6 }, () => pool.take(1_024))
  for (const { release } of many) release()
  t.same(
    many.map(({ bytes }) => bytes.length),
    [1_024, 1_024, 1_024, 1_024, 0, 0],
  )
  t.equal(pool.idleBytes, LIMITS.idleBytesMax)
})

t.test('an unused pool keeps nothing; what is lent stays as it is', async (t) => {
  const pool = new BufferPool({ ...LIMITS, restMs: 20 })
  const lent = pool.take(700)
  const idle = pool.take(700)
  idle.release()
  for (let waited = 0; pool.idleBytes > 0 && waited < 200; waited++) await sleep(20)
  t.same([pool.idleBytes, idle.bytes.length, lent.bytes.length, pool.lent], [0, 0, 700, 1])
  lent.release()
  t.equal(pool.idleBytes, 1_024)
  t.equal(pool.take(700).bytes.buffer, lent.bytes.buffer, 'and it goes on')
})

t.test('whatever is taken and given back, nobody shares memory and the limits hold', async (t) => {
  const step = fc.record({ bytes: fc.integer({ min: 0, max: 2_048 }), release: fc.array(fc.nat(), { maxLength: 3 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = new BufferPool(LIMITS)
      const all: Lease[] = []
      const live = new Map<Lease, number>()
      for (const [mark, { bytes, release }] of steps.entries()) {
        const lease = pool.take(bytes)
        lease.bytes.fill(mark)
        all.push(lease)
        live.set(lease, mark)
        for (const index of release) {
          // Some are given back twice.
          const chosen = all[index % all.length] as Lease
          chosen.release()
          live.delete(chosen)
        }
        if (pool.idleBytes > LIMITS.idleBytesMax) return false
        for (const [{ bytes }, value] of live) if (bytes.some((byte) => byte !== value)) return false
      }
      return pool.lent === [...live.keys()].filter(({ bytes }) => bytes.length >= LIMITS.bytesMin).length
    }),
    { numRuns: sizeOf('sequences', { main: 200, full: 2_000 }) },
  )
  t.pass()
})
