import t from 'tap'
import { inSlices } from '#core/foundation/slices.ts'

t.test('everything is done, in order, and others have their turn after each slice', async (t) => {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const sizes: number[] = []
  const doubled = await inSlices([1, 2, 3, 4, 5, 6, 7], 3, async (slice) => {
    sizes.push(slice.length)
    return slice.map((number) => number * 2)
  })
  isDone = true
  t.same(doubled, [2, 4, 6, 8, 10, 12, 14])
  t.same(sizes, [3, 3, 1])
  t.ok(turns >= sizes.length, `${turns} turns of others`)
  t.same(await inSlices([], 3, () => Promise.reject(new Error('there is nothing to do'))), [])
})

t.test('what fails ends the work', async (t) => {
  let slices = 0
  await t.rejects(
    inSlices([1, 2, 3], 1, async () => {
      slices++
      throw new Error('the second is never begun')
    }),
    { message: 'the second is never begun' },
  )
  t.equal(slices, 1)
})
