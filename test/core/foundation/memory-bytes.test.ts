import t from 'tap'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'

t.test('long member names count', async (t) => {
  const list = (length: number) => Array.from({ length: 100 }, () => ({ path: 'x'.repeat(length), zip: { offset: 1 } }))
  t.ok(memoryBytes(list(4_000)) > 100 * 8_000)
  t.ok(memoryBytes(list(10)) < 100 * 400)
  t.equal(memoryBytes(null), 0)
  t.ok(memoryBytes('x'.repeat(50)) > 100)
})
