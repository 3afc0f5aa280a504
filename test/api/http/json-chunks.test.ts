import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { jsonChunks, streamedList } from '#api/http/json-chunks.ts'
import { assertEventually } from '#test/support/timed-property.ts'

async function written(value: unknown): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of jsonChunks(value)) chunks.push(chunk)
  return chunks
}

t.test('it is what JSON.stringify writes', async () => {
  const plain = fc.oneof(fc.jsonValue(), fc.object({ withDate: true, maxDepth: 3 }), fc.array(fc.constantFrom(undefined, null, 1)))
  await assertEventually(
    fc.asyncProperty(plain, async (value) => {
      t.equal(Buffer.concat(await written(value)).toString(), JSON.stringify(value))
    }),
    { numRuns: 200 },
  )
})

t.test('others have their turn while a large answer is written', async (t) => {
  const record = { summary: 'é'.repeat(40_000), people: Array.from({ length: 2_000 }, (_, index) => ({ name: `Person ${index}` })) }
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await sleep(5)
  turns = 0
  const chunks = await written({ data: Array(300).fill(record), total: 300 })
  clearInterval(timer)
  t.ok(turns > 5, `${turns} turns`)
  t.ok(chunks.every((chunk) => chunk.length < 2_000_000))
  t.ok(Buffer.concat(chunks).toString() === JSON.stringify({ data: Array(300).fill(record), total: 300 }))
})

t.test('a list in parts stands where it belongs, and each part is read when those before it were written', async (t) => {
  const read: number[][] = []
  const people = streamedList([1, 2, 3, 4, 5], 2, async (part) => {
    read.push(part)
    return part.map((id) => ({ id, name: 'é'.repeat(100_000) }))
  })
  const chunks = jsonChunks({ data: people, none: streamedList([], 2, async () => []), total: 5 })
  t.same(read, [])
  const first = await chunks.next()
  t.ok(read.length < 3, 'the rest is not read before somebody takes the first chunk')
  const rest: Buffer[] = [first.value]
  for await (const chunk of chunks) rest.push(chunk)
  t.same(read, [[1, 2], [3, 4], [5]])
  const expected = { data: [1, 2, 3, 4, 5].map((id) => ({ id, name: 'é'.repeat(100_000) })), none: [], total: 5 }
  t.same(JSON.parse(Buffer.concat(rest).toString()), expected)
  t.same(
    JSON.parse(Buffer.concat(await written(streamedList([1], 2, async (ids) => ids))).toString()),
    [1],
    'also where it is the whole answer',
  )
})
